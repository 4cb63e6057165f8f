package local

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// lossy drops the first answer to every request: the engine has executed it, but the client does
// not know.
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
		config := w.engine.Config()
		config.HTTPClient = &lossy{config.HTTPClient, map[string]bool{}}
		w.Client = awsbatch.NewFromConfig(config)
		w.register("work", "1", "64")
		for range 20 {
			w.submit("work")
		}
		if n := len(w.engine.model.BySubmission); n != 20 {
			t.Errorf("20 submits created %d jobs", n)
		}
		if n := len(w.engine.model.Definitions["work"]); n != 1 {
			t.Errorf("one registration created %d revisions", n)
		}
		id := w.submit("work")
		again := w.crash(Options{})
		if n := len(again.engine.model.BySubmission); n != 21 || again.job(id).JobId == nil {
			t.Errorf("%d jobs after a restart", n)
		}
		again.idle()
	})
}
