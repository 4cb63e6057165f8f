package source

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// observed is an observer of a target that answers with the current time, and its queries.
type observed struct {
	*Observer
	r *uitest.Replies
	// fails makes the target fail.
	mu    sync.Mutex
	fails bool
}

// queueNamed returns a queue with a job.
func queueNamed(name string) top.Queue {
	return top.Queue{Queue: jobqueue.Queue{Name: name, Jobs: map[types.JobStatus]int{types.JobStatusRunning: 1}}}
}

// observe runs an observer until the test ends.
func observe(t *testing.T, isLocal bool) *observed {
	o := &observed{r: &uitest.Replies{Known: map[string]uitest.Reply{"top": {}}}}
	o.r.Before = func(_ context.Context, _ string, s term.Streams) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.fails {
			return
		}
		_ = json.NewEncoder(s.Out).Encode(top.Snapshot{Target: "t", Time: time.Now(), Queues: []top.Queue{queueNamed("q")}})
	}
	c := newCommander(t.Context(), target.Options{})
	c.Instead = func(ctx context.Context, con *term.Console, words []string, document any) error {
		err := o.r.Answer(ctx, con, words, document)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.fails {
			return exit.Fail(exit.Problem, "no answer")
		}
		return err
	}
	o.Observer = newObserver(c, jobs.Options{Target: target.Options{Name: "nowhere"}}, isLocal)
	go o.Run(t.Context())
	return o
}

// setFails makes the target fail or answer.
func (o *observed) setFails(fails bool) {
	o.mu.Lock()
	o.fails = fails
	o.mu.Unlock()
}

// queries returns how many queries there were since the last call.
func (o *observed) queries() int {
	o.r.Mu.Lock()
	defer o.r.Mu.Unlock()
	n := len(o.r.Lines)
	o.r.Lines, o.r.Inputs = nil, nil
	return n
}

// watching watches until stop is called.
func (o *observed) watching(t *testing.T, publish func([]byte)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = o.Watch(ctx, publish) })
	return func() { cancel(); done.Wait() }
}

func TestObserverQueriesOnlyWhileWatched(t *testing.T) {
	for isLocal, every := range map[bool]time.Duration{true: time.Second, false: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := observe(t, isLocal)
			time.Sleep(24 * time.Hour)
			if n := o.queries(); n != 0 {
				t.Errorf("%d queries without a page", n)
			}
			var stops []func()
			for _, watchers := range []int{1, 2, 20} {
				for len(stops) < watchers {
					stops = append(stops, o.watching(t, func([]byte) {}))
				}
				if watchers == 1 {
					time.Sleep(every / 2) // between two queries
				}
				o.queries()
				time.Sleep(100 * every)
				if n := o.queries(); n != 100 {
					t.Errorf("local %v, %d watchers: %d queries in %v", isLocal, watchers, n, 100*every)
				}
			}
			for _, stop := range stops {
				stop()
			}
			time.Sleep(every)
			o.queries()
			time.Sleep(time.Hour)
			if n := o.queries(); n != 0 {
				t.Errorf("local %v: %d queries after the last page was closed", isLocal, n)
			}
			// A page that opens later is answered at once.
			stop := o.watching(t, func([]byte) {})
			synctest.Wait()
			if n := o.queries(); n != 1 {
				t.Errorf("local %v: %d queries when a page opens again", isLocal, n)
			}
			stop()
		})
	}
}

func TestObserverBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, false)
		o.setFails(true)
		var mu sync.Mutex
		var events []string
		stop := o.watching(t, func(data []byte) { mu.Lock(); events = append(events, string(data)); mu.Unlock() })
		defer stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// Pauses of 10, 20 and 40 seconds, and then of a minute.
		if n := o.queries(); n < 10 || n > 13 {
			t.Errorf("%d queries of a target that fails, in 10 minutes", n)
		}
		mu.Lock()
		if !strings.Contains(events[len(events)-1], `"problem":"no answer"`) {
			t.Errorf("events %q", events)
		}
		mu.Unlock()
		if s, err := o.Latest(t.Context()); s != nil || err == nil {
			t.Errorf("latest of a target that fails: %v, %v", s, err)
		}
		o.setFails(false)
		time.Sleep(longestPause + time.Second)
		o.queries()
		time.Sleep(time.Minute)
		if n := o.queries(); n != 12 {
			t.Errorf("%d queries in a minute after the target recovered", n)
		}
		mu.Lock()
		if last := events[len(events)-1]; strings.Contains(last, "problem") {
			t.Errorf("the last event is %s", last)
		}
		mu.Unlock()
	})
}

