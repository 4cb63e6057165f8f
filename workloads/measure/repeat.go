package measure

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Times is how long the runs of a task took, in seconds.
type Times struct {
	// First is the very first run, with everything that is made once. It is not
	// among Seconds unless there was no warm-up.
	First   float64
	Seconds []float64
	// Splits says of each of Seconds where it went; nil where nothing tells.
	Splits []Split
}

// Split is where the seconds of a run on a device went. The parts may overlap.
type Split struct{ Kernel, CopyIn, CopyOut float64 }

// Task is what Repeat runs. Only Work is timed.
type Task struct {
	// Spoil overwrites the output, so that no run passes with the result of another.
	Spoil func()
	Work  func(context.Context) error
	// Check verifies the output against an independent reference.
	Check func(context.Context) error
	// Split says where the last run of Work went; nil where nothing tells.
	Split func() Split
}

// Repeat runs the task warmup+repeats times and returns the times of the runs behind
// the warm-up. Every run is checked. A done context ends it between runs.
//
// On the processor the runtime has as many processors as the options have threads
// meanwhile. With one left over, it moves a goroutine that computes to another core each time
// that it interrupts it, or waits; then this one's core falls asleep, and a busy host lets
// a virtual core that wakes up share a core with another user for seconds: of
// products of 1.5 s, one after the other, about half took 1.35 times as long.
func Repeat(ctx context.Context, o Options, t Task) (Times, error) {
	if before := runtime.GOMAXPROCS(0); o.Device == CPU && o.Threads > 0 && o.Threads < before {
		runtime.GOMAXPROCS(o.Threads)
		defer runtime.GOMAXPROCS(before)
	}
	var times Times
	for i := range o.Warmup + o.Repeats {
		if err := Stopped(ctx); err != nil {
			return Times{}, err
		}
		t.Spoil()
		start := time.Now()
		if err := t.Work(ctx); err != nil {
			return Times{}, err
		}
		elapsed := max(time.Since(start), time.Nanosecond).Seconds()
		if err := t.Check(ctx); err != nil {
			return Times{}, err
		}
		if i == 0 {
			times.First = elapsed
		}
		if i < o.Warmup {
			continue
		}
		times.Seconds = append(times.Seconds, elapsed)
		if t.Split != nil {
			times.Splits = append(times.Splits, t.Split())
		}
	}
	return times, nil
}

// Stopped is nil while the context lives, and says afterwards why it ended.
func Stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("stopped before the end: %w", context.Cause(ctx))
}
