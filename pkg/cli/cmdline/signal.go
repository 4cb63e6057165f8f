package cmdline

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM, or SIGHUP where
// that was not to be ignored, as under nohup. Signals are
// caught from the moment someone waits for that: until then, as in a check of
// files, they end the program at once, and a short command starts no threads for
// them. A second signal is not caught: it must not wait for the first one's clean-up. But
// a terminal that is closed sends SIGHUP twice, by the shell and by the kernel.
func UntilSignal() context.Context {
	u := &untilSignal{}
	u.caught = sync.OnceValue(func() context.Context {
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) {
			signals = append(signals, syscall.SIGHUP)
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // which stop leaves caught
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

type untilSignal struct {
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
