package logsapi

import (
	"net/http/httptest"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestLiveTails checks the limit of sessions.
func TestLiveTails(t *testing.T) {
	a := New(still{model.New(nil)}, nil)
	if got := a.tails.open.Add(maxTails); got != maxTails {
		t.Fatal(got)
	}
	w := httptest.NewRecorder()
	(&liveTail{tails: &a.tails}).Stream(w, nil)
	if w.Code != 400 || w.Header().Get("X-Amzn-ErrorType") != "LimitExceededException" || a.tails.open.Load() != maxTails {
		t.Errorf("status %d, %v, %d sessions", w.Code, w.Header(), a.tails.open.Load())
	}
}
