package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// remote is AWS Batch's state, with which the ledger of a killed client is compared.
type remote struct {
	mu          sync.Mutex
	definitions []types.JobDefinition
	jobs        []types.JobDetail
	kill        func() // called when the first job has been accepted, before the answer
	alive       bool   // jobs do not end on their own
	// twice makes every SubmitJob arrive twice; stopped are the jobs that were ended.
	twice   bool
	stopped []string
}

func (r *remote) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch name, _ := wire.Operation(in.Method, in.URL.Path); name {
	case "SubmitJob":
		wire.Handle(r.submit)(w, in)
	case "ListJobs":
		wire.Handle(r.list)(w, in)
	case "DescribeJobs":
		wire.Handle(r.describe)(w, in)
	case "DescribeJobDefinitions":
		wire.Handle(func(context.Context, *awsbatch.DescribeJobDefinitionsInput) (*awsbatch.DescribeJobDefinitionsOutput, error) {
			return &awsbatch.DescribeJobDefinitionsOutput{JobDefinitions: r.definitions}, nil
		})(w, in)
	case "RegisterJobDefinition":
		wire.Handle(r.register)(w, in)
	case "DescribeJobQueues":
		wire.Handle(func(context.Context, *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
			return &awsbatch.DescribeJobQueuesOutput{JobQueues: []types.JobQueueDetail{{JobQueueName: aws.String("cpu"),
				JobQueueArn: aws.String("arn:aws:batch:us-east-1:123456789012:job-queue/cpu"), State: types.JQStateEnabled, Status: types.JQStatusValid}}}, nil
		})(w, in)
	case "TerminateJob":
		wire.Handle(func(_ context.Context, in *awsbatch.TerminateJobInput) (*awsbatch.TerminateJobOutput, error) {
			r.stopped = append(r.stopped, *in.JobId)
			return &awsbatch.TerminateJobOutput{}, nil
		})(w, in)
	default: // who are you?
		fmt.Fprint(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
			`<Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	}
}

func (r *remote) submit(ctx context.Context, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
	id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", len(r.jobs)+1)
	r.jobs = append(r.jobs, types.JobDetail{JobId: &id, JobName: in.JobName, JobQueue: in.JobQueue, JobDefinition: in.JobDefinition,
		Tags: in.Tags, DependsOn: in.DependsOn, CreatedAt: aws.Int64(time.Now().UnixMilli()), Status: types.JobStatusRunnable})
	if r.twice {
		r.twice = false
		if _, err := r.submit(ctx, in); err != nil {
			return nil, err
		}
	}
	if r.kill != nil {
		r.kill()
		r.kill = nil
	}
	return &awsbatch.SubmitJobOutput{JobId: &id, JobName: in.JobName}, nil
}

func (r *remote) register(_ context.Context, in *awsbatch.RegisterJobDefinitionInput) (*awsbatch.RegisterJobDefinitionOutput, error) {
	revision := aws.Int32(int32(len(r.definitions) + 1))
	arn := fmt.Sprintf("arn:aws:batch:us-east-1:123456789012:job-definition/%s:%d", *in.JobDefinitionName, *revision)
	r.definitions = append(r.definitions, types.JobDefinition{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName, Revision: revision, Tags: in.Tags})
	return &awsbatch.RegisterJobDefinitionOutput{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName, Revision: revision}, nil
}

func (r *remote) list(_ context.Context, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	out := &awsbatch.ListJobsOutput{}
	for _, j := range r.jobs {
		if len(in.Filters) > 0 && strings.EqualFold(*j.JobName, in.Filters[0].Values[0]) {
			out.JobSummaryList = append(out.JobSummaryList, types.JobSummary{JobId: j.JobId, JobName: j.JobName, CreatedAt: j.CreatedAt, Status: j.Status})
		}
	}
	return out, nil
}

func (r *remote) describe(_ context.Context, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	out := &awsbatch.DescribeJobsOutput{}
	for _, j := range r.jobs {
		if slices.Contains(in.Jobs, *j.JobId) {
			switch {
			case slices.Contains(r.stopped, *j.JobId):
				j.Status = types.JobStatusFailed
			case !r.alive:
				j.Status = types.JobStatusSucceeded // what waits for its end can continue
			}
			out.Jobs = append(out.Jobs, j)
		}
	}
	return out, nil
}

// accepted counts the jobs of each name, and checks what they depend on.
func (r *remote) accepted(t *testing.T) map[string]int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	names, byID := map[string]int{}, map[string]string{}
	for _, j := range r.jobs {
		names[client.DisplayName(*j.JobName)]++
		byID[*j.JobId] = client.DisplayName(*j.JobName)
	}
	for _, j := range r.jobs {
		for _, d := range j.DependsOn {
			if byID[*d.JobId] != "prepare" {
				t.Errorf("%s depends on %s", *j.JobName, *d.JobId)
			}
		}
	}
	return names
}

// killedClient is a client that is killed, and its ledger.
type killedClient struct {
	t        *testing.T
	remote   *remote
	dir      string
	program  string
	environ  []string
	killedAt string
	process  *os.Process // while it runs
}

// fatalf fails the test and ends the life, which may run in its own goroutine.
func (d *killedClient) fatalf(format string, args ...any) {
	d.t.Helper()
	d.t.Errorf(format, args...)
	runtime.Goexit()
}

// kill ends the running program.
func (d *killedClient) kill() { _ = d.process.Kill() }

func newDoomed(t *testing.T, r *remote, url string) *killedClient {
	program, err := exec.LookPath("batchctl")
	if err != nil {
		t.Fatal(err)
	}
	d := &killedClient{t: t, remote: r, dir: t.TempDir(), program: program}
	const plan = `{"name": "pipeline", "defaults": {"image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "queue": "cpu",
		"resources": {"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"},
		"jobs": [{"name": "prepare"}, {"name": "train", "dependsOn": ["prepare"]}, {"name": "report", "dependsOn": ["prepare"]},
			{"name": "sweep", "dependsOn": ["prepare"], "command": ["true", "${{ matrix.i }}"], "array": {"matrix": {"i": [1, 2, 3]}}},
			{"name": "tidy", "dependsOn": ["train"], "when": "always"}, {"name": "alarm", "dependsOn": ["train"], "when": "failure"}]}`
	if err := os.WriteFile(filepath.Join(d.dir, "pipeline.json"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(d.dir, "none")
	d.environ = append(os.Environ(), "BATCHCTL_STATE_DIR="+d.state(), "BATCHCTL_TARGET=aws", "AWS_ENDPOINT_URL="+url, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "NO_PROXY=127.0.0.1", "GOMAXPROCS=1")
	return d
}

func (d *killedClient) state() string { return filepath.Join(d.dir, "state") }

func (d *killedClient) submit() []string {
	return []string{"submit", filepath.Join(d.dir, "pipeline.json")}
}
func (d *killedClient) resume() []string { return []string{"resume", "--settle", "10ms"} }

// run runs the program until it finishes or is killed.
func (d *killedClient) run(argv ...string) (killed bool) {
	d.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.dir, d.environ
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Start()
	if err == nil {
		d.process = cmd.Process
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && (!exit.Exited() || exit.ExitCode() == 137) {
		return true
	}
	if err != nil {
		d.fatalf("%s, after a kill at %s: %v\n%s", strings.Join(argv, " "), d.killedAt, err, &said)
	}
	return false
}

// runKilled runs the program and kills it before the n-th call of a thread.
func (d *killedClient) runKilled(call string, n int, args []string) bool {
	d.t.Helper()
	d.killedAt = fmt.Sprintf("%s number %d of %s", call, n, args[0])
	return d.run(append([]string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n), d.program}, args...)...)
}

// recover does what a user does after a crash.
func (d *killedClient) recover() {
	d.t.Helper()
	d.run(append([]string{d.program}, d.resume()...)...)
	if len(d.remote.accepted(d.t)) == 0 { // resume said that nothing was sent
		d.run(append([]string{d.program}, d.submit()...)...)
	}
}

// judge checks that each job exists once, in the remote and in the ledger.
func (d *killedClient) judge() {
	d.t.Helper()
	names := d.remote.accepted(d.t)
	for name, want := range map[string]int{"prepare": 1, "train": 1, "report": 1, "sweep": 1, "tidy": 1, "alarm": 0} {
		if names[name] != want {
			d.t.Errorf("killed at %s: job %s was accepted %d times", d.killedAt, name, names[name])
		}
	}
	ledger := &once.Ledger{Dir: d.state()}
	entries, err := ledger.Entries()
	if err != nil || len(entries) != 5 {
		d.t.Errorf("killed at %s: the ledger has %+v, %v", d.killedAt, entries, err)
	}
	if open, err := ledger.OpenRuns(); len(open) > 0 || err != nil {
		d.t.Errorf("killed at %s: open runs %+v, %v", d.killedAt, open, err)
	}
}

// writers are the system calls by which the program changes something.
var writers = []string{"write", "fsync", "openat", "mkdirat", "unlinkat", "flock", "connect", "close"}

// sweep calls do for each system call at which a program can be killed.
func sweep(t *testing.T, do func(call string, n int) (killed bool)) {
	t.Helper()
	kills := 0
	for range 3 { // strace counts the calls of a thread, and Go's threads differ
		for _, call := range writers {
			kills += untilAlive(t, func(n int) bool { return do(call, n) })
		}
	}
	t.Logf("%d kills", kills)
	if kills < 20 {
		t.Errorf("only %d kills", kills)
	}
}

// untilAlive calls do with 1, 2, 3 and so on, until a program was not killed. A life is mostly
// waiting, so several run at once.
func untilAlive(t *testing.T, do func(n int) (killed bool)) (kills int) {
	t.Helper()
	const atOnce = 8
	for n := 1; ; n += atOnce {
		var lives sync.WaitGroup
		var killed atomic.Int32
		for i := range atOnce {
			lives.Go(func() {
				if do(n + i) {
					killed.Add(1)
				}
			})
		}
		lives.Wait()
		kills += int(killed.Load())
		if killed.Load() < atOnce || t.Failed() {
			return kills
		}
	}
}

// needStrace skips a test that kills at system calls, which takes minutes.
func needStrace(t *testing.T) {
	t.Helper()
	testtool.Long(t)
	testtool.Works(t, "strace", "-qq", "-o", "/dev/null", "true")
}

// life is one remote and one client.
func life(t *testing.T, test func(d *killedClient)) {
	r := &remote{}
	server := httptest.NewServer(r)
	defer server.Close()
	test(newDoomed(t, r, server.URL))
}

// TestKilledSubmit kills a submission at every call that changes something. After a resume,
// each job must exist once.
func TestKilledSubmit(t *testing.T) {
	needStrace(t)
	sweep(t, func(call string, n int) (killed bool) {
		life(t, func(d *killedClient) {
			killed = d.runKilled(call, n, d.submit())
			d.recover()
			d.judge()
		})
		return killed
	})
}

// TestKilledResume kills the resume of a submission that was killed between two of
// its jobs.
func TestKilledResume(t *testing.T) {
	needStrace(t)
	sweep(t, func(call string, n int) (killed bool) {
		life(t, func(d *killedClient) {
			d.remote.kill = d.kill
			d.killedAt = "the first job"
			if !d.run(append([]string{d.program}, d.submit()...)...) || len(d.remote.accepted(t)) != 1 {
				d.fatalf("accepted before the kill: %v", d.remote.accepted(t))
			}
			killed = d.runKilled(call, n, d.resume())
			d.recover()
			d.judge()
		})
		return killed
	})
}

// TestKilledAtRandom kills a submission after a random time, which needs no strace.
func TestKilledAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range testtool.Count(50, 8) {
		delay := time.Duration(random.IntN(120)) * time.Millisecond
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel() // it mostly waits
			life(t, func(d *killedClient) {
				d.killedAt = delay.String()
				d.run("timeout", "-s", "KILL", strconv.FormatFloat(delay.Seconds(), 'f', 3, 64), d.program, "submit", filepath.Join(d.dir, "pipeline.json"))
				d.recover()
				d.judge()
			})
		})
	}
}

// TestKilledWithoutLedger shows that the other tests can fail: a second submission after a
// kill, without a ledger, creates jobs twice.
func TestKilledWithoutLedger(t *testing.T) {
	needStrace(t)
	var doubled atomic.Int32
	untilAlive(t, func(n int) (killed bool) {
		life(t, func(d *killedClient) {
			killed = d.runKilled("write", n, d.submit())
			if err := os.RemoveAll(d.state()); err != nil {
				d.fatalf("%v", err)
			}
			if killed {
				d.run(append([]string{d.program}, d.submit()...)...)
			}
			for _, count := range d.remote.accepted(t) {
				doubled.Add(int32(count - 1))
			}
		})
		return killed
	})
	if doubled.Load() == 0 {
		t.Error("no job is doubled without a ledger")
	}
	t.Logf("%d jobs doubled", doubled.Load())
}

// TestInterruptedSubmit checks that after Ctrl-C the current call finishes, no other call
// begins, and the message says how to continue.
func TestInterruptedSubmit(t *testing.T) {
	t.Parallel()
	life(t, func(d *killedClient) {
		d.remote.kill = func() {
			_ = d.process.Signal(os.Interrupt)
			time.Sleep(300 * time.Millisecond) // the answer takes its time
		}
		cmd := exec.Command(d.program, d.submit()...)
		cmd.Dir, cmd.Env = d.dir, d.environ
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		d.process = cmd.Process
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(out.String(), "prepare") || !strings.Contains(said.String(), "interrupted; 1 of 6 jobs were accepted, 2 wait for others to finish") || !strings.Contains(said.String(), "continue: batchctl resume ") {
			t.Errorf("%s%s", &out, &said)
		}
		if n := len(d.remote.jobs); n != 1 {
			t.Errorf("%d jobs", n)
		}
		d.age("open/*.jsonl") // else resume waits a minute for duplicates
		d.recover()
		d.judge()
	})
}
