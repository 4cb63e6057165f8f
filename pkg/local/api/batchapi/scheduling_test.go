package batchapi

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestActiveShares checks that a share counts as active only while it has unfinished jobs: one that had some before
// does not pass the limit.
func TestActiveShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 64})
		w.Register("work", "1", "64")
		w.FairQueue(types.FairsharePolicy{})
		w.Submit("work", modeltest.In("earlier", 1))
		w.Idle()
		w.Submit("work", modeltest.In("first", 1), modeltest.Words("1h"))
		for i := range 499 {
			w.Submit("work", modeltest.In(fmt.Sprintf("share%d", i), 1))
		}
		for _, share := range []string{"earlier", "new"} {
			r := modeltest.Request("work", modeltest.To("shared"))
			modeltest.In(share, 1)(r)
			_, err := do(w.submitJob, r)
			refused(t, err, "Job queue shared has 500 active share identifiers already.")
		}
		w.Submit("work", modeltest.In("first", 1))
		w.Idle()
	})
}

func TestFairShareQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 64})
		w.Register("work", "1", "64")
		w.FairQueue(types.FairsharePolicy{ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("b*"), WeightFactor: aws.Float32(0.5)}}})
		for _, c := range []struct {
			edit func(*awsbatch.SubmitJobInput)
			want string
		}{
			{modeltest.To("shared"), "shareIdentifier must be specified."},
			{func(r *awsbatch.SubmitJobInput) { modeltest.In("a", 1)(r); r.SchedulingPriorityOverride = nil },
				"Either schedulingPriority in job definition or schedulingPriorityOverride should be specified."},
			{func(r *awsbatch.SubmitJobInput) { modeltest.In("a", 1)(r); r.JobQueue = aws.String("default") },
				"Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy."},
			{func(r *awsbatch.SubmitJobInput) { modeltest.In("a b", 1)(r); r.JobName = aws.String("job") }, "ShareIdentifier name should match a valid pattern."},
			{modeltest.In("a", 10000), "Scheduling priority must be between 0 and 9999."},
		} {
			r := modeltest.Request("work")
			c.edit(r)
			_, err := do(w.submitJob, r)
			refused(t, err, c.want)
		}
		w.Submit("work", modeltest.In("z", 0), modeltest.Words("1m")) // holds the machine meanwhile
		for _, priority := range []int32{1, 3, 2} {
			w.Submit("work", modeltest.In("a", priority), modeltest.Words("1m"))
		}
		for range 4 {
			w.Submit("work", modeltest.In("b1", 5), modeltest.Words("1m"))
		}
		out, err := do(w.getJobQueueSnapshot, &awsbatch.GetJobQueueSnapshotInput{JobQueue: aws.String("shared")})
		if err != nil || len(out.FrontOfQueue.Jobs) != 7 || *out.QueueUtilization.FairshareUtilization.ActiveShareCount != 3 ||
			*out.QueueUtilization.FairshareUtilization.TopCapacityUtilization[0].ShareIdentifier != "z" || *out.QueueUtilization.TotalCapacityUsage[0].Quantity != 1 {
			t.Errorf("snapshot %+v, %v", out, err)
		}
		w.Idle()
		// b1 counts half, so it gets two starts for one of a; in a the priority decides.
		want := "[z-0 a-3 b1-5 b1-5 a-2 b1-5 b1-5 a-1]"
		var names []string
		for _, id := range w.IDs() {
			names = append(names, *w.job(id).JobName)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("started %s, want %s", got, want)
		}
		d := w.job(w.IDs()[1])
		if *d.ShareIdentifier != "a" || *d.SchedulingPriority != 3 {
			t.Errorf("share %s, priority %d", *d.ShareIdentifier, *d.SchedulingPriority)
		}
	})
}

func TestEnvironmentsHoldJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192})
		w.Register("work", "2", "64")
		w.Register("large", "4", "64")
		w.Register("serverless", "2", "4096", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.PlatformCapabilities = []types.PlatformCapability{types.PlatformCapabilityFargate}
		})
		w.Environment("first", types.CRTypeEc2, 3)
		w.Environment("second", types.CRTypeSpot, 2)
		w.Queue("main", []string{"first", "second"})
		var ids []string
		for range 3 {
			ids = append(ids, w.Submit("work", modeltest.To("main"), modeltest.Words("1h")))
		}
		large := w.Submit("large", modeltest.To("main"))
		many := w.Submit("large", modeltest.To("main"), modeltest.Array(2))
		_, err := do(w.submitJob, modeltest.Request("serverless", modeltest.To("main")))
		refused(t, err, "Job Queue is attached to Compute Environment that can not run Jobs with capability FARGATE.")
		w.Environment("serverless", types.CRTypeFargateSpot, 4)
		w.Queue("side", []string{"serverless"})
		_, err = do(w.submitJob, modeltest.Request("work", modeltest.To("side")))
		refused(t, err, "Job Queue is attached to Compute Environment that can not run Jobs with capability EC2.")
		must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("serverless"), State: types.CEStateDisabled})
		serverless := w.Submit("serverless", modeltest.To("side"))
		side := func(environment string) {
			must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("side"), ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{
				{Order: aws.Int32(1), ComputeEnvironment: &environment}}})
		}
		side("second")
		if got := []string{w.Value(0, "AWS_BATCH_CE_NAME"), w.Value(1, "AWS_BATCH_CE_NAME")}; !slices.Equal(got, []string{"first", "second"}) || w.Running() != 2 {
			t.Errorf("%d run, in %v; want 2, in first and second", w.Running(), got)
		}
		w.Want(ids[2], types.JobStatusRunnable, "")
		const max = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU requirement of the job: " +
			"the job asks for 4 vCPUs, the largest maxvCpus is 3"
		w.Want(large, types.JobStatusRunnable, max)
		w.Want(many, types.JobStatusPending, max)
		w.Want(many+":1", types.JobStatusRunnable, max)
		w.Want(serverless, types.JobStatusRunnable, modeltest.Largest+"the job asks for FARGATE, and no compute environment of the queue is for it")
		must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("first"), ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(6)}})
		w.Want(ids[2], types.JobStatusRunning, "")
		for _, id := range []string{large, many, many + ":1"} {
			if d := w.job(id); d.StatusReason != nil {
				t.Errorf("%s: %s", id, *d.StatusReason)
			}
		}
		for _, name := range []string{"first", "second"} {
			must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name, State: types.CEStateDisabled})
		}
		const disabled = "ACTION_REQUIRED - CE(s) associated with the job queue are invalid: those that could hold the job are DISABLED"
		w.Want(large, types.JobStatusRunnable, disabled)
		time.Sleep(2 * time.Hour)
		w.Want(ids[0], types.JobStatusSucceeded, model.ReasonExited)
		w.Want(large, types.JobStatusRunnable, disabled)
		must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("serverless"), State: types.CEStateEnabled})
		side("serverless")
		w.Want(serverless, types.JobStatusSucceeded, model.ReasonExited)
		w.Terminate(large, "enough")
		w.Terminate(many, "enough")
		w.Idle()
		if err := w.Model().Unreleased(); err != nil {
			t.Error(err)
		}
	})
}

func TestConsumableResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192})
		w.Consumable("licence", model.Replenishable, 3)
		w.Consumable("credit", model.NonReplenishable, 3)
		w.Register("free", "1", "64")
		w.Register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ConsumableResourceProperties = modeltest.Asks(2, "licence")
		})
		have := func(name string, total, used, available int64) {
			t.Helper()
			out, err := do(w.describeConsumableResource, &awsbatch.DescribeConsumableResourceInput{ConsumableResource: aws.String(model.ARN(model.KindConsumable, name))})
			if err != nil || *out.TotalQuantity != total || *out.InUseQuantity != used || *out.AvailableQuantity != available {
				t.Errorf("%s: total %d, in use %d, available %d, %v; want %d, %d, %d", name, *out.TotalQuantity, *out.InUseQuantity, *out.AvailableQuantity, err, total, used, available)
			}
		}
		first := w.Submit("work", modeltest.Words("1m"))
		second := w.Submit("work", modeltest.Words("1m"))
		small := w.Submit("work", modeltest.Words("1m"), modeltest.Consuming(1, "licence"))
		other := w.Submit("free", modeltest.Words("1m"))
		have("licence", 3, 2, 1)
		w.Want(first, types.JobStatusRunning, "")
		w.Want(second, types.JobStatusRunnable, "the job waits for 2 of the consumable resource licence")
		// it does not overtake the second one
		w.Want(small, types.JobStatusRunnable, "the job waits for 1 of the consumable resource licence")
		w.Want(other, types.JobStatusRunning, "")
		time.Sleep(90 * time.Second)
		have("licence", 3, 3, 0)
		w.Want(second, types.JobStatusRunning, "")
		w.Idle()
		have("licence", 3, 0, 3)

		w.Submit("free", modeltest.Consuming(2, "credit"), modeltest.Words("1m"))
		have("credit", 3, 2, 1)
		w.Idle()
		have("credit", 1, 0, 1)
		waits := w.Submit("free", modeltest.Consuming(2, "credit"))
		w.Want(waits, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for 2 of the consumable resource credit, more than its total quantity")
		list, err := do(w.listJobsByConsumableResource, &awsbatch.ListJobsByConsumableResourceInput{ConsumableResource: aws.String("credit"),
			Filters: []types.KeyValuesPair{{Name: aws.String("JOB_STATUS"), Values: []string{"RUNNABLE"}}}})
		if err != nil || len(list.Jobs) != 1 || *list.Jobs[0].JobArn != model.ARN(model.KindJob, waits) || *list.Jobs[0].Quantity != 2 {
			t.Errorf("jobs by resource: %+v, %v", list, err)
		}
		if _, err := do(w.updateConsumableResource, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("SET"), Quantity: aws.Int64(2)}); err != nil {
			t.Fatal(err)
		}
		w.Idle()
		w.Want(waits, types.JobStatusSucceeded, model.ReasonExited)
		have("credit", 0, 0, 0)
		_, err = do(w.updateConsumableResource, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("REMOVE"), Quantity: aws.Int64(1)})
		refused(t, err, "Cannot remove 1 from the total quantity of 0.")
		add := &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("ADD"), Quantity: aws.Int64(2), ClientToken: aws.String("once")}
		for _, want := range []int64{2, 2, 4} { // the token is valid for 8 hours
			if out, err := do(w.updateConsumableResource, add); err != nil || *out.TotalQuantity != want {
				t.Errorf("total %+v, %v; want %d", out, err, want)
			}
			time.Sleep(5 * time.Hour)
		}
	})
}

func TestArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 2, MemoryMiB: 8192})
		w.Register("work", "1", "512")
		id := w.Submit("work", modeltest.Array(5), modeltest.Words("1m"))
		w.Want(id, types.JobStatusPending, "")
		d := w.job(id)
		if got := fmt.Sprint(d.ArrayProperties.StatusSummary); *d.ArrayProperties.Size != 5 ||
			got != "map[FAILED:0 PENDING:0 RUNNABLE:3 RUNNING:2 STARTING:0 SUBMITTED:0 SUCCEEDED:0]" {
			t.Errorf("size %d, %s", *d.ArrayProperties.Size, got)
		}
		w.Want(id+":4", types.JobStatusRunnable, "")
		w.Idle()
		w.Want(id, types.JobStatusSucceeded, "")
		if len(w.IDs()) != 5 || w.Most != 2 {
			t.Errorf("%d children ran, %d at once; want 5 and 2", len(w.IDs()), w.Most)
		}
		for i, ran := range w.IDs() {
			index := w.Value(i, "AWS_BATCH_JOB_ARRAY_INDEX")
			if ran != id+":"+index || w.Value(i, "AWS_BATCH_JOB_ID") != ran || w.Value(i, "AWS_BATCH_JOB_ARRAY_SIZE") != "5" {
				t.Errorf("job %s has index %s and id %s", ran, index, w.Value(i, "AWS_BATCH_JOB_ID"))
			}
		}
		if child := w.job(id + ":3"); *child.ArrayProperties.Index != 3 || *child.JobId != id+":3" {
			t.Errorf("child: id %s, index %d", *child.JobId, *child.ArrayProperties.Index)
		}
	})
}

// TestStoppedArrayKeepsOtherEnds checks that stopping an array does not change the reason of a
// child that had ended before. Otherwise explain would report the user as the cause.
func TestStoppedArrayKeepsOtherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 4, MemoryMiB: 8192})
		w.Register("work", "1", "64")
		id := w.Submit("work", modeltest.Array(6), modeltest.Words("0s", "fail", "1m", "1h", "1h", "1h"))
		w.cancel(id, "no more")
		want := func(all ...string) {
			t.Helper()
			for i, want := range all {
				d := w.job(fmt.Sprintf("%s:%d", id, i))
				if got := fmt.Sprintf("%s %v %v", d.Status, *d.IsCancelled, *d.IsTerminated); got != want {
					t.Errorf("child %d: %s, want %s", i, got, want)
				}
			}
		}
		time.Sleep(2 * time.Minute)
		want("SUCCEEDED false false", "FAILED false false", "SUCCEEDED false false", "RUNNING true false")
		w.terminate(id, "all")
		w.Idle()
		want("SUCCEEDED false false", "FAILED false false", "SUCCEEDED false false", "FAILED false true", "FAILED false true", "FAILED false true")
		waits := w.Submit("work", modeltest.Array(6), modeltest.Words("1h"))
		w.cancel(waits, "no more")
		w.terminate(waits, "all")
		w.Idle()
		if d := w.job(waits + ":5"); !*d.IsCancelled || *d.IsTerminated || *d.StatusReason != "no more" {
			t.Errorf("a child that waited when its array was cancelled: %v %v %s", *d.IsCancelled, *d.IsTerminated, *d.StatusReason)
		}
	})
}

func TestStopInEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 8192})
		w.Register("work", "1", "512")
		runs := w.Submit("work", modeltest.Words("1h"), modeltest.Attempts(3))
		waits := w.Submit("work")
		alsoWaits := w.Submit("work")
		depends := w.Submit("work", modeltest.After(runs))

		w.cancel(runs, "not wanted")
		w.Want(runs, types.JobStatusRunning, "") // CancelJob has no effect on a running job
		w.cancel(waits, "not wanted")
		w.Want(waits, types.JobStatusFailed, "not wanted")
		w.terminate(depends, "not wanted")
		w.Want(depends, types.JobStatusFailed, "not wanted")
		w.terminate(alsoWaits, "enough")
		w.Want(alsoWaits, types.JobStatusFailed, "enough")
		w.terminate(runs, "enough")
		w.Want(runs, types.JobStatusFailed, "enough")
		if d := w.job(runs); len(d.Attempts) != 1 || !*d.IsTerminated || *d.Container.ExitCode != 143 {
			t.Errorf("terminated job: %d attempts, terminated %v, exit %d", len(d.Attempts), *d.IsTerminated, *d.Container.ExitCode)
		}
		w.terminate(runs, "again") // is not an error
		w.Want(runs, types.JobStatusFailed, "enough")
	})
}
