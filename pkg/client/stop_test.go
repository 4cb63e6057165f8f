package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// stoppable is a job that ends 20 s after the call that its status needs.
func stoppable(f *fake, status types.JobStatus, array bool) func(time.Duration) *types.JobDetail {
	var asked time.Duration
	return func(d time.Duration) *types.JobDetail {
		job := &types.JobDetail{JobName: aws.String("a"), Status: status}
		if array {
			job.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(2)}
		}
		waits := status == "SUBMITTED" || status == "PENDING" || status == "RUNNABLE"
		works := strings.Contains(f.stopped["1"], "TerminateJob") || waits && strings.Contains(f.stopped["1"], "CancelJob")
		if works && asked == 0 {
			asked = d
		}
		if works && d-asked > 20*time.Second {
			job.Status = types.JobStatusFailed
		}
		return job
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		status types.JobStatus
		array  bool
		call   string
	}{
		{"SUBMITTED", false, "CancelJob"}, {"PENDING", false, "CancelJob"}, {"RUNNABLE", false, "CancelJob"},
		{"STARTING", false, "TerminateJob"}, {"RUNNING", false, "TerminateJob"}, {"PENDING", true, "TerminateJob"},
		{"SUCCEEDED", false, ""}, {"FAILED", true, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, client := newFake(t)
			f.jobs["1"] = stoppable(f, c.status, c.array)
			got, err := client.Stop(t.Context(), "1", "enough")
			if err != nil || got.Call != c.call || got.Before != c.status || !Ended(got.Job.Status) {
				t.Errorf("%s: %+v, %v", c.status, got, err)
			}
			want := ""
			if c.call != "" {
				want = c.call + " enough;"
			}
			if f.stopped["1"] != want {
				t.Errorf("%s: calls %q, want %q", c.status, f.stopped["1"], want)
			}
		})
	}
}

// TestStopOfAJobThatStarts: CancelJob came too late and did nothing.
func TestStopOfAJobThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.jobs["1"] = func(time.Duration) *types.JobDetail {
			status := types.JobStatusRunnable
			switch f.stopped["1"] {
			case "CancelJob stopped with batchctl;":
				status = types.JobStatusStarting
			case "CancelJob stopped with batchctl;TerminateJob stopped with batchctl;":
				status = types.JobStatusFailed
			}
			return &types.JobDetail{JobName: aws.String("a"), Status: status}
		}
		got, err := c.Stop(t.Context(), "1", "")
		if err != nil || got.Call != "TerminateJob" || got.Before != "RUNNABLE" || got.Job.Status != "FAILED" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestStopBoundedByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.jobs["1"] = life("a", stage{0, "RUNNING", ""})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := c.Stop(ctx, "1", "")
		want := "job a (1) was sent TerminateJob, and was still RUNNING when the wait ended"
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) || got.Call != "TerminateJob" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestStopFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		if _, err := c.Stop(t.Context(), "1", ""); err == nil || !strings.Contains(err.Error(), "no job 1") {
			t.Error(err)
		}
		f.jobs["1"] = stoppable(f, "RUNNING", false)
		f.faults["TerminateJob"] = times(10, func(serve func() *http.Response) (*http.Response, error) {
			return answer(500, "ServerException", `{"message":"oops"}`), nil
		})
		if got, err := c.Stop(t.Context(), "1", ""); err != nil || got.Job.Status != "FAILED" {
			t.Errorf("%+v, %v", got, err)
		}
		f.faults["TerminateJob"] = times(10, says(403, "AccessDeniedException", `{"message":"no"}`))
		delete(f.stopped, "1")
		f.jobs["1"] = stoppable(f, "RUNNING", false)
		if got, err := c.Stop(t.Context(), "1", ""); err == nil || got.Call != "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
