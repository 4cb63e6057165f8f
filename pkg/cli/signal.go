package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM. Signals are
// caught from the moment somebody waits for that: until then, as in a check of
// files, they end the program at once, and a short command starts no threads for
// them. A second signal is not caught: it must not wait for the first one's clean-up.
func UntilSignal() context.Context {
	u := &untilSignal{}
	u.caught = sync.OnceValue(func() context.Context {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
