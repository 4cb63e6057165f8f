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
	look, err := c.QueueStatus(t.Context(), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range look.Jobs {
		got = append(got, *j.JobName)
	}
	if !slices.Equal(got, []string{"c", "a"}) || !slices.Equal(look.More, []types.JobStatus{"RUNNABLE"}) {
		t.Errorf("jobs %v, more %v", got, look.More)
	}
	if look.Snapshot == nil || *look.Snapshot.FrontOfQueue.Jobs[0].JobArn != "cpu" || look.SnapshotErr != nil {
		t.Errorf("%+v", look)
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
	look, err := c.QueueStatus(t.Context(), "cpu")
	if err != nil || len(look.Jobs) != 1 || look.Jobs[0].Status != "RUNNING" {
		t.Errorf("%+v, %v", look, err)
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
			look, err := client.QueueStatus(t.Context(), "cpu")
			if c.denied != (err == nil) || c.denied && look.SnapshotErr == nil {
				t.Errorf("%s: %+v, %v", c.name, look, err)
			}
		})
	}
	f, c := newFake(t)
	f.Faults["ListJobs"] = clienttest.Times(9, clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`))
	if _, err := c.QueueStatus(t.Context(), "cpu"); err == nil {
		t.Error("a look without jobs")
	} else if _, ok := errors.AsType[*RefusedError](err); !ok {
		t.Error(err)
	}
}
