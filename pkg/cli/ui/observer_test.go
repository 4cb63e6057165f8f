package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// observed is an observer of a target that answers with the current time, and its queries.
type observed struct {
	*observer
	r *replies
	// fails makes the target fail.
	mu    sync.Mutex
	fails bool
}

// observe runs an observer until the test ends.
func observe(t *testing.T, isLocal bool) *observed {
	o := &observed{r: &replies{known: map[string]reply{"top": {}}}}
	o.r.before = func(_ context.Context, _ string, s term.Streams) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.fails {
			_, _ = io.WriteString(s.Err, "batchctl: no answer\n")
			return
		}
		_ = json.NewEncoder(s.Out).Encode(snapshot{Target: "t", Time: time.Now(), Queues: []queue{{Name: "q", Jobs: map[string]int{"RUNNING": 1}}}})
	}
	run := func(ctx context.Context, args []string, s term.Streams) int {
		status := o.r.run(ctx, args, s)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.fails {
			return 1
		}
		return status
	}
	o.observer = newObserver(newCommander(t.Context(), run, target.Options{}), jobs.Options{Target: target.Options{Name: "nowhere"}}, isLocal)
	go o.run(t.Context())
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
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	n := len(o.r.lines)
	o.r.lines, o.r.inputs = nil, nil
	return n
}

// watching watches until stop is called.
func (o *observed) watching(t *testing.T, publish func([]byte)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = o.watch(ctx, publish) })
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
		if s, err := o.latest(t.Context()); s != nil || err == nil {
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
			h := o.past("q")
			if len(h) > mostSamples {
				t.Fatalf("%d samples after hour %d", len(h), hour)
			}
			if span := h[len(h)-1].at.Sub(h[0].at); span < time.Duration(hour)*time.Hour+57*time.Minute {
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
		h := o.past("q")
		gaps := 0
		for i, s := range h {
			if s.isGap {
				gaps++
				if !math.IsNaN(s.value(1)) || i == 0 || i == len(h)-1 || h[i+1].at.Sub(s.at) < 59*time.Minute {
					t.Errorf("gap %d of %d at %v", i, len(h), s.at)
				}
			} else if s.value(1) != 1 {
				t.Errorf("sample %d is %v", i, s.value(1))
			}
		}
		if gaps != 2 {
			t.Errorf("%d gaps in %d samples", gaps, len(h))
		}
		if !slices.IsSortedFunc(h, func(a, b sample) int { return a.at.Compare(b.at) }) {
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
			h.add(sample{at: at})
		}
		left := at
		at = at.Add(time.Hour)
		back := at
		for range 3 * mostSamples {
			h.add(sample{at: at})
			at = at.Add(time.Second)
		}
		kept := slices.ContainsFunc(h.samples, func(s sample) bool { return s.isGap && !s.at.Before(left) && s.at.Before(back) })
		if begins := h.samples[0].at.Before(back); !begins || !kept {
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
			h.add(sample{at: at})
			if len(h.samples) > mostSamples+1 {
				t.Fatalf("every %v: %d samples", every, len(h.samples))
			}
		}
		if first, last := h.samples[0].at, h.samples[len(h.samples)-1].at; first.Unix() > int64(every/time.Second) || at.Sub(last) > at.Sub(first)/100 {
			t.Errorf("every %v: %d samples from %v to %v", every, len(h.samples), first, last)
		}
	}
}

func TestQueueThatWasDeleted(t *testing.T) {
	o := newObserver(nil, jobs.Options{}, true)
	o.remember(&snapshot{Time: time.Unix(1, 0), Queues: []queue{{Name: "a"}, {Name: "b"}}})
	o.remember(&snapshot{Time: time.Unix(2, 0), Queues: []queue{{Name: "b"}}})
	if len(o.past("a")) != 0 || len(o.past("b")) != 2 {
		t.Errorf("%d samples of a deleted queue, %d of the other", len(o.past("a")), len(o.past("b")))
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
			s, err := o.latest(t.Context())
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
		_, _ = o.latest(left)
		if s, err := o.latest(t.Context()); err != nil || s == nil {
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
		if s, err := o.latest(left); s == nil && err == nil {
			t.Error("neither a snapshot nor an error")
		}
	})
}

