package cmdline

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM, or
// SIGHUP unless that is ignored, as under nohup.
// Signals are caught only after the first call of Done. Before that, as while a
// file is checked, they end the program at once, and a short command starts no
// threads for them. A second signal is not caught, so it ends the program without
// waiting for the clean-up. Only SIGHUP stays caught, because the shell and the
// kernel both send it when a terminal is closed.
func UntilSignal() context.Context {
	u := &untilSignal{}
	u.caught = sync.OnceValue(func() context.Context {
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) {
			signals = append(signals, syscall.SIGHUP)
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // stays caught after stop
		}
		ctx, stop := signal.NotifyContext(context.Background(), signals...)
		context.AfterFunc(ctx, stop)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.ctx = ctx
		return ctx
	})
	return u
}

// untilSignal is the context of UntilSignal.
type untilSignal struct {
	// caught begins to catch signals, and returns the context that they end.
	caught func() context.Context

	mu  sync.Mutex
	ctx context.Context // nil until signals are caught
}

func (u *untilSignal) Done() <-chan struct{}       { return u.caught().Done() }
func (u *untilSignal) Deadline() (time.Time, bool) { return time.Time{}, false }
func (u *untilSignal) Value(any) any               { return nil }

func (u *untilSignal) Err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx == nil {
		return nil
	}
	return u.ctx.Err()
}
