package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// crash opens a second engine on the data that the disk would have if w's engine had been killed
// now.
func (w *testEngine) crash(o Options) *testEngine {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(w.engine.options.Dir, "journal"))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal"), data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	o.Dir = dir
	return open(w.t, o)
}

func TestRestartKeepsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir})
		w.register("work", "1", "512")
		w.register("work", "2", "512")
		done := w.submit("work", modeltest.Words("3"), modeltest.Attempts(2))
		many := w.submit("work", modeltest.Array(3), modeltest.Words("0s", "fail", "0s"))
		w.idle()
		before := []types.JobDetail{w.job(done), w.job(many), w.job(many + ":1")}
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, readOnly := range []bool{false, true} {
			again := open(t, Options{Dir: dir, ReadOnly: readOnly})
			now := []types.JobDetail{again.job(done), again.job(many), again.job(many + ":1")}
			if diff := cmp.Diff(before, now, cmpopts.IgnoreUnexported(types.JobDetail{}, types.AttemptDetail{}, types.AttemptContainerDetail{},
				types.ContainerDetail{}, types.ResourceRequirement{}, types.RetryStrategy{}, types.ArrayPropertiesDetail{})); diff != "" {
				t.Errorf("read only %v: after the restart\n%s", readOnly, diff)
			}
			if err := again.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCrashEndsWhatRanByTheRetryStrategy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 3, MemoryMiB: 8192})
		w.register("work", "1", "512")
		once := w.submit("work", modeltest.Words("1h"))
		again := w.submit("work", modeltest.Words("1h"), modeltest.Attempts(2, types.EvaluateOnExit{OnStatusReason: aws.String("Host EC2*"), Action: types.RetryActionRetry},
			types.EvaluateOnExit{OnReason: aws.String("*"), Action: types.RetryActionExit}))
		stopped := w.submit("work", modeltest.Words("stubborn"))
		waits := w.submit("work", modeltest.Words("1h"))
		depends := w.submit("work", modeltest.After(once))
		synctest.Wait()
		w.terminate(stopped, "enough")

		s := &script{}
		w = w.crash(Options{Executor: s, VCPUs: 3, MemoryMiB: 8192})
		slices.Sort(s.cleared)
		want := []string{"script " + once, "script " + again, "script " + stopped}
		slices.Sort(want)
		if !slices.Equal(s.cleared, want) {
			t.Errorf("cleared %v, want %v", s.cleared, want)
		}
		w.want(once, types.JobStatusFailed, model.ReasonHost)
		w.want(depends, types.JobStatusFailed, model.ReasonDependency)
		w.want(stopped, types.JobStatusFailed, "enough")
		w.idle()
		w.want(waits, types.JobStatusSucceeded, model.ReasonExited)
		w.want(again, types.JobStatusSucceeded, model.ReasonExited)
		if d := w.job(again); len(d.Attempts) != 2 || *d.Attempts[0].StatusReason != model.ReasonHost {
			t.Errorf("%d attempts, the first one ended with %q", len(d.Attempts), aws.ToString(d.Attempts[0].StatusReason))
		}
	})
}

// TestCrashAnywhere cuts the journal of a busy hour after each of its records. Everything
// acknowledged by then must be there, and every job must end.
func TestCrashAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 3, MemoryMiB: 8192})
		w.register("work", "1", "512")
		a := w.submit("work", modeltest.Words("1m"), modeltest.Attempts(3))
		b := w.submit("work", modeltest.Array(3), modeltest.Words("1m", "fail", "2m"), modeltest.After(a))
		c := w.submit("work", modeltest.Array(3), modeltest.Words("0s"), modeltest.Depends(b, types.ArrayJobDependencyNToN))
		w.submit("work", modeltest.After(c))
		w.terminate(w.submit("work", modeltest.Words("1h")), "enough")
		w.idle()
		path := filepath.Join(w.engine.options.Dir, "journal")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.TrimRight(data, "\x00") // space that was reserved for later records
		ends := []int{len(journal.Header)}
		for at := ends[0]; at < len(data); at += bytes.IndexByte(data[at:], '\n') + 1 {
			ends = append(ends, at)
		}
		for _, end := range append(ends, len(data)) {
			if err := os.WriteFile(path, data[:end], 0o600); err != nil {
				t.Fatal(err)
			}
			submits := bytes.Count(data[:end], []byte(`"submitted":`))
			again := w.crash(Options{VCPUs: 3, MemoryMiB: 8192})
			if n := len(again.engine.model.BySubmission); n != submits {
				t.Errorf("cut at %d: %d jobs, want %d", end, n, submits)
			}
			again.idle()
			if err := again.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir})
		w.register("work", "1", "512")
		polite := w.submit("work", modeltest.Words("1h"))
		stubborn := w.submit("work", modeltest.Words("stubborn"), modeltest.Attempts(2))
		synctest.Wait()
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w = open(t, Options{Dir: dir, ReadOnly: true})
		w.want(polite, types.JobStatusFailed, model.ReasonHost)
		w.want(stubborn, types.JobStatusRunnable, "")
		if d := w.job(stubborn); *d.Attempts[0].Container.ExitCode != 137 {
			t.Errorf("exit code %d, want 137", *d.Attempts[0].Container.ExitCode)
		}
	})
}

func TestReadOnlyEngineChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir})
	w.register("work", "1", "512")
	reader := open(t, Options{Dir: dir, ReadOnly: true}) // while the other engine is open
	_, err := reader.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
	refused(t, err, call.ErrReadOnly.Error())
	if out, err := reader.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{}); err != nil || len(out.JobDefinitions) != 1 {
		t.Errorf("definitions: %v, %v", out, err)
	}
}

func TestOneEngineADirectory(t *testing.T) {
	if err := WaitClosed(t.Context(), t.TempDir()); err != nil {
		t.Errorf("wait where no engine was ever: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir})
	_, err := Open(Options{Dir: dir})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Dir != dir {
		t.Errorf("second engine: %v", err)
	}
	if text := err.Error(); !strings.Contains(text, dir+" is in use by an engine in process") {
		t.Errorf("second engine: %s", text)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := WaitClosed(soon, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for the end of an engine that lives: %v", err)
	}
	if err := w.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := WaitClosed(t.Context(), dir); err != nil {
		t.Error(err)
	}
	open(t, Options{Dir: dir})
}

func TestBrokenDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		real := w.engine.journal
		w.engine.journal = journal.New(&faultyFile{space: 1 << 20, sync: syscall.EIO}, 0)
		client := awsbatch.NewFromConfig(w.engine.Config(), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
		for range 2 { // a second sync would report success, although the data of the first one is lost
			_, err := client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
			if fault, ok := errors.AsType[*types.ServerException](err); !ok || !strings.Contains(fault.ErrorMessage(), syscall.EIO.Error()) {
				t.Errorf("acknowledged on a disk that cannot keep it: %v", err)
			}
		}
		synctest.Wait()
		w.engine.mu.Lock()
		// The first one may have run before the disk failed: its client only knows that the outcome is unknown.
		if n := len(w.engine.model.BySubmission); n != 1 {
			t.Errorf("there are %d jobs, want the one whose outcome is unknown", n)
		}
		w.engine.facts, w.engine.journal = nil, real
		w.engine.mu.Unlock()
	})
}

func TestOpenRefusesADirectoryOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("open: %v", err)
	}
}

// TestFullDisk lets the disk fill up at each byte of a few submits. A rejected request leaves
// nothing, an acknowledged one is kept, and everything runs once there is space.
func TestFullDisk(t *testing.T) {
	for space := 0; space < 1200; space += 37 {
		synctest.Test(t, func(t *testing.T) {
			w := open(t, Options{})
			w.register("work", "1", "512")
			e := w.engine
			e.mu.Lock()
			size := int64(0)
			file := &faultyFile{space: space}
			real := e.journal
			e.journal = journal.New(file, size)
			e.mu.Unlock()
			var kept []string
			client := awsbatch.NewFromConfig(e.Config(), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
			for range 4 {
				out, err := client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"),
					JobDefinition: aws.String("work")})
				switch fault, ok := errors.AsType[*types.ServerException](err); {
				case err == nil:
					kept = append(kept, *out.JobId)
				case !ok || !strings.Contains(fault.ErrorMessage(), syscall.ENOSPC.Error()):
					t.Fatalf("full disk: %v", err)
				}
			}
			synctest.Wait()
			if n := len(e.model.BySubmission); n != len(kept) {
				t.Errorf("space %d: %d jobs in the model, %d acknowledged", space, n, len(kept))
			}
			file.mu.Lock()
			file.space = 1 << 20
			file.mu.Unlock()
			w.idle()
			for _, id := range kept {
				w.want(id, types.JobStatusSucceeded, model.ReasonExited)
			}
			if n := bytes.Count(file.data, []byte(`"submitted":`)); n != len(kept) {
				t.Errorf("space %d: %d jobs in the journal, %d acknowledged", space, n, len(kept))
			}
			if err := real.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