func TestListedJobs(t *testing.T) {
	j := listed(types.JobSummary{JobId: aws.String("i"), JobName: aws.String("n"), Status: types.JobStatusFailed, StatusReason: aws.String("why"), CreatedAt: aws.Int64(1),
		StartedAt: aws.Int64(2), StoppedAt: aws.Int64(3), JobDefinition: aws.String("arn:aws:batch:r:1:job-definition/d:4"),
		ArrayProperties: &types.ArrayPropertiesSummary{Size: aws.Int32(3), StatusSummary: map[string]int32{"FAILED": 2, "RUNNING": 0}}}, "q")
	want := joblist.Job{ID: "i", Name: "n", Status: "FAILED", Queue: "q", Definition: "d:4", Created: 1, Started: 2, Stopped: 3, Size: 3, Counts: map[string]int{"FAILED": 2}}
	want.Reason = j.Reason
	if fmt.Sprint(j) != fmt.Sprint(want) || !strings.HasPrefix(j.Reason, "why") {
		t.Errorf("%+v\nwant %+v", j, want)
	}
	if child := listed(types.JobSummary{ArrayProperties: &types.ArrayPropertiesSummary{Index: aws.Int32(1), Size: aws.Int32(3)}}, ""); child.Size != 0 || child.Counts != nil {
		t.Errorf("a child is listed as %+v", child)
	}

	d := withDetail(j, types.JobDetail{Status: types.JobStatusSucceeded, StartedAt: aws.Int64(20), StoppedAt: aws.Int64(30), StatusReason: aws.String("done"),
		Tags: map[string]string{"team": "a", client.RunTag: "r", client.WorkflowTag: "w"}, ArrayProperties: &types.ArrayPropertiesDetail{StatusSummary: map[string]int32{"SUCCEEDED": 3}}})
	want = joblist.Job{ID: "i", Name: "n", Status: "SUCCEEDED", Queue: "q", Definition: "d:4", Reason: d.Reason, Run: "r", Workflow: "w", Created: 1, Started: 20, Stopped: 30, Size: 3,
		Counts: map[string]int{"SUCCEEDED": 3}, Tags: map[string]string{"team": "a", client.RunTag: "r", client.WorkflowTag: "w"}}
	if fmt.Sprint(d) != fmt.Sprint(want) {
		t.Errorf("%+v\nwant %+v", d, want)
	}
	// What the ledger knows wins over tags, and a job without tags has been read.
	if d := withDetail(joblist.Job{Run: "ledger"}, types.JobDetail{Tags: map[string]string{client.RunTag: "r"}}); d.Run != "ledger" {
		t.Errorf("the run is %q", d.Run)
	}
	if d := withDetail(joblist.Job{}, types.JobDetail{}); d.Tags == nil {
		t.Error("a job without tags would be described again and again")
	}
	if d := withDetail(joblist.Job{}, types.JobDetail{Status: types.JobStatusFailed, Container: &types.ContainerDetail{ExitCode: aws.Int32(3)}}); !strings.Contains(d.Reason, "3") {
		t.Errorf("the reason without the exit code: %q", d.Reason)
	}
}

func TestTopics(t *testing.T) {
	s := serverOf(t, recording(), nil)
	for _, name := range []string{"queues", "jobs", "job:a", "workflow:a", "log:a", "log:a:1", "log:a#1"} {
		if topic, ok := (&eventStream{core: s.core}).topic(name); !ok || topic.Name != name || topic.Run == nil {
			t.Errorf("topic %q is refused", name)
		}
	}
	for _, name := range []string{"", "queues:a", "job", "job:", "job:-x", "log:--follow", "workflow:-", "jobs:a", "status:a", "explain:a"} {
		if _, ok := (&eventStream{core: s.core}).topic(name); ok {
			t.Errorf("topic %q is accepted", name)
		}
	}
	for query, want := range map[string]int{"?topic=nope": 404, "?topic=job:-x": 404, "?topic=" + strings.Repeat("queues&topic=", mostTopics) + "queues": 404} {
		if w := get(s.handler(), "/events"+query); w.Code != want {
			t.Errorf("/events%s: status %d", query, w.Code)
		}
	}
}