// TestDayOfWatching watches for a day: neither the rate of queries nor the memory grows.
func TestDayOfWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, false)
		stop := o.watching(t, func([]byte) {})
		synctest.Wait()
		time.Sleep(time.Millisecond)
		o.queries()
		for hour := range 24 {
			time.Sleep(time.Hour)
			if n := o.queries(); n != 720 {
				t.Fatalf("%d queries in hour %d", n, hour)
			}
			h := o.Past("q")
			if len(h) > mostSamples {
				t.Fatalf("%d samples after hour %d", len(h), hour)
			}
			if span := h[len(h)-1].At.Sub(h[0].At); span < time.Duration(hour)*time.Hour+57*time.Minute {
				t.Fatalf("the samples of hour %d span %v", hour, span)
			}
		}
		stop()
		if n := len(o.c.known); n > answersKept {
			t.Errorf("%d answers", n)
		}
	})
}

// TestHistoryGap leaves the pages closed for an hour: the chart has a gap there.
func TestHistoryGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, true)
		for range 3 {
			stop := o.watching(t, func([]byte) {})
			time.Sleep(10 * time.Second)
			stop()
			time.Sleep(time.Hour)
		}
		h := o.Past("q")
		gaps := 0
		for i, s := range h {
			if s.isGap {
				gaps++
				if !math.IsNaN(s.Value(1)) || i == 0 || i == len(h)-1 || h[i+1].At.Sub(s.At) < 59*time.Minute {
					t.Errorf("gap %d of %d at %v", i, len(h), s.At)
				}
			} else if s.Value(1) != 1 {
				t.Errorf("sample %d is %v", i, s.Value(1))
			}
		}
		if gaps != 2 {
			t.Errorf("%d gaps in %d samples", gaps, len(h))
		}
		if !slices.IsSortedFunc(h, func(a, b Sample) int { return a.At.Compare(b.At) }) {
			t.Error("the samples are not in order")
		}
	})
}

// TestGapsAreKept fills histories of two parts with a gap between them, until samples are dropped.
func TestGapsAreKept(t *testing.T) {
	for before := range 8 {
		h := &queueHistory{}
		at := time.Unix(0, 0)
		for range 100 + before {
			at = at.Add(time.Second)
			h.add(Sample{At: at})
		}
		left := at
		at = at.Add(time.Hour)
		back := at
		for range 3 * mostSamples {
			h.add(Sample{At: at})
			at = at.Add(time.Second)
		}
		kept := slices.ContainsFunc(h.samples, func(s Sample) bool { return s.isGap && !s.At.Before(left) && s.At.Before(back) })
		if begins := h.samples[0].At.Before(back); !begins || !kept {
			t.Errorf("%d samples before the gap: the gap is kept %v, the samples before it %v", 100+before, kept, begins)
		}
	}
}

// TestHistoryIsBounded adds samples at different rates, also with a gap before each. The newest and oldest are kept.
func TestHistoryIsBounded(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 5 * time.Second, 3 * time.Minute, time.Hour} {
		h := &queueHistory{}
		at := time.Unix(0, 0)
		for range 20 * mostSamples {
			at = at.Add(every)
			h.add(Sample{At: at})
			if len(h.samples) > mostSamples+1 {
				t.Fatalf("every %v: %d samples", every, len(h.samples))
			}
		}
		if first, last := h.samples[0].At, h.samples[len(h.samples)-1].At; first.Unix() > int64(every/time.Second) || at.Sub(last) > at.Sub(first)/100 {
			t.Errorf("every %v: %d samples from %v to %v", every, len(h.samples), first, last)
		}
	}
}

func TestQueueThatWasDeleted(t *testing.T) {
	o := newObserver(nil, jobs.Options{}, true)
	o.remember(&top.Snapshot{Time: time.Unix(1, 0), Queues: []top.Queue{queueNamed("a"), queueNamed("b")}})
	o.remember(&top.Snapshot{Time: time.Unix(2, 0), Queues: []top.Queue{queueNamed("b")}})
	if len(o.Past("a")) != 0 || len(o.Past("b")) != 2 {
		t.Errorf("%d samples of a deleted queue, %d of the other", len(o.Past("a")), len(o.Past("b")))
	}
}

func TestWatchPublishesVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, true)
		var versions []string
		stop := o.watching(t, func(data []byte) {
			var e struct{ Version, Problem string }
			if err := json.Unmarshal(data, &e); err != nil || e.Problem != "" {
				t.Errorf("%s, %v", data, err)
			}
			versions = append(versions, e.Version)
		})
		time.Sleep(10*time.Second + time.Millisecond)
		stop()
		// The first is of before the first answer.
		if len(versions) != 12 || versions[0] != "0" || len(slices.Compact(slices.Clone(versions))) != 12 {
			t.Errorf("versions %q", versions)
		}
	})
}

func TestLatestQueriesWhenOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, true)
		for i, wait := range []time.Duration{0, time.Second, 1500 * time.Millisecond, 0} {
			time.Sleep(wait)
			s, err := o.Latest(t.Context())
			if err != nil || s == nil {
				t.Fatal(err)
			}
			if n, want := o.queries(), []int{1, 0, 1, 0}[i]; n != want {
				t.Errorf("request %d: %d queries, want %d", i, n, want)
			}
		}
		// One that leaves gets an error, and does not make the next request fail.
		time.Sleep(time.Minute)
		left, leave := context.WithCancel(t.Context())
		leave()
		_, _ = o.Latest(left)
		if s, err := o.Latest(t.Context()); err != nil || s == nil {
			t.Errorf("after a request that left: %v", err)
		}
	})
}

// TestFirstRequestLeaves has a page that is left before the first answer.
func TestFirstRequestLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, true)
		left, leave := context.WithCancel(t.Context())
		leave()
		if s, err := o.Latest(left); s == nil && err == nil {
			t.Error("neither a snapshot nor an error")
		}
	})
}

func TestListedJobs(t *testing.T) {
	j := Listed(types.JobSummary{JobId: aws.String("i"), JobName: aws.String("n"), Status: types.JobStatusFailed, StatusReason: aws.String("why"), CreatedAt: aws.Int64(1),
		StartedAt: aws.Int64(2), StoppedAt: aws.Int64(3), JobDefinition: aws.String("arn:aws:batch:r:1:job-definition/d:4"),
		ArrayProperties: &types.ArrayPropertiesSummary{Size: aws.Int32(3), StatusSummary: map[string]int32{"FAILED": 2, "RUNNING": 0}}}, "q")
	want := joblist.Job{ID: "i", Name: "n", Status: "FAILED", Queue: "q", Definition: "d:4", Created: 1, Started: 2, Stopped: 3, Size: 3, Counts: map[string]int{"FAILED": 2}}
	want.Reason = j.Reason
	if fmt.Sprint(j) != fmt.Sprint(want) || !strings.HasPrefix(j.Reason, "why") {
		t.Errorf("%+v\nwant %+v", j, want)
	}
	if child := Listed(types.JobSummary{ArrayProperties: &types.ArrayPropertiesSummary{Index: aws.Int32(1), Size: aws.Int32(3)}}, ""); child.Size != 0 || child.Counts != nil {
		t.Errorf("a child is listed as %+v", child)
	}

	d := WithDetail(j, types.JobDetail{Status: types.JobStatusSucceeded, StartedAt: aws.Int64(20), StoppedAt: aws.Int64(30), StatusReason: aws.String("done"),
		Tags: map[string]string{"team": "a", client.RunTag: "r", client.WorkflowTag: "w"}, ArrayProperties: &types.ArrayPropertiesDetail{StatusSummary: map[string]int32{"SUCCEEDED": 3}}})
	want = joblist.Job{ID: "i", Name: "n", Status: "SUCCEEDED", Queue: "q", Definition: "d:4", Reason: d.Reason, Run: "r", Workflow: "w", Created: 1, Started: 20, Stopped: 30, Size: 3,
		Counts: map[string]int{"SUCCEEDED": 3}, Tags: map[string]string{"team": "a", client.RunTag: "r", client.WorkflowTag: "w"}}
	if fmt.Sprint(d) != fmt.Sprint(want) {
		t.Errorf("%+v\nwant %+v", d, want)
	}
	// What the ledger knows wins over tags, and a job without tags has been read.
	if d := WithDetail(joblist.Job{Run: "ledger"}, types.JobDetail{Tags: map[string]string{client.RunTag: "r"}}); d.Run != "ledger" {
		t.Errorf("the run is %q", d.Run)
	}
	if d := WithDetail(joblist.Job{}, types.JobDetail{}); d.Tags == nil {
		t.Error("a job without tags would be described again and again")
	}
	if d := WithDetail(joblist.Job{}, types.JobDetail{Status: types.JobStatusFailed, Container: &types.ContainerDetail{ExitCode: aws.Int32(3)}}); !strings.Contains(d.Reason, "3") {
		t.Errorf("the reason without the exit code: %q", d.Reason)
	}
}
