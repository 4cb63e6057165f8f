//go:build unix

package replay_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/replay"
)

// kept runs processes and keeps what it was given, by the job's id and the attempt, and
// what they printed.
type kept struct {
	attempt.Executor
	mu      sync.Mutex
	seen    map[string]attempt.Attempt
	printed map[string]string
}

func newKept() *kept {
	return &kept{Executor: process.New(nil, ""), seen: map[string]attempt.Attempt{}, printed: map[string]string{}}
}

func (k *kept) Run(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
	exit, err := k.Executor.Run(ctx, a, log)
	text, _ := os.ReadFile(log.Name())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[key(a)], k.printed[key(a)] = a, string(text)
	return exit, err
}

// key is the job and the attempt.
func key(a attempt.Attempt) string {
	for _, v := range a.Environment {
		if *v.Name == "AWS_BATCH_JOB_ATTEMPT" {
			return a.Job + "#" + *v.Value
		}
	}
	return a.Job
}

func openEngine(t *testing.T, x attempt.Executor) (*local.Engine, *awsbatch.Client) {
	t.Helper()
	e, err := local.Open(local.Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: x, VCPUs: 4, MemoryMiB: 4096, GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, awsbatch.NewFromConfig(e.Config())
}

// program prints what it was given, and fails in its first attempt.
const program = `echo "$1 $GREETING $AWS_BATCH_JOB_ID $AWS_BATCH_JOB_ATTEMPT $AWS_BATCH_JQ_NAME $AWS_BATCH_CE_NAME $AWS_BATCH_JOB_ARRAY_INDEX/$AWS_BATCH_JOB_ARRAY_SIZE $(ulimit -Sn)"
test "$AWS_BATCH_JOB_ATTEMPT" -gt 1 || exit 3`

// TestAsTheEngineRanIt checks that every attempt of every child runs again with the engine's values,
// prints the same, and exits with the same status.
func TestAsTheEngineRanIt(t *testing.T) {
	x := newKept()
	engine, c := openEngine(t, x)
	definition := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(2)}, Timeout: &types.JobTimeout{AttemptDurationSeconds: aws.Int32(600)}, Parameters: map[string]string{"word": "one"},
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{"sh", "-c", program, "sh", "Ref::word"},
			Environment:          []types.KeyValuePair{{Name: aws.String("GREETING"), Value: aws.String("hello")}},
			Ulimits:              []types.Ulimit{{Name: aws.String("nofile"), SoftLimit: aws.Int32(64), HardLimit: aws.Int32(64)}},
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}}
	if _, err := c.RegisterJobDefinition(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	out, err := c.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work"),
		ArrayProperties: &types.ArrayProperties{Size: aws.Int32(3)}, Parameters: map[string]string{"word": "two words"},
		ContainerOverrides: &types.ContainerOverrides{Environment: []types.KeyValuePair{{Name: aws.String("GREETING"), Value: aws.String("good\nday")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.WaitIdle(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	parent := describe(t, c, *out.JobId)
	for _, child := range []string{":0", ":1", ":2"} {
		job := describe(t, c, *out.JobId+child)
		for attempt := 1; attempt <= 2; attempt++ {
			a, err := replay.Of(job, attempt, replay.Options{Parent: &parent})
			if err != nil {
				t.Fatal(err)
			}
			replayed := newKept()
			exit, err := a.Run(t.Context(), replayed, filepath.Join(t.TempDir(), "dir"), logFile(t), replay.RunOptions{})
			if want := int(aws.ToInt32(a.Original.Container.ExitCode)); err != nil || exit != want {
				t.Errorf("%s: exit code %d, %v; want %d", a.Job, exit, err, want)
			}
			for k, got := range replayed.seen {
				if diff := cmp.Diff(x.seen[k], got, cmp.FilterPath(func(p cmp.Path) bool {
					name := p.Last().String()
					return name == ".ID" || name == ".Directory" || name == ".Started" || name == ".Pulled" || name == ".Kill" || name == ".Differed"
				}, cmp.Ignore()), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(types.ContainerProperties{}, types.KeyValuePair{}, types.Ulimit{}, types.ResourceRequirement{}),
					cmpopts.SortSlices(func(a, b types.KeyValuePair) bool { return *a.Name < *b.Name })); diff != "" {
					t.Errorf("%s (-engine +replay):\n%s", k, diff)
				}
				if replayed.printed[k] != x.printed[k] || !strings.HasPrefix(replayed.printed[k], "two words good\nday "+a.Job) {
					t.Errorf("%s printed\n%s, on the engine\n%s", k, replayed.printed[k], x.printed[k])
				}
			}
			if len(replayed.seen) != 1 {
				t.Errorf("%d runs", len(replayed.seen))
			}
		}
	}
}

func describe(t *testing.T, c *awsbatch.Client, id string) types.JobDetail {
	t.Helper()
	out, err := c.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	if err != nil || len(out.Jobs) != 1 {
		t.Fatalf("describe %s: %v", id, err)
	}
	return out.Jobs[0]
}

func logFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// ended is a job whose only attempt has ended, with a command for sh.
func ended(script string) types.JobDetail {
	return types.JobDetail{JobId: aws.String("id"), JobName: aws.String("job"), JobQueue: aws.String("arn:aws:batch:us-east-1:1:job-queue/cpu"), Status: types.JobStatusFailed,
		Attempts: []types.AttemptDetail{{StoppedAt: aws.Int64(1)}},
		Container: &types.ContainerDetail{Image: aws.String("busybox"), Command: []string{"sh", "-c", script},
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeMemory, Value: aws.String("64")}}}}
}

// TestTimeoutOfAProcess checks that a process is asked to end at its timeout, and that its last output is
// in the log.
func TestTimeoutOfAProcess(t *testing.T) {
	a, err := replay.Of(ended(`trap 'echo asked; exit 9' TERM; echo ready; while :; do sleep 0.01; done`), 0, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := logFile(t)
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	enough := errors.New("enough")
	go func() {
		for !strings.Contains(read(log), "ready") && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		end(enough)
	}()
	exit, err := a.Run(ctx, process.New(nil, ""), filepath.Join(t.TempDir(), "d"), log, replay.RunOptions{})
	if exit != 9 || !errors.Is(err, enough) {
		t.Errorf("exit code %d, %v", exit, err)
	}
	if printed := read(log); !strings.HasSuffix(printed, "asked\n") {
		t.Errorf("printed %q", printed)
	}

	a, err = replay.Of(ended(`exec sleep 600`), 0, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Timeout = 10 * time.Millisecond
	if exit, err := a.Run(t.Context(), process.New(nil, ""), filepath.Join(t.TempDir(), "d"), logFile(t), replay.RunOptions{}); exit != 143 || !errors.Is(err, replay.ErrTimeout) {
		t.Errorf("exit code %d, %v", exit, err)
	}
}

func read(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestOtherCommand checks a replay with another command and other variables.
func TestOtherCommand(t *testing.T) {
	a, err := replay.Of(ended("exit 1"), 0, replay.Options{Command: []string{"sh", "-c", `echo "$AWS_BATCH_JQ_NAME $DEBUG"`},
		Environment: []types.KeyValuePair{{Name: aws.String("DEBUG"), Value: aws.String("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	log := logFile(t)
	exit, err := a.Run(t.Context(), process.New(nil, ""), filepath.Join(t.TempDir(), "d"), log, replay.RunOptions{})
	if exit != 0 || err != nil || read(log) != "cpu 1\n" {
		t.Errorf("exit code %d, %v: %q", exit, err, read(log))
	}
	// What is missing on this machine is reported in the words of the executor.
	a, err = replay.Of(ended(""), 0, replay.Options{Command: []string{"no-such-program"}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := a.Run(t.Context(), process.New(nil, ""), filepath.Join(t.TempDir(), "d"), logFile(t), replay.RunOptions{}); exit != 127 || err == nil ||
		!strings.HasPrefix(err.Error(), "CannotStartContainerError") {
		t.Errorf("exit code %d, %v", exit, err)
	}
}
