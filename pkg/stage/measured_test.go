package stage

import (
	"strconv"
	"testing"
)

func TestMeasuredAt(t *testing.T) {
	environ := map[string]string{jobIDVariable: "a1:7", attemptVariable: "2", "RUN": "r"}
	for _, c := range []struct{ outputs, want string }{
		{`{"from":"x","to":"s3://b/results/${RUN}/"}`, "s3://b/results/r/.batchctl-measured/a1/7/2.json"},
		{`{"from":"x","to":"s3://b/results/out.csv"}`, "s3://b/results/.batchctl-measured/a1/7/2.json"},
		{`{"from":"x","to":"s3://b/"}`, "s3://b/.batchctl-measured/a1/7/2.json"},
		{`{"from":"x","to":"/kept/"},{"from":"y","to":"s3://b/k/"},{"from":"z","to":"s3://b/l/"}`, "s3://b/k/.batchctl-measured/a1/7/2.json"},
		{`{"from":"x","to":"/kept/"}`, ""},
		{`{"from":"x","to":"s3://b/${UNSET}/"}`, ""},
		{``, ""},
	} {
		s := &Stager{}
		for name, value := range environ {
			s.Environ = append(s.Environ, name+"="+value)
		}
		s.Environ = append(s.Environ, Variable+`={"version":1,"outputs":[`+c.outputs+`]}`)
		if got := s.MeasuredAt(); got != c.want {
			t.Errorf("%s: %q, want %q", c.outputs, got, c.want)
		}
		if c.want != "" && !IsMeasurement(c.want) {
			t.Errorf("%s is not recognised", c.want)
		}
	}
	if s := (&Stager{Environ: []string{Variable + `={"version":1,"outputs":[{"from":"x","to":"s3://b/k/"}]}`}}); s.MeasuredAt() != "" {
		t.Error("a job without an id has a place")
	}
	for _, name := range []string{"batchctl-measured/a", "x.batchctl-measured/a", ".batchctl-measured"} {
		if IsMeasurement(name) {
			t.Errorf("%s is a measurement", name)
		}
	}
}

// TestMeasuredApart: attempts, jobs and children with one location have different keys.
func TestMeasuredApart(t *testing.T) {
	d := Document{Outputs: []Output{{From: "x", To: "s3://b/k/"}}}
	seen := map[string]string{}
	for _, id := range []string{"a", "a1", "a:1", "a:11", "a1:1", "b:1"} {
		for attempt := range 12 {
			number := strconv.Itoa(attempt + 1)
			at := d.MeasuredAt(func(name string) (string, bool) {
				if name == jobIDVariable {
					return id, true
				}
				return number, true
			})
			if other := seen[at]; other != "" || at == "" {
				t.Errorf("%s attempt %s has the key %q of %s", id, number, at, other)
			}
			seen[at] = id + " attempt " + number
		}
	}
}
