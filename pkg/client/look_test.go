package client

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// A look takes one page of each status, and says where there is more.
func TestLook(t *testing.T) {
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

// A job that moves on between two calls is shown once, where it was seen last.
func TestLookAtAMovingJob(t *testing.T) {
	f, c := newFake(t)
	f.Listed = []types.JobSummary{clienttest.Listed(idA, "a", "cpu", "RUNNABLE", 1), clienttest.Listed(idA, "a", "cpu", "RUNNING", 1)}
	look, err := c.QueueStatus(t.Context(), "cpu")
	if err != nil || len(look.Jobs) != 1 || look.Jobs[0].Status != "RUNNING" {
		t.Errorf("%+v, %v", look, err)
	}
}

// Who may not see a snapshot sees the jobs; a busy service is an error.
func TestLookWithoutASnapshot(t *testing.T) {
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
