package model_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestReservationLeavesCapacity checks that one share alone gets half of the machine, so that a
// job of another share starts at once.
func TestReservationLeavesCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192})
		w.Register("work", "1", "64")
		w.FairQueue(types.FairsharePolicy{ComputeReservation: aws.Int32(50)})
		w.Submit("work", modeltest.In("a", 0), modeltest.Array(20), modeltest.Words("1h"))
		if w.Running() != 4 {
			t.Errorf("%d of a alone, want 4 of 8", w.Running())
		}
		late := w.Submit("work", modeltest.In("b", 0), modeltest.Words("1m"))
		w.Want(late, types.JobStatusRunning, "")
		if w.Running() != 6 {
			t.Errorf("%d of two shares, want 6 of 8", w.Running())
		}
		time.Sleep(5 * time.Minute)
		w.Want(late, types.JobStatusSucceeded, model.ReasonExited)
		w.Idle()
	})
}
