package model_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestTimeLimitActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("huge", "64", "64")
		w.Register("work", "2", "64")
		w.Environment("tiny", types.CRTypeEc2, 1)
		w.Queue("main", []string{"tiny"}, func(in *awsbatch.CreateJobQueueInput) {
			in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{
				{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600), Reason: aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"), State: "RUNNABLE"},
				{Action: "CANCEL", MaxTimeSeconds: aws.Int32(3600), Reason: aws.String("MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"), State: "RUNNABLE"}}
		})
		huge, wide := w.Submit("huge", modeltest.To("main")), w.Submit("work", modeltest.To("main"), modeltest.Array(2))
		elsewhere := w.Submit("huge")
		time.Sleep(599 * time.Second)
		if d := w.Task(huge); d.State != model.Runnable {
			t.Errorf("after 599 s: %s", d.State)
		}
		time.Sleep(2 * time.Second)
		w.Want(huge, types.JobStatusFailed, "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
		if !w.Task(huge).Cancelled {
			t.Error("the job does not count as cancelled")
		}
		w = w.Restart(modeltest.Options{}).Recover() // time continues
		time.Sleep(2997 * time.Second)
		if d := w.Task(wide); d.State != model.Pending {
			t.Errorf("after 3598 s: %s", d.State)
		}
		time.Sleep(3 * time.Second)
		w.Want(wide+":1", types.JobStatusFailed, "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE")
		w.Want(wide, types.JobStatusFailed, model.ReasonChild)
		time.Sleep(48 * time.Hour)
		if d := w.Task(elsewhere); d.State != model.Runnable {
			t.Errorf("in a queue without actions: %s", d.State)
		}
		w.Terminate(elsewhere, "enough")
		w.Idle()
	})
}

// TestOversizedRequestsReserveNothing checks that a job reserves no consumable resource if it
// asks for more than exists, or for a deleted one. Later jobs get it.
func TestOversizedRequestsReserveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "64")
		for _, name := range []string{"a", "b", "gone"} {
			w.Consumable(name, model.Replenishable, 5)
		}
		holder := w.Submit("work", modeltest.Consuming(5, "gone"), modeltest.Words("1h"))
		removed := w.Submit("work", modeltest.Consuming(5, "a", "gone"))
		w.Delete(model.ResourceOf(model.KindConsumable, "gone"))
		tooMuch := w.Submit("work", modeltest.Consuming(6, "a", "b"))
		late := w.Submit("work", modeltest.Consuming(5, "a", "b"))
		w.Want(holder, types.JobStatusRunning, "")
		w.Want(removed, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the consumable resource gone does not exist")
		w.Want(tooMuch, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for 6 of the consumable resource a, more than its total quantity")
		w.Want(late, types.JobStatusSucceeded, model.ReasonExited)
		for _, id := range []string{removed, tooMuch} {
			w.Terminate(id, "enough")
		}
	})
}
