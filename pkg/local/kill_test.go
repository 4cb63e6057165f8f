//go:build unix

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestVictim is the engine that TestKilledEngine starts as a process and kills.
func TestVictim(t *testing.T) {
	dir := os.Getenv("BATCHCTL_TEST_VICTIM")
	if dir == "" {
		t.Skip("runs only inside TestKilledEngine")
	}
	w := open(t, Options{Dir: filepath.Join(dir, "state"), Executor: process.Executor{}})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", "echo $AWS_BATCH_JOB_ID > id; echo $$ > pid.new; mv pid.new pid; exec sleep 1000"}
	})
	id := w.submit("work", inDirectory(dir))
	if err := w.engine.waiters.wait(t.Context(), 0, func() bool { return w.engine.model.Task(id).State == model.Running }); err != nil {
		t.Fatal(err)
	}
	// From this record on, the next engine can find the process.
	if err := os.WriteFile(filepath.Join(dir, "recorded"), []byte("yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.idle()
}

func TestKilledEngine(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), "BATCHCTL_TEST_VICTIM="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(processtest.Appears(t, filepath.Join(dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	id := processtest.Appears(t, filepath.Join(dir, "id"))
	processtest.Appears(t, filepath.Join(dir, "recorded"))
	state := filepath.Join(dir, "state")
	_, err = Open(Options{Dir: state})
	if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != victim.Process.Pid {
		t.Errorf("while the engine is alive: %v", err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	w := open(t, Options{Dir: state, Executor: process.Executor{}})
	w.want(id, types.JobStatusFailed, model.ReasonHost)
	processtest.Vanishes(t, pid)
}

// TestServant is the engine on a socket that TestKills starts as a process and kills.
func TestServant(t *testing.T) {
	dir := os.Getenv("BATCHCTL_TEST_SERVANT")
	if dir == "" {
		t.Skip("runs only inside TestKills")
	}
	e, err := Open(Options{Dir: filepath.Join(dir, "state"), VCPUs: 4, MemoryMiB: 8192, GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("BATCHCTL_TEST_NO_JOURNAL") != "" {
		e.mu.Lock()
		e.journal = journal.New(&faultyFile{space: 1 << 30}, 0)
		e.mu.Unlock()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(e.Serve(t.Context(), listener, func(Connection) {}))
}

// TestKills kills an engine again and again while clients submit and jobs run. No acknowledged
// job is lost, no two attempts of a job run at the same time, and the number of attempts is
// right.
func TestKills(t *testing.T) {
	kills := testtool.Count(20, 8)
	if n, err := strconv.Atoi(os.Getenv("BATCHCTL_KILLS")); err == nil {
		kills = n
	}
	w := newWar(t)
	for range kills {
		w.battle()
	}
	w.peace()
	if len(w.acked) < kills/2 {
		t.Errorf("only %d submissions were acknowledged in %d lives", len(w.acked), kills)
	}
	if lost := w.lost(); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged jobs are lost: %v", len(lost), len(w.acked), lost)
	}
	w.checkRuns()
	t.Logf("%d kills, %d jobs acknowledged", kills, len(w.acked))
}

// TestKillsWithoutTheJournal shows that TestKills can fail.
func TestKillsWithoutTheJournal(t *testing.T) {
	w := newWar(t)
	for len(w.acked) == 0 { // an engine refuses to start if its journal has no record at all
		w.battle()
	}
	w.environment = append(w.environment, "BATCHCTL_TEST_NO_JOURNAL=1")
	for range 5 {
		w.battle()
	}
	w.environment = w.environment[:len(w.environment)-1]
	w.peace()
	if len(w.lost()) == 0 {
		t.Errorf("all of %d jobs survived without a journal", len(w.acked))
	}
}

const (
	mostAttempts = 10
	cannotWrite  = 9 // exit code of an attempt that cannot write what checkRuns reads, which is no fault of an engine
)

// war is an engine that is killed repeatedly, and the jobs that its clients were promised.
type war struct {
	t           *testing.T
	dir         string
	environment []string
	random      *rand.Rand

	mu    sync.Mutex
	acked []string
}

func newWar(t *testing.T) *war {
	dir := t.TempDir()
	return &war{t: t, dir: dir, random: rand.New(rand.NewPCG(1, 2)), environment: append(os.Environ(), "BATCHCTL_TEST_SERVANT="+dir)}
}

func (w *war) start() (*exec.Cmd, *awsbatch.Client) {
	w.t.Helper()
	servant := exec.Command(os.Args[0], "-test.run=^TestServant$")
	servant.Env = w.environment
	var output bytes.Buffer
	servant.Stdout, servant.Stderr = &output, &output
	if err := servant.Start(); err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if c, err := Connect(filepath.Join(w.dir, "state")); err == nil && c.PID == servant.Process.Pid {
			return servant, awsbatch.NewFromConfig(c.Config(), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
		}
	}
	_ = servant.Process.Kill()
	_ = servant.Wait()
	w.t.Fatalf("the engine does not start to serve: %s", &output)
	return nil, nil
}

// battle is one life of the engine, which is killed at a random moment.
func (w *war) battle() {
	w.t.Helper()
	servant, client := w.start()
	delay := time.Duration(w.random.IntN(60)) * time.Millisecond
	die := sync.OnceFunc(func() { time.AfterFunc(delay, func() { _ = servant.Process.Kill() }) })
	if w.random.IntN(4) == 0 {
		die() // perhaps before any client was answered
	}
	w.register(client)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				out, err := client.SubmitJob(w.t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
				if err != nil {
					return
				}
				w.mu.Lock()
				w.acked = append(w.acked, *out.JobId)
				w.mu.Unlock()
				die()
			}
		})
	}
	clients.Wait()
	die()
	_ = servant.Wait() // it was killed
}

// register creates the definition if it does not exist; the engine may die meanwhile.
func (w *war) register(client *awsbatch.Client) {
	_, _ = client.RegisterJobDefinition(w.t.Context(), &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(mostAttempts)},
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"),
			Command: []string{"sh", "-c", fmt.Sprintf("run() { echo $AWS_BATCH_JOB_ID $AWS_BATCH_JOB_ATTEMPT $1 >> $RUNS || exit %d; }; ", cannotWrite) +
				"run begins; sleep 0.02; run ends"},
			Environment: []types.KeyValuePair{attempt.Variable("RUNS", filepath.Join(w.dir, "runs"))},
			ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}},
	})
}

