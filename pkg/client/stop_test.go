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

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func TestStop(t *testing.T) {
	for _, c := range []struct {
		status types.JobStatus
		array  bool
		call   string
	}{
		{"SUBMITTED", false, "TerminateJob"}, {"PENDING", false, "TerminateJob"}, {"RUNNABLE", false, "TerminateJob"},
		{"STARTING", false, "TerminateJob"}, {"RUNNING", false, "TerminateJob"}, {"PENDING", true, "TerminateJob"},
		{"SUCCEEDED", false, ""}, {"FAILED", true, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, client := newFake(t)
			f.Jobs["1"] = clienttest.Stoppable(f, c.status, c.array)
			got, err := client.Stop(t.Context(), "1", "enough")
			if err != nil || got.Call != c.call || got.Before != c.status || !batch.HasEnded(got.Job.Status) {
				t.Errorf("%s: %+v, %v", c.status, got, err)
			}
			want := ""
			if c.call != "" {
				want = c.call + " enough;"
			}
			if f.Stopped["1"] != want {
				t.Errorf("%s: calls %q, want %q", c.status, f.Stopped["1"], want)
			}
		})
	}
}

func TestStopBoundedByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "RUNNING", ""))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := c.Stop(ctx, "1", "")
		want := "job a (1): sent TerminateJob, but it was still RUNNING when batchctl stopped waiting"
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
		f.Jobs["1"] = clienttest.Stoppable(f, "RUNNING", false)
		f.Faults["TerminateJob"] = clienttest.Times(10, func(serve func() *http.Response) (*http.Response, error) {
			return clienttest.Answer(500, "ServerException", `{"message":"oops"}`), nil
		})
		if got, err := c.Stop(t.Context(), "1", ""); err != nil || got.Job.Status != "FAILED" {
			t.Errorf("%+v, %v", got, err)
		}
		f.Faults["TerminateJob"] = clienttest.Times(10, clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`))
		delete(f.Stopped, "1")
		f.Jobs["1"] = clienttest.Stoppable(f, "RUNNING", false)
		if got, err := c.Stop(t.Context(), "1", ""); err == nil || got.Call != "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestStopAll checks that each unfinished job gets the call, that a rejected or unknown job
// does not affect the others, and that all are described together.
func TestStopAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		ended := func(id string, status types.JobStatus) func(time.Duration) *types.JobDetail {
			return func(time.Duration) *types.JobDetail {
				job := &types.JobDetail{JobName: aws.String("job" + id), Status: status}
				if f.Stopped[id] != "" {
					job.Status = types.JobStatusFailed
				}
				return job
			}
		}
		f.Jobs["1"], f.Jobs["2"], f.Jobs["3"] = ended("1", "RUNNING"), ended("2", "RUNNABLE"), ended("3", "SUCCEEDED")
		f.Jobs["4"] = ended("4", "STARTING")
		f.Faults["TerminateJob"] = []clienttest.Fault{clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`)}
		got := c.StopAll(t.Context(), []string{"4", "1", "2", "3", "gone"}, "")
		var lines []string
		for _, s := range got {
			lines = append(lines, strings.TrimSpace(string(s.Before)+" "+s.Call+" "+string(s.Job.Status)))
		}
		denied := 0
		for i := range 3 {
			if err := got[i].Err; err != nil && strings.Contains(err.Error(), "AccessDeniedException") {
				denied++
			} else if got[i].Call != "TerminateJob" || got[i].Job.Status != "FAILED" {
				t.Errorf("%+v", got[i])
			}
		}
		if denied != 1 || lines[3] != "SUCCEEDED  SUCCEEDED" || got[3].Err != nil {
			t.Errorf("%q, %d denied", lines, denied)
		}
		if !isMissing(got[4].Err) {
			t.Errorf("missing job: %v", got[4].Err)
		}
		if n := f.Count("DescribeJobs"); n > 3 {
			t.Errorf("%d DescribeJobs for five jobs", n)
		}
	})
}

// TestStopOfAnArray checks that children that keep running after their parent has ended are
// terminated one by one, whatever the summary counts.
func TestStopOfAnArray(t *testing.T) {
	for _, lives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			f.Jobs["1"] = func(time.Duration) *types.JobDetail {
				job := &types.JobDetail{JobName: aws.String("a"), Status: types.JobStatusPending, ArrayProperties: &types.ArrayPropertiesDetail{
					Size: aws.Int32(3), StatusSummary: map[string]int32{"RUNNING": 1, "FAILED": 2}}}
				if f.Stopped["1"] != "" {
					job.Status = types.JobStatusFailed
				}
				if f.Stopped["1:2"] != "" {
					f.Listed = nil
				}
				return job
			}
			if lives {
				f.Listed = []types.JobSummary{{JobId: aws.String("1:2"), JobName: aws.String("a"), Status: types.JobStatusRunning}}
			}
			got, err := c.Stop(t.Context(), "1", "enough")
			want := map[bool]int{true: 1}[lives]
			if err != nil || got.Call != "TerminateJob" || got.Children != want || f.Stopped["1"] != "TerminateJob enough;" {
				t.Errorf("%+v, %v; %v", got, err, f.Stopped)
			}
			if lives != (f.Stopped["1:2"] == "TerminateJob enough;") {
				t.Errorf("the child was sent %q", f.Stopped["1:2"])
			}
		})
	}
}

// TestStopAgain checks that a call that was answered without effect is repeated.
func TestStopAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Stoppable(f, "RUNNING", false)
		f.Faults["TerminateJob"] = clienttest.Times(2, clienttest.Reply(200, "", "{}"))
		got, err := c.Stop(t.Context(), "1", "")
		if err != nil || got.Job.Status != "FAILED" || f.Count("TerminateJob") != 3 {
			t.Errorf("%+v, %v after %d calls", got, err, f.Count("TerminateJob"))
		}
	})
}
