package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// watched runs Watch and returns events as `name STATUS reason last`.
func watched(ctx context.Context, c *Client, ids ...string) (lines []string, err error) {
	for e, err := range c.Watch(ctx, ids...) {
		if err != nil {
			return lines, err
		}
		line := *e.Job.JobName + " " + string(e.Status) + " " + aws.ToString(e.Job.StatusReason)
		if e.Last {
			line += " last"
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines, nil
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "SUBMITTED", ""), clienttest.At(time.Second, "RUNNABLE", ""),
			clienttest.At(20*time.Second, "RUNNABLE", "no capacity"), clienttest.At(time.Minute, "RUNNING", ""), clienttest.At(time.Hour, "SUCCEEDED", ""))
		f.Jobs["2"] = clienttest.Life("b", clienttest.At(30*time.Second, "PENDING", ""), clienttest.At(2*time.Hour, "FAILED", "exit 1"))
		got, err := watched(t.Context(), c, "1", "2", "1")
		want := []string{"a SUBMITTED", "a RUNNABLE", "a RUNNABLE no capacity", "b PENDING", "a RUNNING", "a SUCCEEDED", "b FAILED exit 1 last"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if d := time.Since(f.Start); d < 2*time.Hour || d > 2*time.Hour+pollMost*6/5 {
			t.Errorf("ended after %v", d)
		}
		if n, most := f.Count("DescribeJobs"), int(2*time.Hour/(pollMost*4/5))+50; n > most {
			t.Errorf("%d calls in two hours, want at most %d", n, most)
		}
	})
}

func TestWatchSeesTheSummaryOfAnArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = func(d time.Duration) *types.JobDetail {
			done := min(int32(d/(10*time.Second)), 3)
			status := types.JobStatusPending
			if done == 3 {
				status = types.JobStatusSucceeded
			}
			return &types.JobDetail{JobName: aws.String("a"), Status: status, ArrayProperties: &types.ArrayPropertiesDetail{
				Size: aws.Int32(3), StatusSummary: map[string]int32{"SUCCEEDED": done}}}
		}
		var since []time.Duration
		for e, err := range c.Watch(t.Context(), "1") {
			if err != nil {
				t.Fatal(err)
			}
			since = append(since, e.Since.Sub(f.Start).Truncate(10*time.Second))
		}
		if diff := cmp.Diff([]time.Duration{0, 0, 0, 30 * time.Second}, since); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWatchManyJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		var ids []string
		for i := range 250 {
			ids = append(ids, clienttest.TestID(i))
			f.Jobs[ids[i]] = clienttest.Life(fmt.Sprint(i), clienttest.At(0, "SUCCEEDED", ""))
		}
		got, err := watched(t.Context(), c, ids...)
		if err != nil || len(got) != 250 || got[7] != "7 SUCCEEDED" || got[249] != "249 SUCCEEDED last" {
			t.Errorf("%d events, %v", len(got), err)
		}
		if n := f.Count("DescribeJobs"); n != 3 {
			t.Errorf("%d calls for 250 jobs, want 3", n)
		}
	})
}

func TestWatchFaults(t *testing.T) {
	running := clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(10*time.Minute, "SUCCEEDED", ""))
	healthy := func(serve func() *http.Response) (*http.Response, error) { return serve(), nil }
	var bursts []clienttest.Fault // eight, of a minute and more each
	for range 8 {
		bursts = append(append(bursts, clienttest.Times(40, clienttest.Reply(500, "ServerException", `{"message":"oops"}`))...), healthy)
	}
	for _, c := range []struct {
		name   string
		faults []clienttest.Fault
		events int
		err    string
		within time.Duration
	}{
		{"unreachable from the start", clienttest.Times(99, clienttest.RefusedConnection), 0, "nothing was sent", time.Minute},
		{"unreachable later", append([]clienttest.Fault{healthy}, clienttest.Times(20, clienttest.RefusedConnection)...), 2, "", time.Hour},
		{"errors at the start", clienttest.Times(20, clienttest.Reply(500, "ServerException", `{"message":"oops"}`)), 2, "", time.Hour},
		{"throttled at the start", clienttest.Times(20, clienttest.Throttle()), 2, "", time.Hour},
		{"bad answers later", append([]clienttest.Fault{healthy}, clienttest.Times(20, clienttest.Reply(200, "", `{"jobs":[`))...), 2, "", time.Hour},
		{"errors again and again", bursts, 2, "", time.Hour},
		{"always errors", append([]clienttest.Fault{healthy}, clienttest.Times(9999, clienttest.Reply(500, "ServerException", `{"message":"oops"}`))...), 1, "ServerException: oops", 10 * time.Minute},
		{"not allowed", append([]clienttest.Fault{healthy}, clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`)), 1, "AccessDeniedException: no", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, client := newFake(t)
				f.Jobs["1"] = running
				f.Faults["DescribeJobs"] = c.faults
				got, err := watched(t.Context(), client, "1")
				if len(got) != c.events || (err == nil) != (c.err == "") {
					t.Errorf("%q, %v", got, err)
				}
				if err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				if d := time.Since(f.Start); d > c.within {
					t.Errorf("took %v", d)
				}
			})
		})
	}
}

func TestWatchMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["late"] = clienttest.Life("late", clienttest.At(50*time.Second, "SUCCEEDED", ""))
		got, err := watched(t.Context(), c, "late", "never")
		if e, ok := errors.AsType[*MissingError](err); !ok || !cmp.Equal(e.IDs, []string{"never"}) || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
		if d := time.Since(f.Start); d < JustNow {
			t.Errorf("gave up after %v", d)
		}
	})
}

func TestWatchEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "RUNNING", ""))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := watched(ctx, c, "1")
		if len(got) != 1 || !errors.Is(err, context.DeadlineExceeded) || time.Since(f.Start) != time.Minute {
			t.Errorf("%q, %v after %v", got, err, time.Since(f.Start))
		}
	})
}

func TestWatchNothing(t *testing.T) {
	f, c := newFake(t)
	if got, err := watched(t.Context(), c); len(got) != 0 || err != nil || len(f.Calls) != 0 {
		t.Error(got, err, f.Calls)
	}
}

func TestDescribe(t *testing.T) {
	f, c := newFake(t)
	f.Jobs["1"], f.Jobs["2"] = clienttest.Life("a", clienttest.At(0, "RUNNING", "")), clienttest.Life("b", clienttest.At(0, "RUNNING", ""))
	jobs, err := c.Describe(t.Context(), "2", "x", "1", "y")
	if len(jobs) != 2 || *jobs[0].JobName != "b" || *jobs[1].JobName != "a" {
		t.Errorf("%+v", jobs)
	}
	if e, ok := errors.AsType[*MissingError](err); !ok || !cmp.Equal(e.IDs, []string{"x", "y"}) {
		t.Error(err)
	}
}
