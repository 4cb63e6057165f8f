package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
)

// slow returns replies of which each takes this long, and a function that returns how many ran at one time at most.
func slow(takes time.Duration) (*uitest.Replies, func() int) {
	var mu sync.Mutex
	running, most := 0, 0
	r := &uitest.Replies{Known: map[string]uitest.Reply{"list": {Out: "[]"}, "broken": {Err: "note: x\nbatchctl: no target\n  choose one\n", Status: 2}}}
	r.Before = func(ctx context.Context, _ string, _ term.Streams) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		_ = rpc.Sleep(ctx, takes)
		mu.Lock()
		running--
		mu.Unlock()
	}
	return r, func() int { mu.Lock(); defer mu.Unlock(); return most }
}

// recorded returns a commander for a target that replies.
func recorded(base context.Context, r *uitest.Replies, o target.Options) *Commander {
	c := newCommander(base, o)
	c.Instead = r.Answer
	return c
}

// ask asks for a document that is a text.
func ask(ctx context.Context, c *Commander, age time.Duration, words ...string) (string, error) {
	return Ask(ctx, c, age, Question[string]{Words: words})
}

func TestAskShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := slow(time.Second)
		c := recorded(t.Context(), r, target.Options{})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if out, err := ask(t.Context(), c, 0, "list"); string(out) != "[]" || err != nil {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
		all.Wait()
		if n := r.Count("list"); n != 1 {
			t.Errorf("%d commands for concurrent requests", n)
		}
		// The age counts from the begin of the command.
		time.Sleep(time.Second)
		for _, age := range []time.Duration{2 * time.Second, 3 * time.Second} {
			if _, err := ask(t.Context(), c, age, "list"); err != nil || r.Count("list") != 1 {
				t.Errorf("a fresh answer: %d commands, %v", r.Count("list"), err)
			}
		}
		if _, err := ask(t.Context(), c, 2*time.Second-1, "list"); err != nil || r.Count("list") != 2 {
			t.Errorf("an old answer: %d commands, %v", r.Count("list"), err)
		}
		// Other arguments are another command, also if they look alike in a line.
		for _, args := range [][]string{{"list", "a b"}, {"list", "a", "b"}} {
			_, _ = ask(t.Context(), c, time.Hour, args...)
		}
		if n := len(r.Lines); n != 4 {
			t.Errorf("%d commands", n)
		}
	})
}

func TestAskFails(t *testing.T) {
	r, _ := slow(0)
	c := recorded(t.Context(), r, target.Options{})
	_, err := ask(t.Context(), c, 0, "broken")
	failed, ok := errors.AsType[*exit.Failure](err)
	if !ok || failed.Code != 2 || failed.Message != "no target" || failed.Hint != "choose one" {
		t.Errorf("%#v", err)
	}
	c.Instead = nil
	for name, run := range map[string]struct {
		print string
		err   error
		want  *exit.Failure
	}{
		"a failure":                   {"note\n", exit.Fail(3, "a").Try("b\n  c"), exit.Fail(3, "a").Try("b\n  c")},
		"an error":                    {"", errors.New("a"), exit.Fail(exit.NotDone, "a")},
		"what the command printed":    {"1 error\n", exit.Silent(1), exit.Fail(1, "1 error")},
		"a credential":                {"", errors.New("password=hunter2hunter2"), exit.Fail(exit.NotDone, "password=**************")},
		"a difference is no failure":  {"1 change\n", exit.Silent(exit.Change), nil},
		"a difference with a message": {"", exit.Fail(exit.Change, "1 change"), nil},
	} {
		got, err := Ask(t.Context(), c, 0, Question[[]int]{[]string{name}, func(_ context.Context, con *term.Console) ([]int, error) {
			_, _ = io.WriteString(con.Err, run.print)
			return []int{7}, run.err
		}})
		failed, _ := errors.AsType[*exit.Failure](err)
		if (failed == nil) != (run.want == nil) || failed != nil && (failed.Code != run.want.Code || failed.Message != run.want.Message || failed.Hint != run.want.Hint) ||
			!slices.Equal(got, []int{7}) {
			t.Errorf("%s: %v, %#v", name, got, err)
		}
	}
	_, err = Ask(t.Context(), c, 0, Question[[]int]{[]string{"list"}, func(context.Context, *term.Console) ([]int, error) { panic("x") }})
	if err == nil || err.Error() != "internal error in batchctl list: x" {
		t.Errorf("a panic: %v", err)
	}
}

