package local

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// in puts a job into a share.
func in(share string, priority int32) func(*awsbatch.SubmitJobInput) {
	return func(r *awsbatch.SubmitJobInput) {
		r.JobQueue, r.ShareIdentifier, r.SchedulingPriorityOverride = aws.String("shared"), &share, &priority
		r.JobName = aws.String(fmt.Sprintf("%s-%d", share, priority))
	}
}

func (w *testEngine) fairQueue(p types.FairsharePolicy) {
	w.t.Helper()
	out, err := w.CreateSchedulingPolicy(w.t.Context(), &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"), FairsharePolicy: &p})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Queue("shared", []string{model.ComputeEnvironment}, func(r *awsbatch.CreateJobQueueInput) { r.SchedulingPolicyArn = out.Arn })
}

// names returns the names of the jobs that ran, in the order of their starts.
func (w *testEngine) names(s *script) []string {
	var all []string
	for _, id := range s.ran {
		all = append(all, *w.job(id).JobName)
	}
	return all
}

// TestActiveShares checks that a share counts as active only while it has unfinished jobs: one that had some before
// does not pass the limit.
func TestActiveShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 1, MemoryMiB: 64})
		w.register("work", "1", "64")
		w.fairQueue(types.FairsharePolicy{})
		w.submit("work", in("earlier", 1))
		w.idle()
		w.submit("work", in("first", 1), words("1h"))
		for i := range 499 {
			w.submit("work", in(fmt.Sprintf("share%d", i), 1))
		}
		for _, share := range []string{"earlier", "new"} {
			r := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("shared"), JobDefinition: aws.String("work")}
			in(share, 1)(r)
			_, err := w.SubmitJob(t.Context(), r)
			refused(t, err, "Job queue shared has 500 active share identifiers already.")
		}
		w.submit("work", in("first", 1))
		w.idle()
	})
}

func TestFairShareQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 1, MemoryMiB: 64})
		w.register("work", "1", "64")
		w.fairQueue(types.FairsharePolicy{ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("b*"), WeightFactor: aws.Float32(0.5)}}})
		for _, c := range []struct {
			edit func(*awsbatch.SubmitJobInput)
			want string
		}{
			{to("shared"), "shareIdentifier must be specified."},
			{func(r *awsbatch.SubmitJobInput) { in("a", 1)(r); r.SchedulingPriorityOverride = nil },
				"Either schedulingPriority in job definition or schedulingPriorityOverride should be specified."},
			{func(r *awsbatch.SubmitJobInput) { in("a", 1)(r); r.JobQueue = aws.String("default") },
				"Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy."},
			{func(r *awsbatch.SubmitJobInput) { in("a b", 1)(r); r.JobName = aws.String("job") }, "ShareIdentifier name should match a valid pattern."},
			{in("a", 10000), "Scheduling priority must be between 0 and 9999."},
		} {
			r := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
			c.edit(r)
			_, err := w.SubmitJob(t.Context(), r)
			refused(t, err, c.want)
		}
		w.submit("work", in("z", 0), words("1m")) // holds the machine meanwhile
		for _, priority := range []int32{1, 3, 2} {
			w.submit("work", in("a", priority), words("1m"))
		}
		for range 4 {
			w.submit("work", in("b1", 5), words("1m"))
		}
		out, err := w.GetJobQueueSnapshot(t.Context(), &awsbatch.GetJobQueueSnapshotInput{JobQueue: aws.String("shared")})
		if err != nil || len(out.FrontOfQueue.Jobs) != 7 || *out.QueueUtilization.FairshareUtilization.ActiveShareCount != 3 ||
			*out.QueueUtilization.FairshareUtilization.TopCapacityUtilization[0].ShareIdentifier != "z" || *out.QueueUtilization.TotalCapacityUsage[0].Quantity != 1 {
			t.Errorf("snapshot %+v, %v", out, err)
		}
		w.idle()
		// b1 counts half, so it gets two starts for one of a; in a the priority decides.
		want := "[z-0 a-3 b1-5 b1-5 a-2 b1-5 b1-5 a-1]"
		if got := fmt.Sprint(w.names(s)); got != want {
			t.Errorf("started %s, want %s", got, want)
		}
		d := w.job(s.ran[1])
		if *d.ShareIdentifier != "a" || *d.SchedulingPriority != 3 {
			t.Errorf("share %s, priority %d", *d.ShareIdentifier, *d.SchedulingPriority)
		}
	})
}

// TestReservationLeavesCapacity checks that one share alone gets half of the machine, so that a
// job of another share starts at once.
func TestReservationLeavesCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 8, MemoryMiB: 8192})
		w.register("work", "1", "64")
		w.fairQueue(types.FairsharePolicy{ComputeReservation: aws.Int32(50)})
		w.submit("work", in("a", 0), array(20), words("1h"))
		synctest.Wait()
		if s.now() != 4 {
			t.Errorf("%d of a alone, want 4 of 8", s.now())
		}
		late := w.submit("work", in("b", 0), words("1m"))
		synctest.Wait()
		w.want(late, types.JobStatusRunning, "")
		if s.now() != 6 {
			t.Errorf("%d of two shares, want 6 of 8", s.now())
		}
		time.Sleep(5 * time.Minute)
		w.want(late, types.JobStatusSucceeded, model.ReasonExited)
		w.idle()
	})
}
