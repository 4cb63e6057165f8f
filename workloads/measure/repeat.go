package measure

import (
	"context"
	"fmt"
	"time"
)

// Task is what Repeat runs. Only Work is timed.
type Task struct {
	// Spoil overwrites the output, so that no run passes with the result of another.
	Spoil func()
	Work  func(context.Context) error
	// Check verifies the output against an independent reference.
	Check func(context.Context) error
}

// Repeat runs the task warmup+repeats times and returns the seconds of the
// timed ones. Every run is checked. A done context ends it between runs.
func Repeat(ctx context.Context, o Options, t Task) ([]float64, error) {
	var seconds []float64
	for i := range o.Warmup + o.Repeats {
		if err := Stopped(ctx); err != nil {
			return nil, err
		}
		t.Spoil()
		start := time.Now()
		if err := t.Work(ctx); err != nil {
			return nil, err
		}
		elapsed := max(time.Since(start), time.Nanosecond)
		if err := t.Check(ctx); err != nil {
			return nil, err
		}
		if i >= o.Warmup {
			seconds = append(seconds, elapsed.Seconds())
		}
	}
	return seconds, nil
}

// Stopped is nil while the context lives, and says afterwards why it ended.
func Stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("stopped before the end: %w", context.Cause(ctx))
}