func TestLine(t *testing.T) {
	o := target.Options{Name: "prod", StateDir: "d", Platform: "p.json", Profile: "me", Region: "r", EndpointURL: "http://h"}
	c := newCommander(t.Context(), o)
	if got := c.Line("status", "a b", "$x"); got != `batchctl status 'a b' '$x' --platform p.json --target prod --state-dir d --profile me --region r --endpoint-url http://h` {
		t.Error(got)
	}
	// A command gets only the flags that it has.
	if got := c.Line("validate", "x"); got != "batchctl validate x --platform p.json" {
		t.Error(got)
	}
}

func TestCommandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, most := slow(time.Second)
		c := recorded(t.Context(), r, target.Options{})
		var all sync.WaitGroup
		for i := range 21 {
			all.Go(func() { _, _ = ask(t.Context(), c, 0, "list", fmt.Sprint(i)) })
		}
		begun := time.Now()
		all.Wait()
		if n, took := most(), time.Since(begun); n != commandsAtOnce || took != 6*time.Second {
			t.Errorf("%d at one time, all in %v", n, took)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := slow(0)
		c := recorded(t.Context(), r, target.Options{})
		for i := range 3 * answersKept {
			_, _ = ask(t.Context(), c, 0, "list", fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		if n := len(c.known); n > answersKept {
			t.Errorf("%d answers are kept", n)
		}
		// The newest are kept.
		before := len(r.Lines)
		for i := 2*answersKept + 1; i < 3*answersKept; i++ {
			_, _ = ask(t.Context(), c, time.Hour, "list", fmt.Sprint(i))
		}
		if n := len(r.Lines) - before; n > 0 {
			t.Errorf("%d of the newest answers were forgotten", n)
		}
	})
}

// TestRequestLeaves ends the request that began a command: another request still gets the answer.
func TestRequestLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := slow(10 * time.Second)
		c := recorded(t.Context(), r, target.Options{})
		leaving, leave := context.WithCancelCause(t.Context())
		left := errors.New("the browser left")
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := ask(leaving, c, 0, "list"); !errors.Is(err, left) {
				t.Errorf("the first request: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if out, err := ask(t.Context(), c, time.Minute, "list"); string(out) != "[]" || err != nil {
				t.Errorf("the second request: %q, %v", out, err)
			}
		})
		time.Sleep(time.Second)
		leave(left)
		all.Wait()
		if n := r.Count("list"); n != 1 {
			t.Errorf("%d commands", n)
		}
	})
}

// TestServerEnds ends the base context: running commands and those that wait for their turn end.
func TestServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, end := context.WithCancel(t.Context())
		r := &uitest.Replies{Known: map[string]uitest.Reply{}}
		r.Before = func(ctx context.Context, _ string, _ term.Streams) { <-ctx.Done() }
		c := recorded(base, r, target.Options{})
		var all sync.WaitGroup
		for i := range 2 * commandsAtOnce {
			all.Go(func() {
				if _, err := ask(t.Context(), c, 0, "list", fmt.Sprint(i)); err == nil {
					t.Error("a command of an ended server succeeded")
				}
			})
		}
		synctest.Wait()
		if n := len(r.Lines); n != commandsAtOnce {
			t.Errorf("%d commands run", n)
		}
		end()
		all.Wait()
		if n := len(r.Lines); n != commandsAtOnce {
			t.Errorf("%d commands ran, some of them after the end", n)
		}
	})
}

// TestCommandPatience runs a command that would not end.
func TestCommandPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &uitest.Replies{Known: map[string]uitest.Reply{}}
		r.Before = func(ctx context.Context, _ string, _ term.Streams) { <-ctx.Done() }
		c := recorded(t.Context(), r, target.Options{})
		begun := time.Now()
		if _, err := ask(t.Context(), c, 0, "list"); err == nil || time.Since(begun) != CommandPatience {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestUnlimitedNeedsNoTurn follows logs while all turns are taken.
func TestUnlimitedNeedsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := slow(time.Hour)
		c := recorded(t.Context(), r, target.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 2 * commandsAtOnce {
			all.Go(func() {
				_ = FollowLog(ctx, c, []string{"logs", "--follow"}, jobs.LogOptions{}, func(client.Line) error { return nil })
			})
		}
		synctest.Wait()
		if n := len(r.Lines); n != 2*commandsAtOnce {
			t.Errorf("%d logs are followed", n)
		}
		cancel()
		all.Wait()
	})
}
