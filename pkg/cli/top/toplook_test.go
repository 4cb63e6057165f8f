package top

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
)

// faulty is an engine of which some operations answer with a fault instead.
type faulty struct {
	aws.HTTPClient
	path   string // of the operations, such as /v1/; "" is none
	status int
	code   string
}

func (f *faulty) Do(r *http.Request) (*http.Response, error) {
	if f.path == "" || !strings.HasPrefix(r.URL.Path, f.path) {
		return f.HTTPClient.Do(r)
	}
	return &http.Response{StatusCode: f.status, Header: http.Header{"X-Amzn-Errortype": {f.code}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"message":"not now"}`))}, nil
}

// aReader reads an engine in this process as if it were another's.
func aReader(t *testing.T) (*topReader, *faulty, *once.Client) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	engine, err := local.Open(local.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(context.Background()) })
	f := &faulty{HTTPClient: engine.Config(dir).HTTPClient}
	cfg := engine.Config(dir)
	cfg.HTTPClient = f
	opened := once.New(cfg)
	return &topReader{open: func() (*jobs.Call, error) {
		return &jobs.Call{Target: &target.Target{Name: target.Local, Label: target.Local, Client: opened, Close: func() error { return nil }}}, nil
	}}, f, once.New(engine.Config(dir))
}

// What a service refuses now and then is an error of one look; what it always
// refuses is left out, and said.
func TestTopLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, fault, _ := aReader(t)
		s, err := r.read(t.Context(), nil)
		if err != nil || s.Target != "local" || len(s.Queues) == 0 || s.Note != "" {
			t.Fatalf("%+v, %v", s, err)
		}
		fault.path, fault.status, fault.code = "/v1/", 429, "TooManyRequestsException"
		if _, err := r.read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the service is busy") {
			t.Errorf("throttled: %v", err)
		}
		fault.path, fault.status, fault.code = "/v1/getjobqueuesnapshot", 403, "AccessDeniedException"
		if s, err := r.read(t.Context(), nil); err != nil || !strings.Contains(s.Note, "heads of queues are not shown") {
			t.Errorf("no snapshot: %+v, %v", s, err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := r.read(ended, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// An account with many queues costs a bounded number of calls.
func TestTopLooksAtSomeOfManyQueues(t *testing.T) {
	r, _, c := aReader(t)
	for i := range topQueues {
		if err := c.CreateQueue(t.Context(), fmt.Sprintf("team-%02d", i), "local"); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.read(t.Context(), nil)
	if err != nil || len(s.Queues) != topQueues || !strings.Contains(s.Note, "the first 50 of 51 queues") {
		t.Errorf("%d queues, %q, %v", len(s.Queues), s.Note, err)
	}
	r.queueArgs = []string{"team-49"}
	if s, err = r.read(t.Context(), nil); err != nil || len(s.Queues) != 1 || s.Note != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// Snapshots that are printed continue after an answer that failed, not before one came.
func TestTopPrintsOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, firstFails := range []bool{true, false} {
			r, fault, _ := aReader(t)
			var out, said bytes.Buffer
			con := &term.Console{Streams: term.Streams{Out: &out, Err: &said}}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			fault.status, fault.code = 500, "ServerException"
			if firstFails {
				fault.path = "/v1/"
			}
			looks := 0
			look := func() (*topSnapshot, error) {
				if looks++; looks == 2 {
					fault.path = "/v1/"
				}
				if looks == 3 {
					fault.path = ""
				}
				return r.read(ctx, nil)
			}
			err := printSnapshots(ctx, con, look, topPace{interval: topFastest}, 2, "text")
			if got := strings.Count(out.String(), "batchctl top "); firstFails && (err == nil || got > 0) || !firstFails && (err != nil || got != 2) {
				t.Errorf("first fails %v: %v\n%s", firstFails, err, &out)
			}
			if !firstFails && !strings.HasPrefix(said.String(), "batchctl: describe job queues") {
				t.Errorf("said %q", &said)
			}
		}
	})
}

// One call describes the heads of the queues, then what is on the screen, then the
// first of the rest; of what has gone nothing.
func TestTopAsksForWhatIsSeen(t *testing.T) {
	s := aSnapshot()
	for i := range 200 {
		s.Jobs = append(s.Jobs, aJob("gpu", "more", types.JobStatusRunnable, time.Duration(10000+i)*time.Second))
	}
	seen := s.Jobs[200].id()
	ids := s.asked([]string{"gone", seen})
	if len(ids) != topDetails || ids[0] != s.Queues[0].Head.JobID || ids[1] != seen || ids[2] != s.Jobs[0].id() || slices.Contains(ids, "gone") {
		t.Errorf("%d: %v", len(ids), ids[:3])
	}
}

// Shares stand in the table of a queue that has them.
func TestQueuesWithShares(t *testing.T) {
	var out bytes.Buffer
	con := &term.Console{Streams: term.Streams{Out: &out}}
	var queues []jobs.QueueState
	for _, q := range aSnapshot().Queues {
		queues = append(queues, q.QueueState)
	}
	queues[2].Utilization.Shape = nil
	if err := jobs.PrintQueues(con, queues); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "../queues", out.String())
}
