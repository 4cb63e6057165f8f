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
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// faulty is an engine whose operations below path answer with a fault.
type faulty struct {
	aws.HTTPClient
	path   string // prefix of the operations, such as /v1/; "" for no faults
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

// aReader returns a reader of an engine in this process, as if another process ran it.
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
	f := &faulty{HTTPClient: engine.Config().HTTPClient}
	cfg := engine.Config()
	cfg.HTTPClient = f
	opened := once.New(cfg)
	return &topReader{open: func() (*jobs.Call, error) {
		return &jobs.Call{Target: &target.Target{Name: target.Local, Label: target.Local, Client: opened, Close: func() error { return nil }}}, nil
	}}, f, once.New(engine.Config())
}

// An operation that fails sometimes is an error of one snapshot. Data that the service always
// denies is left out, with a note.
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

// An account with many queues needs a limited number of calls.
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
	r.args, r.chosen = []string{"team-49"}, nil
	if s, err = r.read(t.Context(), nil); err != nil || len(s.Queues) != 1 || s.Note != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// Printed snapshots continue after a failure, unless the first one fails.
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
			look := func() (*Snapshot, error) {
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

// One call describes the first jobs of the queues, then the jobs on the screen, then the first
// of the others. It describes no job that has left the list.
func TestTopAsksForWhatIsSeen(t *testing.T) {
	s := aSnapshot()
	for i := range 200 {
		s.Jobs = append(s.Jobs, aJob("gpu", "more", types.JobStatusRunnable, time.Duration(10000+i)*time.Second))
	}
	seen := s.Jobs[200].id()
	ids := s.detailIDs([]string{"gone", seen})
	if len(ids) != topDetails || ids[0] != s.Queues[0].Head.JobID || ids[1] != seen || ids[2] != s.Jobs[0].id() || slices.Contains(ids, "gone") {
		t.Errorf("%d: %v", len(ids), ids[:3])
	}
}

// A queue with fair shares has them in its table.
func TestQueuesWithShares(t *testing.T) {
	var out bytes.Buffer
	con := &term.Console{Streams: term.Streams{Out: &out}}
	var queues []jobqueue.Queue
	for _, q := range aSnapshot().Queues {
		queues = append(queues, q.Queue)
	}
	queues[2].Utilization.Shape = nil
	if err := jobs.PrintQueues(con, queues); err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join("testdata", "queues.txt"), out.String())
}