// peace runs an engine until every job has ended, then ends it.
func (w *war) peace() {
	w.t.Helper()
	e, err := Open(Options{Dir: filepath.Join(w.dir, "state"), VCPUs: 8, MemoryMiB: 8192, GPUs: []string{}})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(e.WaitIdle(w.t.Context(), 0), e.Close(w.t.Context())); err != nil {
		w.t.Fatal(err)
	}
}

// lost returns the acknowledged jobs that no longer exist or have not finished: by success, or
// after the last allowed attempt.
func (w *war) lost() (lost []string) {
	e := w.reader()
	for _, id := range w.acked {
		j := e.model.Jobs[id]
		if j == nil || j.State != model.Succeeded && (j.State != model.Failed || len(j.Attempts) < mostAttempts) {
			lost = append(lost, id)
		}
	}
	return lost
}

func (w *war) reader() *Engine {
	w.t.Helper()
	e, err := Open(Options{Dir: filepath.Join(w.dir, "state"), ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// checkRuns compares what the commands recorded with the engine's state: each attempt ran at most
// once, the last one until its end, and no two of a job at the same time.
func (w *war) checkRuns() {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "runs"))
	if err != nil {
		w.t.Fatal(err)
	}
	began, ended := map[string]int{}, map[string]int{} // the newest attempt of each job
	for line := range strings.Lines(string(text)) {
		var id, what string
		var attempt int
		if _, err := fmt.Sscan(line, &id, &attempt, &what); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		switch {
		case what == "begins" && attempt <= began[id]:
			w.t.Errorf("job %s: attempt %d begins after attempt %d", id, attempt, began[id])
		case what == "begins":
			began[id] = attempt
		case attempt != began[id] || ended[id] == attempt:
			w.t.Errorf("job %s: attempt %d ends during attempt %d", id, attempt, began[id])
		default:
			ended[id] = attempt
		}
	}
	for _, j := range w.reader().model.BySubmission {
		if slices.ContainsFunc(j.Attempts, func(a model.Attempt) bool { return aws.ToInt32(a.Exit) == cannotWrite }) {
			w.t.Logf("job %s could not write: %s", j.ID, w.account(j))
		}
		if n := len(j.Attempts); j.State == model.Succeeded && (began[j.ID] != n || ended[j.ID] != n) || began[j.ID] > n {
			w.t.Errorf("job %s: %d attempts recorded, %d began, %d ended; %s", j.ID, n, began[j.ID], ended[j.ID], w.account(j))
		}
	}
}

// account says how the attempts of a job ended and what each printed: a shell reports there why it cannot write.
func (w *war) account(j *model.Job) string {
	var text strings.Builder
	for i, a := range j.Attempts {
		printed, err := os.ReadFile(filepath.Join(w.dir, "state", "logs", a.Stream+".log"))
		fmt.Fprintf(&text, "\nattempt %d: exit code %d, %s %s, log %q, %v", i+1, aws.ToInt32(a.Exit), a.Reason, a.StatusReason, printed, err)
	}
	return text.String()
}
