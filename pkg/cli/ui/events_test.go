package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
)

func TestTopics(t *testing.T) {
	s := serverOf(t, uitest.Recording(), nil)
	for _, name := range []string{"queues", "jobs", "job:a", "workflow:a", "log:a", "log:a:1", "log:a#1"} {
		if topic, ok := (&eventStream{Source: s.Source}).topic(name); !ok || topic.Name != name || topic.Run == nil {
			t.Errorf("topic %q is refused", name)
		}
	}
	for _, name := range []string{"", "queues:a", "job", "job:", "job:-x", "log:--follow", "workflow:-", "jobs:a", "status:a", "explain:a"} {
		if _, ok := (&eventStream{Source: s.Source}).topic(name); ok {
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
		r := uitest.Recording()
		s := &server{Source: source.New(t.Context(), jobs.Options{}, target.Local)}
		s.Commands.Instead = r.Answer
		line := "status " + uitest.PrepareID
		first := r.Known[line].Out
		n := 0
		r.Before = func(context.Context, string, term.Streams) {
			n++
			switch {
			case n <= 10:
				r.Set(line, strings.NewReplacer(`"ranMs": `, fmt.Sprintf(`"ranMs": %d`, n), `"waitedMs": `, fmt.Sprintf(`"waitedMs": %d`, n)).Replace(first))
			case n <= 20:
				r.Set(line, strings.Replace(first, `"SUCCEEDED"`, `"FAILED"`, 1))
			default:
				r.Mu.Lock()
				r.Known[line] = uitest.Reply{Err: "batchctl: no answer\n", Status: 1}
				r.Mu.Unlock()
			}
		}
		if !strings.Contains(first, `"ranMs": `) || !strings.Contains(first, `"waitedMs": `) {
			t.Fatal("the recording has no durations")
		}
		topic, _ := (&eventStream{Source: s.Source}).topic("job:" + uitest.PrepareID)
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
	r := uitest.Recording()
	r.Known["status x"] = uitest.Reply{Err: "batchctl: " + strings.ReplaceAll(hostile[0], "\n", " ") + "\n", Status: 1}
	quoted, _ := json.Marshal(hostile[0])
	r.Known["logs x --follow"] = uitest.Reply{Out: `[{"time":"2026-01-02T03:04:05.006Z","text":` + string(quoted) + "}]"}
	s := serverOf(t, r, nil)
	for _, name := range []string{"job:x", "log:x"} {
		topic, _ := (&eventStream{Source: s.Source}).topic(name)
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

// lineTime is when the jobs of the tests write their lines.
var lineTime = time.UnixMilli(1767323045006)

// logTopic returns the topic of a log whose command does what f does.
func logTopic(t *testing.T, f func(ctx context.Context, write func(text string) error) error) func(context.Context, func([]byte)) error {
	s := &server{Source: source.New(t.Context(), jobs.Options{}, target.Local)}
	s.Commands.Instead = func(ctx context.Context, _ *term.Console, words []string, document any) error {
		if line := strings.Join(words, " "); line != "logs j --follow" {
			t.Errorf("the command is %s", line)
		}
		return f(ctx, func(text string) error {
			return document.(func(client.Line) error)(client.Line{Job: "j", Time: lineTime, Text: text})
		})
	}
	topic, ok := (&eventStream{Source: s.Source}).topic("log:j")
	if !ok {
		t.Fatal("no topic")
	}
	return topic.Run
}

// textsOf returns the texts of the lines in events.
func textsOf(t *testing.T, events []string) (all []string) {
	t.Helper()
	for _, e := range events {
		var part struct {
			From  int
			Lines []map[string]any
		}
		if err := json.Unmarshal([]byte(e), &part); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
		lines := part.Lines
		if part.From < len(all) {
			t.Errorf("line %d comes after %d lines", part.From, len(all))
		}
		if len(lines) == 0 || len(lines) > logBatch {
			t.Errorf("%d lines in an event", len(lines))
		}
		for _, line := range lines {
			if line["t"] != float64(lineTime.UnixMilli()) {
				t.Errorf("the time is %v", line["t"])
			}
			all = append(all, fmt.Sprint(line))
		}
	}
	return all
}

func TestLogTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, err := published(t, logTopic(t, func(ctx context.Context, write func(string) error) error {
			for i := range 1000 {
				if write(fmt.Sprintf("line %d", i)) != nil {
					t.Error("the log is not read")
				}
			}
			_ = rpc.Sleep(ctx, time.Minute)
			return write("last")
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

// TestLogTopicCounts follows a log with more lines than a page shows: it gets the last ones, with their numbers.
func TestLogTopicCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lines = 3*logShown + 12
		events, err := published(t, logTopic(t, func(_ context.Context, write func(string) error) error {
			for i := range lines {
				if write(fmt.Sprintf("line %d", i)) != nil {
					t.Error("the log is not read")
				}
			}
			return nil
		}), time.Hour)
		if err != nil {
			t.Error(err)
		}
		next := lines - logShown
		for _, e := range events {
			var part struct {
				From  int
				Lines []struct{ S []struct{ T string } }
			}
			if err := json.Unmarshal([]byte(e), &part); err != nil || part.From != next || part.Lines[0].S[0].T != fmt.Sprintf("line %d", part.From) {
				t.Fatalf("line %d is missing (%v): %.200s", next, err, e)
			}
			next += len(part.Lines)
		}
		if next != lines {
			t.Errorf("%d of %d lines", next, lines)
		}
	})
}

// TestLogEnd bounds the bytes of the rows as well.
func TestLogEnd(t *testing.T) {
	end := logEnd{most: 100}
	long := strings.Repeat("x", logHeld/4)
	for range 10 {
		end.add(client.Line{Text: long})
	}
	if len(end.rows) != 4 || end.from != 6 || end.bytes != logHeld {
		t.Errorf("%d rows from %d with %d bytes", len(end.rows), end.from, end.bytes)
	}
	end.add(client.Line{Text: strings.Repeat("x", 2*logHeld)})
	if len(end.rows) != 1 || end.from != 10 {
		t.Errorf("%d rows from %d", len(end.rows), end.from)
	}
}

// TestLogTopicEnds follows logs whose command fails, breaks off, or is left.
func TestLogTopicEnds(t *testing.T) {
	for name, c := range map[string]struct {
		lines int
		err   error
	}{
		"no line":            {0, nil},
		"a line":             {1, nil},
		"a job that failed":  {1, exit.Silent(exit.Problem)},
		"no such job":        {0, exit.Fail(exit.Problem, "no job")},
		"a log that is lost": {1, errors.New("the connection was lost")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events, err := published(t, logTopic(t, func(_ context.Context, write func(string) error) error {
					for range c.lines {
						if err := write("x"); err != nil {
							return err
						}
					}
					return c.err
				}), time.Hour)
				if n := len(textsOf(t, events)); n != c.lines || (err != nil) != (c.err != nil) {
					t.Errorf("%d lines, %v", n, err)
				}
			})
		})
	}
	t.Run("a page that leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			events, err := published(t, logTopic(t, func(ctx context.Context, write func(string) error) error {
				_ = write("x")
				<-ctx.Done()
				ended = true
				return exit.Silent(exit.Interrupted)
			}), time.Minute)
			if n := len(textsOf(t, events)); n != 1 || err != nil || !ended {
				t.Errorf("%d lines, %v, ended %v", n, err, ended)
			}
		})
	})
}

// TestLogTopicIsLeft has a page that leaves while the command writes: the command must not hang.
func TestLogTopicIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		_, err := published(t, logTopic(t, func(_ context.Context, write func(string) error) error {
			for failed == nil {
				time.Sleep(time.Second)
				failed = write("x")
			}
			return failed
		}), time.Minute)
		if failed == nil || err != nil {
			t.Errorf("%v, %v", failed, err)
		}
	})
}
