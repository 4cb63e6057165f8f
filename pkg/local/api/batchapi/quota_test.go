package batchapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// share creates a quota share of the queue quotas. borrow is -1 for no limit.
func (w *testAPI) share(name string, most int, strategy string, borrow int, inShare string) (arn string) {
	w.t.Helper()
	in := &awsbatch.CreateQuotaShareInput{QuotaShareName: &name, JobQueue: aws.String("quotas"),
		CapacityLimits:               []types.QuotaShareCapacityLimit{{CapacityUnit: aws.String("ml.m5.large"), MaxCapacity: aws.Int32(int32(most))}},
		ResourceSharingConfiguration: &types.QuotaShareResourceSharingConfiguration{Strategy: types.QuotaShareResourceSharingStrategy(strategy)},
		PreemptionConfiguration:      &types.QuotaSharePreemptionConfiguration{InSharePreemption: types.QuotaShareInSharePreemptionState(inShare)}}
	if strategy == "LEND_AND_BORROW" {
		in.ResourceSharingConfiguration.BorrowLimit = aws.Int32(int32(borrow))
	}
	out := must(w.t, w.createQuotaShare, in)
	return *out.QuotaShareArn
}

// inShare puts a service job into a quota share. more, if given, is preemptionRetriesBeforeTermination.
func inShare(name string, priority int, more ...int) func(*awsbatch.SubmitServiceJobInput) {
	return func(in *awsbatch.SubmitServiceJobInput) {
		in.QuotaShareName, in.SchedulingPriority = &name, aws.Int32(int32(priority))
		for _, n := range more {
			in.PreemptionConfiguration = &types.ServiceJobPreemptionConfiguration{PreemptionRetriesBeforeTermination: aws.Int32(int32(n))}
		}
	}
}

// statuses returns the statuses of service jobs.
func (w *testAPI) statuses(ids ...string) string {
	w.t.Helper()
	var all []string
	for _, id := range ids {
		all = append(all, string(w.training(id).Status))
	}
	return strings.Join(all, " ")
}

// TestQuotaShares checks who may borrow what, and that a share takes back what it has lent.
func TestQuotaShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t)
		w.must("UpdateServiceEnvironment", `{"serviceEnvironment": "typed", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 8}]}`)
		w.must("UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team", "state": "DISABLED"}`)
		w.share("lender", 2, "LEND", 0, "DISABLED")
		w.share("keeper", 2, "RESERVE", 0, "DISABLED")
		w.share("borrower", 2, "LEND_AND_BORROW", 100, "DISABLED")
		submit := func(share string, more ...int) string {
			return w.serve("quotas", modeltest.Training(1, "1h"), inShare(share, 1, more...))
		}
		b := []string{submit("borrower"), submit("borrower"), submit("borrower", 5), submit("borrower", 0), submit("borrower")}
		// team lends two and lender two, but the borrowLimit is two.
		if got, want := w.statuses(b...), "RUNNING RUNNING RUNNING RUNNING RUNNABLE"; got != want {
			t.Fatalf("borrower: %s, want %s", got, want)
		}
		w.Want(b[4], types.JobStatusRunnable, "the job waits for capacity of the quota share borrower")
		k := []string{submit("keeper"), submit("keeper"), submit("keeper")}
		l := []string{submit("lender"), submit("lender")}
		// Eight instances: four of borrower, two of keeper, two of lender.
		if got, want := w.statuses(append(k, l...)...), "RUNNING RUNNING RUNNABLE RUNNING RUNNING"; got != want {
			t.Fatalf("keeper and lender: %s, want %s", got, want)
		}
		out, err := do(w.getJobQueueSnapshot, &awsbatch.GetJobQueueSnapshotInput{JobQueue: aws.String("quotas")})
		if err != nil || *out.QueueUtilization.TotalCapacityUsage[0].Quantity != 8 || len(out.FrontOfQueue.Jobs) != 2 || len(out.FrontOfQuotaShares.QuotaShares) != 2 ||
			*out.FrontOfQuotaShares.QuotaShares["keeper"][0].JobArn != "arn:aws:batch:local:000000000000:service-job/"+k[2] {
			t.Errorf("snapshot %+v, %v", out, err)
		}
		if top := out.QueueUtilization.QuotaShareUtilization.TopCapacityUtilization; *top[0].QuotaShareName != "borrower" || *top[0].CapacityUsage[0].Quantity != 4 || len(top) != 3 {
			t.Errorf("utilization %+v", top)
		}
		// The newest of the jobs with the lowest priority ends first; it has no retry left. The next one waits again.
		w.must("UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team", "state": "ENABLED"}`)
		first := submit("team")
		w.Want(b[3], types.JobStatusFailed, model.ReasonCrossShare)
		second := submit("team")
		if got, want := w.statuses(first, second, b[2]), "RUNNING RUNNING RUNNABLE"; got != want {
			t.Errorf("after the preemptions: %s, want %s", got, want)
		}
		d := w.training(b[2])
		if d.PreemptionSummary == nil || *d.PreemptionSummary.PreemptedAttemptCount != 1 || *d.PreemptionSummary.RecentPreemptedAttempts[0].StatusReason != model.ReasonCrossShare ||
			len(d.Attempts) != 0 || *d.PreemptionConfiguration.PreemptionRetriesBeforeTermination != 5 {
			t.Errorf("%+v", d)
		}
		w.must("UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/keeper", "state": "DISABLED"}`)
		w.must("DeleteQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/keeper"}`)
		w.Want(k[0], types.JobStatusFailed, "Quota share keeper was deleted")
		w.Want(k[2], types.JobStatusFailed, "Quota share keeper was deleted")
		list, err := do(w.listQuotaShares, &awsbatch.ListQuotaSharesInput{JobQueue: aws.String("quotas"), MaxResults: aws.Int32(2)})
		if err != nil || len(list.QuotaShares) != 2 || list.NextToken == nil || *list.QuotaShares[0].QuotaShareName != "borrower" || *list.QuotaShares[0].ResourceSharingConfiguration.BorrowLimit != 100 {
			t.Errorf("%+v, %v", list, err)
		}
		w.Idle()
		if err := w.Model().Unreleased(); err != nil {
			t.Error(err)
		}
	})
}