// published runs a topic for a time and returns what it published.
func published(t *testing.T, run func(context.Context, func([]byte)) error, during time.Duration) (events []string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	err = run(ctx, func(data []byte) { events = append(events, string(data)) })
	return slices.Compact(events), err // the hub compares, too
}

// TestJobTopic publishes a new version only if more than a duration changes.
func TestJobTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recording()
		s := &server{core: newCore(t.Context(), r.run, options{}, target.Local)}
		line := "status " + prepareID
		first := r.known[line].out
		n := 0
		r.before = func(context.Context, string, term.Streams) {
			n++
			switch {
			case n <= 10:
				r.set(line, strings.NewReplacer(`"ranMs": `, fmt.Sprintf(`"ranMs": %d`, n), `"waitedMs": `, fmt.Sprintf(`"waitedMs": %d`, n)).Replace(first))
			case n <= 20:
				r.set(line, strings.Replace(first, `"SUCCEEDED"`, `"FAILED"`, 1))
			default:
				r.mu.Lock()
				r.known[line] = reply{err: "batchctl: no answer\n", status: 1}
				r.mu.Unlock()
			}
		}
		if !strings.Contains(first, `"ranMs": `) || !strings.Contains(first, `"waitedMs": `) {
			t.Fatal("the recording has no durations")
		}
		topic, _ := (&eventStream{core: s.core}).topic("job:" + prepareID)
		events, err := published(t, topic.Run, 30*time.Second)
		if len(events) != 3 || err != nil || !strings.Contains(events[2], "no answer") {
			t.Errorf("%q, %v", events, err)
		}
		if n < 29 || n > 31 {
			t.Errorf("%d commands in 30 seconds", n)
		}
	})
}

// TestEventsArePlain has hostile texts in an error and in a log.
func TestEventsArePlain(t *testing.T) {
	r := recording()
	r.known["status x"] = reply{err: "batchctl: " + strings.ReplaceAll(hostile[0], "\n", " ") + "\n", status: 1}
	quoted, _ := json.Marshal(hostile[0])
	r.known["logs x --follow --tail 5000"] = reply{out: `[{"time":"2026-01-02T03:04:05.006Z","text":` + string(quoted) + "}]"}
	s := serverOf(t, r, nil)
	for _, name := range []string{"job:x", "log:x"} {
		topic, _ := (&eventStream{core: s.core}).topic(name)
		ctx, cancel := context.WithCancel(t.Context())
		err := topic.Run(ctx, func(data []byte) {
			if bad := badText(string(data)); bad != "" {
				t.Errorf("%s: %s", name, bad)
			}
			cancel()
		})
		if ctx.Err() == nil {
			t.Errorf("%s published nothing: %v", name, err)
		}
		cancel()
	}
}

// logTopic returns the topic of a log whose command does what f does.
func logTopic(t *testing.T, f func(ctx context.Context, out io.Writer) int) func(context.Context, func([]byte)) error {
	run := func(ctx context.Context, args []string, s term.Streams) int {
		if line := strings.Join(args, " "); line != "batchctl logs j --follow --tail 5000 --output json" {
			t.Errorf("the command is %s", line)
		}
		return f(ctx, s.Out)
	}
	s := &server{core: newCore(t.Context(), run, options{}, target.Local)}
	topic, ok := (&eventStream{core: s.core}).topic("log:j")
	if !ok {
		t.Fatal("no topic")
	}
	return topic.Run
}

