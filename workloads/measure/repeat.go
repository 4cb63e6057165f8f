package measure

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Times is how long the runs of a task took, in seconds.
type Times struct {
	// First is the first run, with all one-time setup. Seconds includes it only if there was no
	// warm-up.
	First   float64
	Seconds []float64
	// Splits divides each of Seconds into its parts; nil if the task does not measure them.
	Splits []Split
}

// Split is the parts of a run's time on a device, in seconds. They may overlap.
type Split struct{ Kernel, CopyIn, CopyOut float64 }

// Task is what Repeat runs. Only Work is timed.
type Task struct {
	// Spoil overwrites the output, so that no run passes with the result of another.
	Spoil func()
	Work  func(context.Context) error
	// Check verifies the output against an independent reference.
	Check func(context.Context) error
	// Split divides the time of the last run of Work; nil if it is not measured.
	Split func() Split
}

// Repeat runs the task warmup+repeats times and returns the times of the runs after the warm-up.
// Every run is checked. It stops between runs when the context is done.
//
// For runs on the CPU it limits GOMAXPROCS to the threads of the options. With an idle processor
// left over, the runtime moves a computing goroutine to another core each time that it preempts it,
// or the goroutine waits. Then the old core falls asleep, and a busy host lets a waking virtual
// core share a physical core with another user for seconds: of products of 1.5 s, one after the
// other, about half took 1.35 times as long.
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

// Stopped returns nil until the context is done, and then an error with the cause.
func Stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("stopped before it finished: %w", context.Cause(ctx))
}