// TestQuotaShareLimits checks Batch's reasons for jobs that their share can never run, what an update of the shares
// changes, and the action of the queue on such jobs.
func TestQuotaShareLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t)
		w.must("UpdateServiceEnvironment", `{"serviceEnvironment": "typed", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 40}]}`)
		w.must("UpdateJobQueue", `{"jobQueue": "quotas", "jobStateTimeLimitActions": [{"state": "RUNNABLE", "action": "TERMINATE", "maxTimeSeconds": 600,
			"reason": "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED"}]}`)
		w.share("lender", 4, "LEND", 0, "DISABLED")
		w.share("borrower", 2, "LEND_AND_BORROW", 100, "DISABLED")
		w.share("glutton", 4, "LEND_AND_BORROW", -1, "DISABLED")
		var ids []string
		for _, c := range []struct {
			share string
			count int
			why   string
		}{
			{"lender", 5, "Job requirements exceed quota share capacity limits."},
			{"borrower", 5, "Job requirements exceed quota share capacity limits and borrow limits."},
			// At most 12: its 4, 4 of lender, 2 of borrower, 2 of team.
			{"glutton", 13, "Job requires borrowing that exceeds all configured borrowable capacity."},
		} {
			id := w.serve("quotas", modeltest.Training(c.count, "1h"), inShare(c.share, 1))
			w.Want(id, types.JobStatusRunnable, "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED - "+c.why)
			ids = append(ids, id)
		}
		w.must("UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/lender", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 5}]}`)
		for _, id := range []string{ids[0], ids[2]} { // now they fit; several instances do not exist here
			w.Want(id, types.JobStatusFailed, "The local engine cannot run this training job: not available here: ResourceConfig.InstanceCount "+
				map[string]string{ids[0]: "5", ids[2]: "13"}[id])
		}
		time.Sleep(11 * time.Minute)
		w.Want(ids[1], types.JobStatusFailed, "Terminated by JobStateTimeLimit action due to reason: MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED")
	})
}

// TestInSharePreemption checks that a job takes the place of one with a lower priority, only if its share allows that,
// and that a new priority counts at once.
func TestInSharePreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t)
		arn := w.share("s", 1, "RESERVE", 0, "DISABLED")
		low := w.serve("quotas", modeltest.Training(1, "1h"), inShare("s", 1))
		high := w.serve("quotas", modeltest.Training(1, "1m"), inShare("s", 0))
		must(t, w.updateServiceJob, &awsbatch.UpdateServiceJobInput{JobId: &high, SchedulingPriority: aws.Int32(5)})
		if got := w.statuses(low, high); got != "RUNNING RUNNABLE" {
			t.Errorf("without preemption: %s", got)
		}
		w.must("UpdateQuotaShare", `{"quotaShareArn": "`+arn+`", "preemptionConfiguration": {"inSharePreemption": "ENABLED"}}`)
		if got := w.statuses(low, high); got != "RUNNABLE RUNNING" {
			t.Errorf("with preemption: %s", got)
		}
		w.Idle()
		if got := w.statuses(low, high); got != "SUCCEEDED SUCCEEDED" {
			t.Errorf("in the end: %s", got)
		}
	})
}

// serviceTurn is one action in a history of service jobs.
type serviceTurn struct {
	what  string
	share string
	n, on int
	word  string
}

var serviceTurns = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) serviceTurn {
	return serviceTurn{
		what:  rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "priority", "end", "environment", "share", "wait"}).Draw(t, "what"),
		share: rapid.SampledFrom([]string{"team", "lender", "keeper"}).Draw(t, "share"),
		n:     rapid.IntRange(1, 3).Draw(t, "n"),
		on:    rapid.IntRange(0, 20).Draw(t, "on"),
		word:  rapid.SampledFrom([]string{"0s", "1m", "1h", "1"}).Draw(t, "word"),
	}
}), 1, 25)

// TestServiceHistories plays random histories of service jobs in quota shares. Every job goes through its states in
// order, no more instances are in use than the environment had when they started, the journal rebuilds the same state,
// and every job ends.
func TestServiceHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		history := serviceTurns.Draw(r, "history")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = playServices(t, history) })
		if problem != nil {
			r.Fatal(problem)
		}
	})
}

func playServices(t *testing.T, history []serviceTurn) error {
	w := serving(t)
	w.share("lender", 1, "LEND", 0, "ENABLED")
	w.share("keeper", 1, "RESERVE", 0, "ENABLED")
	const most = 4 // the largest limit that a turn sets
	var ids []string
	for _, v := range history {
		id := ""
		if len(ids) > 0 {
			id = ids[v.on%len(ids)]
		}
		switch {
		case v.what == "submit":
			ids = append(ids, w.serve("quotas", modeltest.Training(1, v.word), inShare(v.share, v.n)))
		case v.what == "priority" && id != "":
			// A job that has ended is rejected.
			_, _ = do(w.updateServiceJob, &awsbatch.UpdateServiceJobInput{JobId: &id, SchedulingPriority: aws.Int32(int32(v.n))})
		case v.what == "end" && id != "":
			w.endService(id)
		case v.what == "environment":
			w.must("UpdateServiceEnvironment", fmt.Sprintf(`{"serviceEnvironment": "typed", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": %d}]}`, v.n+1))
		case v.what == "share":
			w.must("UpdateQuotaShare", fmt.Sprintf(`{"quotaShareArn": "%s", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": %d}]}`,
				model.QuotaShareOf("quotas", v.share).ARN(), v.n))
		case v.what == "wait":
			time.Sleep(time.Duration(v.n) * time.Minute)
		}
		if n := w.Most; n > most {
			return fmt.Errorf("%+v: %d containers at the same time, the limit is %d", v, n, most)
		}
	}
	o := modeltest.Options{}
	if diff := cmp.Diff(w.trainings(ids), apiOn(t, w.Engine.Restart(o), Settings{}).trainings(ids)); diff != "" {
		return fmt.Errorf("the journal leads to another state:\n%s", diff)
	}
	next := w.restart(o)
	next.Idle()
	w.Idle()
	problems := []error{w.Model().Unreleased(), next.Model().Unreleased()}
	for _, id := range ids {
		problems = append(problems, inOrder(w.states(id)))
		for _, e := range []*testAPI{w, next} {
			if s := e.Task(id).State; !s.Ended() {
				problems = append(problems, fmt.Errorf("service job %s is %s in the end", id, s))
			}
		}
	}
	return errors.Join(problems...)
}