// row writes a row as logs does.
func row(w io.Writer, i int, text string) error {
	separator := ","
	if i == 0 {
		separator = "["
	}
	quoted, _ := json.Marshal(text)
	_, err := fmt.Fprintf(w, "%s\n  {\"job\":\"j\",\"time\":\"2026-01-02T03:04:05.006Z\",\"text\":%s}", separator, quoted)
	return err
}

// textsOf returns the texts of the lines in events.
func textsOf(t *testing.T, events []string) (all []string) {
	t.Helper()
	for _, e := range events {
		var lines []map[string]any
		if err := json.Unmarshal([]byte(e), &lines); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
		if len(lines) == 0 || len(lines) > logBatch {
			t.Errorf("%d lines in an event", len(lines))
		}
		for _, line := range lines {
			if line["t"] != float64(1767323045006) {
				t.Errorf("the time is %v", line["t"])
			}
			all = append(all, fmt.Sprint(line))
		}
	}
	return all
}

func TestLogTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, err := published(t, logTopic(t, func(ctx context.Context, out io.Writer) int {
			for i := range 1000 {
				if row(out, i, fmt.Sprintf("line %d", i)) != nil {
					t.Error("the log is not read")
				}
			}
			_ = rpc.Sleep(ctx, time.Minute)
			_ = row(out, 1000, "last")
			_, _ = io.WriteString(out, "\n]\n")
			return 0
		}), time.Hour)
		if err != nil {
			t.Error(err)
		}
		texts := textsOf(t, events)
		if len(texts) != 1001 || len(events) != 6 || !strings.Contains(texts[999], "line 999") || !strings.Contains(texts[1000], "last") {
			t.Errorf("%d lines in %d events: %q", len(texts), len(events), texts[max(0, len(texts)-2):])
		}
	})
}

// TestLogTopicEnds follows logs whose command fails, breaks off, or is left.
func TestLogTopicEnds(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		status int
		lines  int
		fails  bool
	}{
		"no text":              {"", 0, 0, false},
		"no line":              {"[]\n", 0, 0, false},
		"a job that failed":    {"[\n  {\"time\":\"2026-01-02T03:04:05.006Z\",\"text\":\"x\"}\n]\n", 1, 1, true},
		"no such job":          {"", 1, 0, true},
		"text that breaks off": {"[\n  {\"time\":\"2026-01-02T03:04:05.006Z\",\"text\":\"x\"},\n  {\"ti", 3, 1, true},
		"text that is no JSON": {"[\n  {\"time\":\"2026-01-02T03:04:05.006Z\",\"text\":\"x\"},\n  ]x" + strings.Repeat("more\n", 1000), 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events, err := published(t, logTopic(t, func(_ context.Context, out io.Writer) int {
					_, _ = io.WriteString(out, c.text)
					return c.status
				}), time.Hour)
				if n := len(textsOf(t, events)); n != c.lines || (err != nil) != c.fails {
					t.Errorf("%d lines, %v", n, err)
				}
			})
		})
	}
	t.Run("a page that leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			events, err := published(t, logTopic(t, func(ctx context.Context, out io.Writer) int {
				_ = row(out, 0, "x")
				<-ctx.Done()
				ended = true
				return 130
			}), time.Minute)
			if n := len(textsOf(t, events)); n != 1 || err != nil || !ended {
				t.Errorf("%d lines, %v, ended %v", n, err, ended)
			}
		})
	})
}

// TestLogTopicCannotBeRead has a command that fails to write: the command must not hang.
func TestLogTopicCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		_, err := published(t, logTopic(t, func(_ context.Context, out io.Writer) int {
			for i := range 10 {
				if failed = row(out, i*i%2, "x"); failed != nil { // the bracket comes again and again
					return 3
				}
			}
			return 0
		}), time.Hour)
		if failed == nil || !errors.Is(failed, io.ErrClosedPipe) || err == nil {
			t.Errorf("%v, %v", failed, err)
		}
	})
}
