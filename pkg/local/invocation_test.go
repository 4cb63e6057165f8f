package local

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// lossy loses the answer to every request once: the engine has carried it out, and
// the client knows nothing.
type lossy struct {
	to   aws.HTTPClient
	lost map[string]bool // by path and invocation
}

func (l *lossy) Do(r *http.Request) (*http.Response, error) {
	key := r.URL.Path + r.Header.Get("Amz-Sdk-Invocation-Id")
	out, err := l.to.Do(r)
	if err == nil && !l.lost[key] {
		l.lost[key] = true
		return nil, errors.New("connection reset by peer")
	}
	return out, err
}

func TestRetriedCallsMakeNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		config := w.engine.Config("")
		config.HTTPClient = &lossy{config.HTTPClient, map[string]bool{}}
		w.Client = awsbatch.NewFromConfig(config)
		w.register("work", "1", "64")
		for range 20 {
			w.submit("work")
		}
		if n := len(w.engine.model.BySubmission); n != 20 {
			t.Errorf("%d jobs were made of 20 submits", n)
		}
		if n := len(w.engine.model.Definitions["work"]); n != 1 {
			t.Errorf("%d revisions were made of one registration", n)
		}
		id := w.submit("work")
		again := w.crash(Options{})
		if n := len(again.engine.model.BySubmission); n != 21 || again.job(id).JobId == nil {
			t.Errorf("%d jobs after a restart", n)
		}
		again.idle()
	})
}