// states returns the statuses that a job has had.
func (w *testAPI) states(id string) (all []string) {
	for _, v := range w.Events() {
		switch {
		case v.ServiceSubmitted != nil && v.ServiceSubmitted.ID == id:
			all = append(all, "SUBMITTED RUNNABLE")
		case v.Started != nil && v.Started.Job == id:
			all = append(all, "SCHEDULED")
		case v.Launched != nil && v.Launched.Job == id:
			all = append(all, "RUNNING")
		case v.Moved != nil && v.Moved.Job == id:
			all = append(all, v.Moved.To.String())
		case v.Ended != nil && v.Ended.Job == id:
			all = append(all, v.Ended.To.String())
		}
	}
	return all
}

// trainings returns service jobs as the API describes them.
func (w *testAPI) trainings(ids []string) (all []string) {
	for _, id := range ids {
		all = append(all, w.text(w.training(id)))
	}
	return all
}

// inOrder returns an error unless the states are those of service jobs in their order, with retries.
func inOrder(states []string) error {
	after := map[string]string{"": "SUBMITTED RUNNABLE", "SUBMITTED RUNNABLE": "SCHEDULED FAILED", "RUNNABLE": "SCHEDULED FAILED", "SCHEDULED": "STARTING RUNNABLE FAILED",
		"STARTING": "RUNNING RUNNABLE FAILED", "RUNNING": "SUCCEEDED RUNNABLE FAILED", "SUCCEEDED": "none", "FAILED": "none"}
	last := ""
	for _, s := range states {
		if !strings.Contains(after[last], s) {
			return fmt.Errorf("%s follows %s in %v", s, last, states)
		}
		last = s
	}
	return nil
}
