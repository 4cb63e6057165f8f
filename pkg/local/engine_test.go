package local

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// script is an executor that simulates commands in virtual time. Argument i of a command is for
// child i of an array, the first one for any other job: "fail" exits with status 1, "7" with 7,
// "1h" takes that long and ends when asked, "stubborn" has to be killed, anything else succeeds
// at once.
type script struct {
	mu      sync.Mutex
	ran     []string // ids of jobs in the order of their starts
	seen    []attempt.Attempt
	running int
	most    int // at the same time
	cleared []string
	// run replaces the simulation. Two jobs call it at the same time only if it allows that.
	run func(ctx context.Context, a attempt.Attempt, log *os.File) (int, error)
	// digest is that of each image; "" if the executor uses none.
	digest string
}

func (s *script) Run(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
	s.count(a, 1)
	defer s.count(a, -1)
	if s.digest != "" {
		a.Pulled(s.digest)
	}
	a.Started("script " + a.Job)
	if s.run != nil {
		return s.run(ctx, a, log)
	}
	word := a.Command[0]
	if _, index, ok := model.SplitID(a.Job); ok && index >= 0 {
		word = a.Command[int(index)%len(a.Command)]
	}
	return play(ctx, a, word)
}

func play(ctx context.Context, a attempt.Attempt, word string) (int, error) {
	if word == "fail" {
		return 1, nil
	}
	if word == "stubborn" {
		<-a.Kill
		return 137, nil
	}
	if code, err := strconv.Atoi(word); err == nil {
		return code, nil
	}
	if d, err := time.ParseDuration(word); err == nil {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return 143, nil
		}
	}
	return 0, nil
}

func (s *script) count(a attempt.Attempt, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	s.most = max(s.most, s.running)
	if n > 0 {
		s.ran = append(s.ran, a.Job)
		s.seen = append(s.seen, a)
	}
}

// now returns how many attempts are running.
func (s *script) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// value returns an environment variable of the attempt that started i-th.
func (s *script) value(i int, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.seen[i].Environment {
		if *v.Name == name {
			return *v.Value
		}
	}
	return ""
}

func (s *script) Clear(_, handle string) error {
	s.cleared = append(s.cleared, handle)
	return nil
}

func (s *script) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// testEngine is an engine with a client, for one test.
type testEngine struct {
	*awsbatch.Client
	t      *testing.T
	engine *Engine
	// handler answers the requests of send. Another handler does not have its queries.
	handler http.Handler
}

func open(t *testing.T, o Options) *testEngine {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "state")
	}
	if o.Executor == nil {
		o.Executor = &script{}
	}
	if o.VCPUs == 0 {
		o.VCPUs, o.MemoryMiB = 4, 8192
	}
	if o.GPUs == nil {
		o.GPUs = []string{}
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &testEngine{awsbatch.NewFromConfig(e.Config()), t, e, e.Handler()}
}

// register registers a definition that asks for the given amounts.
func (w *testEngine) register(name string, vcpus, memory string, more ...func(*awsbatch.RegisterJobDefinitionInput)) {
	w.t.Helper()
	in := &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: &name,
		Type:              types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{
			Image:   aws.String("busybox:1"),
			Command: []string{"true"},
			ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: &memory}},
		},
	}
	for _, f := range more {
		f(in)
	}
	modeltest.Must(w.t, w.RegisterJobDefinition, in)
}

func (w *testEngine) cancel(id, reason string) {
	w.t.Helper()
	modeltest.Must(w.t, w.CancelJob, &awsbatch.CancelJobInput{JobId: &id, Reason: &reason})
}

func (w *testEngine) terminate(id, reason string) {
	w.t.Helper()
	modeltest.Must(w.t, w.TerminateJob, &awsbatch.TerminateJobInput{JobId: &id, Reason: &reason})
}

// inDirectory names the directory of the job's file, as batchctl does.
func inDirectory(dir string) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.Parameters = map[string]string{batch.DirectoryParameter: dir} }
}

// submit submits a job of a definition and returns its id.
func (w *testEngine) submit(definition string, more ...func(*awsbatch.SubmitJobInput)) string {
	w.t.Helper()
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: &definition}
	for _, f := range more {
		f(in)
	}
	out := modeltest.Must(w.t, w.SubmitJob, in)
	return *out.JobId
}

func (w *testEngine) job(id string) types.JobDetail {
	w.t.Helper()
	out := modeltest.Must(w.t, w.DescribeJobs, &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	if len(out.Jobs) != 1 {
		w.t.Fatalf("job %s: %d answers", id, len(out.Jobs))
	}
	return out.Jobs[0]
}

func (w *testEngine) want(id string, status types.JobStatus, reason string) {
	w.t.Helper()
	d := w.job(id)
	if d.Status != status || aws.ToString(d.StatusReason) != reason {
		w.t.Errorf("job %s: %s %q, want %s %q", id, d.Status, aws.ToString(d.StatusReason), status, reason)
	}
}

func (w *testEngine) idle() {
	w.t.Helper()
	if err := w.engine.WaitIdle(w.t.Context(), 0); err != nil {
		w.t.Fatal(err)
	}
}

func refused(t *testing.T, err error, message string) {
	t.Helper()
	got := ""
	e, ok := errors.AsType[*types.ClientException](err)
	if ok {
		var framed bool
		if got, _, framed = strings.Cut(e.ErrorMessage(), ", RequestId: "); framed { // the id differs each time
			got = strings.TrimSuffix(got, ".")
		}
	}
	if !ok || got != message {
		t.Errorf("got %v, want ClientException %q", err, message)
	}
}
