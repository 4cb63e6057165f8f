package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// played is an executor in virtual time: run is the command.
type played struct {
	attempt.Executor
	run func(ctx context.Context, a attempt.Attempt) (int, error)
}

func (p played) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	return p.run(ctx, a)
}

// takes is a command that takes so long; it ends when it is asked to, or only when it is
// killed.
func takes(d time.Duration, stubborn bool) func(context.Context, attempt.Attempt) (int, error) {
	return func(ctx context.Context, a attempt.Attempt) (int, error) {
		a.Started("")
		asked := ctx.Done()
		if stubborn {
			asked = nil
		}
		select {
		case <-time.After(d):
			return 0, nil
		case <-asked:
			return 143, nil
		case <-a.Kill:
			return 137, nil
		}
	}
}

// attemptOf is an attempt of the job in testdata, with a timeout of its own.
func attemptOf(t *testing.T, timeout time.Duration) *Attempt {
	t.Helper()
	a, err := Of(described(t, "train"), 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Timeout = timeout
	return a
}

func TestEnds(t *testing.T) {
	interrupted, hurry := errors.New("interrupted"), make(chan struct{})
	close(hurry)
	slowStart := func(ctx context.Context, a attempt.Attempt) (int, error) {
		time.Sleep(10 * time.Minute) // an image of some size
		return takes(50*time.Second, false)(ctx, a)
	}
	for _, c := range []struct {
		name      string
		run       func(context.Context, attempt.Attempt) (int, error)
		timeout   time.Duration
		interrupt time.Duration // 0: never
		hurry     <-chan struct{}
		exit      int
		err       error
		after     time.Duration
	}{
		{"in time", takes(50*time.Second, false), time.Minute, 0, nil, 0, nil, 50 * time.Second},
		{"no timeout", takes(90*time.Hour, false), 0, 0, nil, 0, nil, 90 * time.Hour},
		{"too long, ends when asked", takes(time.Hour, false), time.Minute, 0, nil, 143, ErrTimeout, time.Minute},
		{"too long, is killed", takes(time.Hour, true), time.Minute, 0, nil, 137, ErrTimeout, 90 * time.Second},
		{"too long, succeeds in the grace", takes(80*time.Second, true), time.Minute, 0, nil, 0, ErrTimeout, 80 * time.Second},
		{"interrupted", takes(time.Hour, false), 0, time.Minute, nil, 143, interrupted, time.Minute},
		{"interrupted, is killed", takes(time.Hour, true), 0, time.Minute, nil, 137, interrupted, 90 * time.Second},
		{"interrupted in a hurry", takes(time.Hour, true), 0, time.Minute, hurry, 137, interrupted, time.Minute},
		{"the start does not count", slowStart, time.Minute, 0, nil, 0, nil, 10*time.Minute + 50*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := attemptOf(t, c.timeout)
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				if c.interrupt > 0 {
					time.AfterFunc(c.interrupt, func() { end(interrupted) })
				}
				began := time.Now()
				exit, err := a.Run(ctx, played{run: c.run}, t.TempDir(), nil, RunOptions{Hurry: c.hurry})
				if exit != c.exit || !errors.Is(err, c.err) || err != nil && c.err == nil {
					t.Errorf("exit code %d, %v; want %d, %v", exit, err, c.exit, c.err)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("ended after %v, want %v", took, c.after)
				}
			})
		})
	}
}

// TestWhatTheExecutorGets checks that each run has its own id, its devices and its directory.
func TestWhatTheExecutorGets(t *testing.T) {
	var seen []attempt.Attempt
	x := played{run: func(_ context.Context, a attempt.Attempt) (int, error) {
		seen = append(seen, a)
		a.Started("")
		return 7, errors.New("reason")
	}}
	a, started := attemptOf(t, 0), 0
	dir := filepath.Join(t.TempDir(), "new", "place")
	for _, dir := range []string{dir, t.TempDir()} {
		exit, err := a.Run(t.Context(), x, dir, nil, RunOptions{GPUs: []string{"GPU-a", "GPU-b", "GPU-c"}, Started: func() { started++ }})
		if exit != 7 || err == nil || err.Error() != "reason" {
			t.Errorf("%d, %v", exit, err)
		}
	}
	if started != 2 || len(seen) != 2 || seen[0].ID == seen[1].ID || seen[0].ID == "" {
		t.Fatalf("started %d times: %+v", started, seen)
	}
	first := seen[0]
	if strings.Join(first.GPUs, " ") != "GPU-a GPU-b" || first.Directory != dir || first.Job != a.Job || first.Container != a.Container {
		t.Errorf("%+v", first)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("%v", err)
	}
}

func TestDirectoryIsFresh(t *testing.T) {
	a, never := attemptOf(t, 0), played{run: func(context.Context, attempt.Attempt) (int, error) { panic("it ran") }}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := dir + " is not empty, and an attempt starts in an empty directory: name another directory"
	if exit, err := a.Run(t.Context(), never, dir, nil, RunOptions{}); exit >= 0 || err == nil || err.Error() != want {
		t.Errorf("%d, %v", exit, err)
	}
	if exit, err := a.Run(t.Context(), never, filepath.Join(dir, "old", "below"), nil, RunOptions{}); exit >= 0 || err == nil {
		t.Errorf("%d, %v", exit, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if exit, err := a.Run(ended, never, t.TempDir(), nil, RunOptions{}); exit >= 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", exit, err)
	}
}

// TestVariablesOnce checks that the last of several values for a name counts, and that each name occurs
// once.
func TestVariablesOnce(t *testing.T) {
	got := over([]types.KeyValuePair{variable("A", "1"), variable("B", "1"), variable("A", "2")}, []types.KeyValuePair{variable("B", "3"), variable("C", "3")})
	text := ""
	for _, v := range got {
		text += *v.Name + *v.Value + " "
	}
	if text != "A2 B3 C3 " {
		t.Errorf("%s", text)
	}
}
