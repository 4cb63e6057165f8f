package ui

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// serverOf returns a server for a local engine that replies, in a directory without files.
func serverOf(t *testing.T, r *uitest.Replies, change func(*options)) *server {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("BATCHCTL_TARGET", "")
	o := options{Given: cmdline.Given{Command: "ui"}, Target: target.Options{Name: target.Local, StateDir: t.TempDir()}, instead: r.Answer}
	if change != nil {
		change(&o)
	}
	s, err := newServer(t.Context(), &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.hub.Close)
	s.list(r)
	return s
}

// list fills the list of jobs from the recorded descriptions and listings.
func (s *server) list(r *uitest.Replies) {
	var described []types.JobDetail
	var summaries []types.JobSummary
	_ = json.Unmarshal([]byte(r.Known["status"].Out), &described)
	_ = json.Unmarshal([]byte(r.Known["list --array "+uitest.ArrayID+" --limit 0"].Out), &summaries)
	var all []joblist.Job
	for _, d := range described {
		j := joblist.Job{}
		if d.JobId != nil {
			j.ID = *d.JobId
		}
		if d.JobName != nil {
			j.Name = *d.JobName
		}
		if d.ArrayProperties != nil && d.ArrayProperties.Size != nil {
			j.Size = int(*d.ArrayProperties.Size)
		}
		all = append(all, source.WithDetail(j, d))
	}
	for _, child := range summaries {
		all = append(all, source.Listed(child, "default"))
	}
	s.Observer.Seed(all)
}

// get asks the handler for a page.
func get(h http.Handler, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", address, nil))
	return w
}

// post sends a JSON body.
func post(h http.Handler, address string, body any) *httptest.ResponseRecorder {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // a literal of a test
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", address, bytes.NewReader(text)))
	return w
}

// decoded decodes the JSON of an answer.
func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("the answer is %s", kind)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}
