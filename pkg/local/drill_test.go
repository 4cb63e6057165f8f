package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestDrill lets a job that takes an hour be reclaimed and run out of memory, each at a part of the time of a run
// without failures. An attempt finds no file of the one before.
func TestDrill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var killed []time.Duration
		left := 0
		s := &script{run: func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
			if _, err := os.Stat(filepath.Join(a.Directory, "state")); err == nil {
				left++
			}
			if err := os.WriteFile(filepath.Join(a.Directory, "state"), nil, 0o600); err != nil {
				return -1, err
			}
			began := time.Now()
			select {
			case <-time.After(time.Hour):
				return 0, nil
			case <-a.Kill:
				killed = append(killed, time.Since(began))
				return 137, nil
			}
		}}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "512")
		undrilled := w.submit("work", modeltest.Attempts(3), modeltest.Words("x"))
		w.idle()
		reference := w.engine.RunningTimes(undrilled)
		blows, err := attempt.ParseDrill("reclaim@40%,oom@70%")
		if err != nil {
			t.Fatal(err)
		}
		w.engine.Drill(blows, reference)
		id := w.submit("work", modeltest.Attempts(3), modeltest.Words("x"))
		w.idle()
		w.want(id, types.JobStatusSucceeded, model.ReasonExited)
		d := w.job(id)
		if len(d.Attempts) != 3 {
			t.Fatalf("%d attempts", len(d.Attempts))
		}
		first, second := d.Attempts[0], d.Attempts[1]
		if aws.ToString(first.StatusReason) != model.ReasonHost || first.Container.ExitCode != nil {
			t.Errorf("the reclaimed attempt: %s, %v", aws.ToString(first.StatusReason), first.Container.ExitCode)
		}
		if aws.ToString(second.Container.Reason) != "OutOfMemoryError: Container killed due to memory usage" || aws.ToInt32(second.Container.ExitCode) != 137 {
			t.Errorf("the attempt without memory: %s, %v", aws.ToString(second.Container.Reason), second.Container.ExitCode)
		}
		// The program ignores SIGTERM, so it lives for 30 s after the reclaim. The second failure counts from the first
		// attempt's start. The kernel does not ask.
		want := []time.Duration{24*time.Minute + attempt.StopTimeout, 42*time.Minute - 24*time.Minute - attempt.StopTimeout}
		if len(killed) != 2 || killed[0] != want[0] || killed[1] != want[1] {
			t.Errorf("killed after %v, want %v", killed, want)
		}
		if left != 0 {
			t.Errorf("%d attempts found a file of an earlier one", left)
		}
		key := RunKey{Name: "work-job", Index: -1}
		for k := range reference {
			key = k
		}
		if ran := w.engine.RunningTimes(id)[key]; ran != 42*time.Minute+time.Hour {
			t.Errorf("all attempts ran %v", ran)
		}
		if early := w.engine.Unharmed(id); len(early) > 0 {
			t.Errorf("%v had not all failures", early)
		}
	})
}

// TestDrillTooLate checks that a job which ends before a failure is found, and each child of an array.
func TestDrillTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		w.engine.Drill([]attempt.Blow{{Cause: attempt.ErrReclaimed, At: time.Minute}}, nil)
		id := w.submit("work", modeltest.Attempts(2), modeltest.Words("30s", "90s"), modeltest.Array(2))
		w.idle()
		if early := w.engine.Unharmed(id); len(early) != 1 || early[0].Index != 0 || early[0].Outlived {
			t.Errorf("%v ended before the failure, want child 0", early)
		}
	})
}

// TestDrillOutlived checks that a reclaim counts only if the attempt failed: this program succeeds after SIGTERM.
func TestDrillOutlived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &script{run: func(context.Context, attempt.Attempt, *os.File) (int, error) {
			time.Sleep(time.Minute + attempt.StopTimeout/2)
			return 0, nil
		}}})
		w.register("work", "1", "512")
		w.engine.Drill([]attempt.Blow{{Cause: attempt.ErrReclaimed, At: time.Minute}}, nil)
		id := w.submit("work", modeltest.Attempts(2), modeltest.Words("x"))
		w.idle()
		w.want(id, types.JobStatusSucceeded, model.ReasonExited)
		if early := w.engine.Unharmed(id); len(early) != 1 || !early[0].Outlived || early[0].Index != -1 {
			t.Errorf("%v had not all failures, want the job", early)
		}
	})
}

// TestDrillNotRetried checks that a drill ends a job whose retry strategy does not retry the failure.
func TestDrillNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		w.engine.Drill([]attempt.Blow{{Cause: attempt.ErrReclaimed, At: time.Minute}}, nil)
		exit := types.EvaluateOnExit{OnStatusReason: aws.String("Host EC2*"), Action: types.RetryActionExit}
		id := w.submit("work", modeltest.Attempts(2, exit), modeltest.Words("1h"))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonHost)
	})
}
