package injob

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/usage"
)

// measuredBucket serves S3 to the launchers of the test, as a child's second attempt.
func measuredBucket(t *testing.T, refuse func(r *http.Request) bool) *s3mem.Server {
	t.Helper()
	s3 := &s3mem.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse != nil && refuse(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AWS_BATCH_JOB_ID": "4c7599ae:7", "AWS_BATCH_JOB_ATTEMPT": "2", usage.Variable: "1",
		stage.Variable: `{"version":1,"outputs":[{"from":"out","to":"s3://bucket/results/7/"}]}`} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	return s3
}

const measuredKey = "bucket/results/7/.batchctl-measured/4c7599ae/7/2.json"

// TestMeasurementStored checks the object beside the outputs, after a success and after a failure.
func TestMeasurementStored(t *testing.T) {
	for program, fails := range map[string]bool{"mkdir out; echo x > out/x": false, "exit 3": true} {
		s3 := measuredBucket(t, nil)
		var out, err bytes.Buffer
		con := &term.Console{Streams: term.Streams{Out: &out, Err: &err}}
		if got := runStaged(t.Context(), con, "--", []string{"sh", "-c", program}); (got != nil) != fails {
			t.Fatalf("%s: %v\n%s", program, got, err.String())
		}
		o := s3.Get(measuredKey)
		if o == nil {
			t.Fatalf("%s stored nothing: %s", program, err.String())
		}
		lines := strings.Split(strings.TrimSpace(err.String()), "\n")
		stored, ok := usage.ParseText(string(o.Body))
		printed, found := usage.Parse(lines[len(lines)-1])
		if !ok || !found || stored.Text() != printed.Text() {
			t.Errorf("%s: stored %s, and printed %s", program, o.Body, err.String())
		}
	}
}

// TestMeasurementRefused checks that a measurement that cannot be stored does not change the end of the job.
func TestMeasurementRefused(t *testing.T) {
	measuredBucket(t, func(r *http.Request) bool { return strings.Contains(r.URL.Path, ".batchctl-measured") })
	var out, err bytes.Buffer
	if got := runStaged(t.Context(), &term.Console{Streams: term.Streams{Out: &out, Err: &err}}, "--", []string{"sh", "-c", "mkdir out; echo x > out/x"}); got != nil {
		t.Errorf("%v", got)
	}
	if text := err.String(); !strings.Contains(text, "batchctl: measured {") || !strings.Contains(text, "the measurement is only in the log, not at s3://"+measuredKey) {
		t.Errorf("printed %s", text)
	}
}

// TestStages checks which commands measure themselves.
func TestStages(t *testing.T) {
	for command, want := range map[string]bool{"batchctl stage -- x": true, "/opt/batchctl stage -- x": true, "batchctl measure -- x": false, "stage": false, "x stage": false} {
		if stages(strings.Fields(command)) != want {
			t.Errorf("%s: want %v", command, want)
		}
	}
}
