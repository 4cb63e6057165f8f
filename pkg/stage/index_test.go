package stage

import "testing"

// TestIndexIsTheCell checks that a location with the index is that of the cell, in any array that runs
// it.
func TestIndexIsTheCell(t *testing.T) {
	document := Variable + `={"version":1,"outputs":[{"from":"out","to":"s3://bucket/${AWS_BATCH_JOB_ARRAY_INDEX}/"}]}`
	for name, c := range map[string]struct {
		environ []string
		want    string // "": an error
	}{
		"an array":              {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=1"}, "1"},
		"cells again":           {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=1", "BATCHCTL_CELLS=3 7-9"}, "7"},
		"one cell again":        {[]string{"BATCHCTL_CELLS=7"}, "7"},
		"the second of several": {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=2", "BATCHCTL_CELLS=10000-19999"}, "10002"},
		"behind a launcher":     {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=7", "BATCHCTL_CELLS=3 7-9", "BATCHCTL_CELL=7"}, "7"},
		"all cells":             {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=1", "BATCHCTL_CELLS="}, "1"},
		"no such cell":          {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=5", "BATCHCTL_CELLS=3 7-9"}, ""},
		"damaged cells":         {[]string{"AWS_BATCH_JOB_ARRAY_INDEX=1", "BATCHCTL_CELLS=x"}, ""},
		"no array":              {nil, ""},
	} {
		s := &Stager{Environ: append(c.environ, document), Dir: "/job"}
		d, err := s.Document()
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %+v", name, d)
			}
			continue
		}
		if err != nil || d.Outputs[0].To != "s3://bucket/"+c.want+"/" {
			t.Errorf("%s: %+v, %v; want %s", name, d, err, c.want)
		}
	}
}
