package local

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestJobRunsFromSubmitToSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		began := time.Now()
		id := w.submit("work", modeltest.Words("1h"))
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
				id := w.submit("work", modeltest.Words(c.word), modeltest.Timeout(60), modeltest.Attempts(3))
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
		id := w.submit("work", modeltest.Timeout(60), modeltest.Attempts(2))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonExited)
		if n := len(w.job(id).Attempts); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
	})
}

func TestCommandThatCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: broken{}})
		w.register("work", "1", "512")
		id := w.submit("work", modeltest.Attempts(2, types.EvaluateOnExit{OnReason: aws.String("CannotStart*"), Action: types.RetryActionExit}))
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

// TestDeadlinesAndPreemptions checks that the engine takes the actions of a queue on jobs that wait too long without
// any request, and ends the attempts whose capacity others need.
func TestDeadlinesAndPreemptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t, &trainer{})
		w.register("huge", "64", "64")
		w.Queue("main", []string{model.ComputeEnvironment}, func(in *awsbatch.CreateJobQueueInput) {
			in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600),
				Reason: aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"), State: "RUNNABLE"}}
		})
		huge := w.submit("huge", modeltest.To("main"))
		time.Sleep(599 * time.Second)
		if d := w.job(huge); d.Status != types.JobStatusRunnable {
			t.Errorf("after 599 s: %s", d.Status)
		}
		time.Sleep(2 * time.Second)
		w.want(huge, types.JobStatusFailed, "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
		w.must("UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}],
			"resourceSharingConfiguration": {"strategy": "RESERVE"}, "preemptionConfiguration": {"inSharePreemption": "ENABLED"}}`)
		in := func(priority int32) func(*awsbatch.SubmitServiceJobInput) {
			return func(in *awsbatch.SubmitServiceJobInput) {
				in.QuotaShareName, in.SchedulingPriority = aws.String("team"), &priority
			}
		}
		low := w.serve("quotas", modeltest.Training(1, "1h"), in(1))
		synctest.Wait()
		w.wantService(low, types.ServiceJobStatusRunning, "")
		high := w.serve("quotas", modeltest.Training(1, "1m"), in(2))
		synctest.Wait()
		w.wantService(high, types.ServiceJobStatusRunning, "")
		if d := w.service(low); d.Status != types.ServiceJobStatusRunnable || *d.PreemptionSummary.PreemptedAttemptCount != 1 {
			t.Errorf("the preempted job: %+v", d)
		}
		w.idle()
		w.wantService(low, types.ServiceJobStatusSucceeded, "Received status from SageMaker: Training job completed")
	})
}
