package client

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// TestQueueStatus checks that one page of each status is read, and that statuses with more jobs
// are reported.
func TestQueueStatus(t *testing.T) {
	f, c := newFake(t)
	f.Listed = []types.JobSummary{
		clienttest.Listed(idA, "a", "cpu", "RUNNABLE", 1),
		clienttest.Listed(idB, "b", "cpu", "RUNNABLE", 2), // the fake's second page
		clienttest.Listed(idC, "c", "cpu", "RUNNING", 3),
		clienttest.Listed(idB, "b", "gpu", "RUNNING", 4),
		clienttest.Listed(idC, "d", "cpu", "SUCCEEDED", 3),
	}
	status, err := c.QueueStatus(t.Context(), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range status.Jobs {
		got = append(got, *j.JobName)
	}
	if !slices.Equal(got, []string{"c", "a"}) || !slices.Equal(status.More, []types.JobStatus{"RUNNABLE"}) {
		t.Errorf("jobs %v, more %v", got, status.More)
	}
	if status.Snapshot == nil || *status.Snapshot.FrontOfQueue.Jobs[0].JobArn != "cpu" || status.SnapshotErr != nil {
		t.Errorf("%+v", status)
	}
	if f.Count("ListJobs") != 5 || f.Count("GetJobQueueSnapshot") != 1 {
		t.Errorf("calls: %v", f.Calls)
	}
}

// TestQueueStatusOfAChangingJob checks that a job whose status changes between two calls appears
// once, with its last status.
func TestQueueStatusOfAChangingJob(t *testing.T) {
	f, c := newFake(t)
	f.Listed = []types.JobSummary{clienttest.Listed(idA, "a", "cpu", "RUNNABLE", 1), clienttest.Listed(idA, "a", "cpu", "RUNNING", 1)}
	status, err := c.QueueStatus(t.Context(), "cpu")
	if err != nil || len(status.Jobs) != 1 || status.Jobs[0].Status != "RUNNING" {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestDepthOfAChangingJob checks that Depth counts such a job once, too.
func TestDepthOfAChangingJob(t *testing.T) {
	f, c := newFake(t)
	f.Listed = []types.JobSummary{clienttest.Listed(idA, "a", "cpu", "RUNNABLE", 1), clienttest.Listed(idA, "a", "cpu", "RUNNING", 1)}
	depth, err := c.Depth(t.Context(), "cpu")
	if err != nil || depth["RUNNABLE"] != 0 || depth["RUNNING"] != 1 {
		t.Errorf("%v, %v", depth, err)
	}
}

// TestQueueStatusWithoutASnapshot checks that a caller who is not allowed to read a snapshot gets
// the jobs. A busy service is an error.
func TestQueueStatusWithoutASnapshot(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  clienttest.Fault
		denied bool
	}{
		{"not allowed", clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`), true},
		{"not known", clienttest.Reply(404, "UnknownOperationException", `{}`), true},
		{"busy", clienttest.Reply(429, "TooManyRequestsException", `{"message":"slow down"}`), false},
		{"gone", clienttest.RefusedConnection, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, client := newFake(t)
			f.Faults["GetJobQueueSnapshot"] = clienttest.Times(9, c.fault)
			status, err := client.QueueStatus(t.Context(), "cpu")
			if c.denied != (err == nil) || c.denied && status.SnapshotErr == nil {
				t.Errorf("%s: %+v, %v", c.name, status, err)
			}
		})
	}
	f, c := newFake(t)
	f.Faults["ListJobs"] = clienttest.Times(9, clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`))
	if _, err := c.QueueStatus(t.Context(), "cpu"); err == nil {
		t.Error("a status without jobs")
	} else if _, ok := errors.AsType[*RefusedError](err); !ok {
		t.Error(err)
	}
}
