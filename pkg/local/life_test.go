package local

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// after makes a job depend on others.
func after(ids ...string) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) {
		for _, id := range ids {
			in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: &id})
		}
	}
}

func attempts(n int32, rules ...types.EvaluateOnExit) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) {
		in.RetryStrategy = &types.RetryStrategy{Attempts: &n, EvaluateOnExit: rules}
	}
}

func timeout(seconds int32) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.Timeout = &types.JobTimeout{AttemptDurationSeconds: &seconds} }
}

func TestJobRunsFromSubmitToSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		began := time.Now()
		id := w.submit("work", words("1h"))
		synctest.Wait()
		w.want(id, types.JobStatusRunning, "")
		w.idle()
		if d := time.Since(began); d != time.Hour {
			t.Errorf("took %v of virtual time, want 1h", d)
		}
		w.want(id, types.JobStatusSucceeded, model.ReasonExited)
		d := w.job(id)
		if len(d.Attempts) != 1 || aws.ToInt32(d.Attempts[0].Container.ExitCode) != 0 {
			t.Errorf("attempts: %+v", d.Attempts)
		}
		if got := *d.StoppedAt - *d.StartedAt; got != time.Hour.Milliseconds() {
			t.Errorf("ran %d ms, want an hour", got)
		}
	})
}

func TestRetriesUntilTheAttemptsAreUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "512")
		id := w.submit("work", attempts(3), words("3"))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonExited)
		d := w.job(id)
		if len(s.ran) != 3 || len(d.Attempts) != 3 || s.value(0, "AWS_BATCH_JOB_ATTEMPT") != "1" || s.value(2, "AWS_BATCH_JOB_ATTEMPT") != "3" {
			t.Errorf("ran %v, %d attempts are kept", s.ran, len(d.Attempts))
		}
		streams := map[string]bool{}
		for _, a := range d.Attempts {
			streams[*a.Container.LogStreamName] = true
			if aws.ToInt32(a.Container.ExitCode) != 3 {
				t.Errorf("exit code %v, want 3", aws.ToInt32(a.Container.ExitCode))
			}
		}
		if len(streams) != 3 {
			t.Errorf("the attempts share log streams: %v", streams)
		}
	})
}

func TestEvaluateOnExitStopsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "512")
		w.submit("work", words("42"), attempts(5, types.EvaluateOnExit{OnExitCode: aws.String("42"), Action: types.RetryActionExit}))
		w.idle()
		if len(s.ran) != 1 {
			t.Errorf("%d attempts, want 1", len(s.ran))
		}
	})
}

func TestTimeoutEndsTheAttemptAndIsNotRetried(t *testing.T) {
	for _, c := range []struct {
		name    string
		word    string
		seconds int
		exit    int32
	}{
		{"ends when asked", "1h", 60, 143},
		{"is killed after the grace", "stubborn", 90, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t, Options{})
				w.register("work", "1", "512")
				id := w.submit("work", words(c.word), timeout(60), attempts(3))
				began := time.Now()
				w.idle()
				if d := time.Since(began); d != time.Duration(c.seconds)*time.Second {
					t.Errorf("ended after %v, want %d s", d, c.seconds)
				}
				w.want(id, types.JobStatusFailed, model.ReasonTimeout)
				if d := w.job(id); len(d.Attempts) != 1 || *d.Container.ExitCode != c.exit {
					t.Errorf("%d attempts, exit code %d; want 1 and %d", len(d.Attempts), *d.Container.ExitCode, c.exit)
				}
			})
		})
	}
}

func TestTimeoutBeginsAnewForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &script{run: func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
			if code, err := play(ctx, a, "50s"); code != 0 {
				return code, err
			}
			return 1, nil // each of the two attempts ends on its own
		}}})
		w.register("work", "1", "512")
		id := w.submit("work", timeout(60), attempts(2))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonExited)
		if n := len(w.job(id).Attempts); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
	})
}

func TestDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "512")
		a := w.submit("work", words("1m"))
		b := w.submit("work", after(a))
		c := w.submit("work", after(a), words("fail"))
		d := w.submit("work", after(b, c))
		e := w.submit("work", after(d))
		w.want(b, types.JobStatusPending, "")
		w.idle()
		w.want(b, types.JobStatusSucceeded, model.ReasonExited)
		w.want(c, types.JobStatusFailed, model.ReasonExited)
		w.want(d, types.JobStatusFailed, model.ReasonDependency)
		w.want(e, types.JobStatusFailed, model.ReasonDependency)
		if s.ran[0] != a || len(s.ran) != 3 {
			t.Errorf("ran %v, want a, b and c only", s.ran)
		}
		late := w.submit("work", after(a))
		w.idle()
		w.want(late, types.JobStatusSucceeded, model.ReasonExited)
		w.want(w.submit("work", after(c)), types.JobStatusFailed, model.ReasonDependency)
	})
}

// TestCancelPending checks that CancelJob ends a job or child in PENDING after its dependencies, and TerminateJob at
// once (API reference of CancelJob).
func TestCancelPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 8, MemoryMiB: 8192})
		w.register("work", "1", "64")
		first := w.submit("work", words("1h"))
		second := w.submit("work", after(first))
		third := w.submit("work", after(second))
		pairs := w.submit("work", array(3), words("2h", "1m", "3h"))
		children := w.submit("work", array(3), depends(pairs, types.ArrayJobDependencyNToN))
		chain := w.submit("work", array(3), words("4h"), depends("", types.ArrayJobDependencySequential))
		synctest.Wait()
		for _, id := range []string{second, children, chain} {
			w.cancel(id, "why")
		}
		pending := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				w.want(id, types.JobStatusPending, "")
			}
		}
		pending(second, third, children, children+":0", chain+":1", chain+":2")
		if d := w.job(second); !*d.IsCancelled {
			t.Error("the cancelled job is not shown as cancelled")
		}
		w.want(chain+":0", types.JobStatusRunning, "") // a child that has started is not cancelled
		time.Sleep(30 * time.Minute)
		pending(second, third, children, children+":0", children+":2")
		w.want(children+":1", types.JobStatusFailed, "why")
		time.Sleep(time.Hour)
		w.want(second, types.JobStatusFailed, "why")
		w.want(third, types.JobStatusFailed, model.ReasonDependency)
		pending(children+":0", chain+":1")
		w.terminate(children, "now")
		w.want(children+":0", types.JobStatusFailed, "now")
		w.want(children, types.JobStatusFailed, "now")
		w.idle()
		w.want(chain+":0", types.JobStatusSucceeded, model.ReasonExited)
		w.want(chain+":2", types.JobStatusFailed, "why")
		w.want(chain, types.JobStatusFailed, "why")
	})
}

func TestStopInEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 1, MemoryMiB: 8192})
		w.register("work", "1", "512")
		runs := w.submit("work", words("1h"), attempts(3))
		waits := w.submit("work")
		alsoWaits := w.submit("work")
		depends := w.submit("work", after(runs))
		synctest.Wait()

		w.cancel(runs, "not wanted")
		synctest.Wait()
		w.want(runs, types.JobStatusRunning, "") // CancelJob has no effect on a running job
		w.cancel(waits, "not wanted")
		w.want(waits, types.JobStatusFailed, "not wanted")
		w.terminate(depends, "not wanted")
		w.want(depends, types.JobStatusFailed, "not wanted")
		w.terminate(alsoWaits, "enough")
		w.want(alsoWaits, types.JobStatusFailed, "enough")
		w.terminate(runs, "enough")
		synctest.Wait()
		w.want(runs, types.JobStatusFailed, "enough")
		if d := w.job(runs); len(d.Attempts) != 1 || !*d.IsTerminated || *d.Container.ExitCode != 143 {
			t.Errorf("terminated job: %d attempts, terminated %v, exit %d", len(d.Attempts), *d.IsTerminated, *d.Container.ExitCode)
		}
		w.terminate(runs, "again") // is not an error
		w.want(runs, types.JobStatusFailed, "enough")
	})
}

func TestMachineIsSharedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{VCPUs: 2, MemoryMiB: 8192, Executor: s, Queues: []model.QueueSpec{{Name: "default", Priority: 1}, {Name: "urgent", Priority: 10}}})
		w.register("small", "1", "512")
		w.register("large", "2", "512")
		urgent := func(in *awsbatch.SubmitJobInput) { in.JobQueue = aws.String("urgent") }
		first := w.submit("small", words("1m"))
		synctest.Wait() // jobs that run together record their starts in any order
		large := w.submit("large", words("1m"))
		behind := w.submit("small", words("1m"))
		before := w.submit("small", words("1m"), urgent)
		w.idle()
		if want := []string{first, before, large, behind}; !slices.Equal(s.ran, want) {
			t.Errorf("started %v, want %v", s.ran, want)
		}
		if s.most > 2 {
			t.Errorf("%d at once on 2 vCPUs", s.most)
		}
	})
}

func TestGPUsArePinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		held := map[string]bool{}
		hold := func(gpus []string, on bool) {
			mu.Lock()
			defer mu.Unlock()
			for _, g := range gpus {
				if held[g] == on {
					t.Errorf("%s is given to two jobs", g)
				}
				held[g] = on
			}
		}
		w := open(t, Options{VCPUs: 8, MemoryMiB: 8192, GPUs: []string{"GPU-a", "GPU-b", "GPU-c"},
			Executor: &script{run: func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
				hold(a.GPUs, true)
				defer hold(a.GPUs, false)
				return play(ctx, a, "1m")
			}}})
		gpus := func(n string) func(*awsbatch.RegisterJobDefinitionInput) {
			return func(in *awsbatch.RegisterJobDefinitionInput) {
				in.ContainerProperties.ResourceRequirements = append(in.ContainerProperties.ResourceRequirements,
					types.ResourceRequirement{Type: types.ResourceTypeGpu, Value: &n})
			}
		}
		w.register("two", "1", "64", gpus("2"))
		w.register("one", "1", "64", gpus("1"))
		w.register("nine", "1", "64", gpus("9"))
		began := time.Now()
		for range 3 {
			w.submit("two")
			w.submit("one")
		}
		w.idle()
		if d := time.Since(began); d != 3*time.Minute {
			t.Errorf("took %v, want 3m: 3 GPUs, two jobs at a time", d)
		}
		never := w.submit("nine")
		w.want(never, types.JobStatusRunnable, largest+"the job asks for 9 GPUs, this machine has 3")
		w.terminate(never, "enough")
		w.idle()
	})
}

func TestCommandThatCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: broken{}})
		w.register("work", "1", "512")
		id := w.submit("work", attempts(2, types.EvaluateOnExit{OnReason: aws.String("CannotStart*"), Action: types.RetryActionExit}))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
		d := w.job(id)
		if got := aws.ToString(d.Container.Reason); got != "CannotStartContainerError: no such thing" {
			t.Errorf("reason %q", got)
		}
		if d.StartedAt != nil || *d.Container.ExitCode != 127 || len(d.Attempts) != 1 {
			t.Errorf("started %v, exit %d, %d attempts", d.StartedAt, *d.Container.ExitCode, len(d.Attempts))
		}
	})
}

// broken is an executor that cannot start anything.
type broken struct{}

func (broken) Run(context.Context, attempt.Attempt, *os.File) (int, error) {
	return 127, errors.New("CannotStartContainerError: no such thing")
}

func (broken) Clear(string, string) error                             { return nil }
func (broken) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }
