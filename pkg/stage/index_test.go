package stage

import (
	"errors"
	"testing"
)

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

// TestOnECS checks that locations name the task of ECS where AWS Batch did not start the container.
func TestOnECS(t *testing.T) {
	const endpoint = MetadataVariable + "=http://169.254.170.2/v4/1"
	for name, c := range map[string]struct {
		environ []string
		to      string // after s3://b/
		want    string // "": an error
		asked   bool
	}{
		"a task":               {[]string{endpoint}, "${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ATTEMPT}", "task-1/1", true},
		"twice":                {[]string{endpoint}, "${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ID}", "task-1/task-1", true},
		"a job of AWS Batch":   {[]string{endpoint, "AWS_BATCH_JOB_ID=job", "AWS_BATCH_JOB_ATTEMPT=2"}, "${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ATTEMPT}", "job/2", false},
		"another variable":     {[]string{endpoint, "RUN=7"}, "${RUN}/$${AWS_BATCH_JOB_ID}", "7/${AWS_BATCH_JOB_ID}", false},
		"the queue":            {[]string{endpoint}, "${AWS_BATCH_JQ_NAME}", "", false},
		"the index":            {[]string{endpoint}, "${AWS_BATCH_JOB_ARRAY_INDEX}", "", false},
		"elsewhere":            {nil, "${AWS_BATCH_JOB_ID}", "", false},
		"attempt elsewhere":    {nil, "${AWS_BATCH_JOB_ATTEMPT}", "", false},
		"endpoint that is off": {[]string{MetadataVariable + "=off"}, "${AWS_BATCH_JOB_ID}", "", true},
	} {
		asked := 0
		s := &Stager{Environ: append(c.environ, Variable+`={"version":1,"outputs":[{"from":"out","to":"s3://b/`+c.to+`"}]}`), Dir: "/job",
			TaskID: func(endpoint string) (string, error) {
				if asked++; endpoint == "off" {
					return "", errors.New("it is off")
				}
				return "task-1", nil
			}}
		d, err := s.Document()
		if c.asked != (asked == 1) {
			t.Errorf("%s: asked %d times", name, asked)
		}
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %+v", name, d)
			}
			continue
		}
		if err != nil || d.Outputs[0].To != "s3://b/"+c.want {
			t.Errorf("%s: %+v, %v; want %s", name, d, err, c.want)
		}
	}
}
