package infra

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// pollFirst and pollMost limit the pause between two queries. It grows while nothing
	// changes, and starts again after a change.
	pollFirst = 500 * time.Millisecond
	pollMost  = 5 * time.Second
	// throttledMost limits the pause while the service throttles requests.
	throttledMost = 30 * time.Second
	// patienceTime is how long a service may fail before the error is final.
	patienceTime = 5 * time.Minute
)

// pace decides when to repeat a call and when to give up, as a watch of jobs does.
type pace struct {
	stacks       *Stacks
	pause        time.Duration
	failingSince time.Time // zero while calls succeed
	renewed      bool      // the credentials were reloaded, and no call has succeeded since
	notified     bool      // of the first failure
}

// next returns the pause after a call with this error. news reports that something has changed.
// It returns the error if that is final.
func (p *pace) next(err error, news bool) (time.Duration, error) {
	if _, answered := errors.AsType[*rpc.Error](err); err == nil || answered {
		p.stacks.served = true
	}
	switch {
	case err == nil && news:
		p.failingSince, p.renewed, p.pause = time.Time{}, false, 0
		return p.grow(pollMost), nil
	case err == nil:
		p.failingSince, p.renewed = time.Time{}, false
		return p.grow(pollMost), nil
	case rpc.Expired(err) && !p.renewed && p.stacks.Cloud.Renew():
		p.renewed, p.pause = true, 0
		return p.grow(pollMost), nil
	case !transient(err) || !p.stacks.served:
		return 0, err
	}
	if p.failingSince.IsZero() {
		p.failingSince = time.Now()
	}
	if time.Since(p.failingSince) > patienceTime {
		return 0, err
	}
	if !p.notified {
		p.notified = true
		p.stacks.Notify("trying again: %v", err)
	}
	if rpc.Throttled(err) {
		return p.grow(throttledMost), nil
	}
	return p.grow(pollMost), nil
}

// grow lengthens the pause, and varies it by up to a fifth, so that clients do not send their
// requests at the same time.
func (p *pace) grow(most time.Duration) time.Duration {
	p.pause = min(max(p.pause*3/2, pollFirst), most)
	return p.pause*4/5 + rand.N(p.pause*2/5)
}

// patiently repeats a call until it succeeds or its error is final.
func (s *Stacks) patiently(ctx context.Context, call func() error) error {
	return s.until(ctx, func() (bool, error) {
		err := call()
		return err == nil, err
	})
}

// until repeats a call until it is done or its error is final.
func (s *Stacks) until(ctx context.Context, call func() (done bool, err error)) error {
	pace := pace{stacks: s}
	for {
		done, err := call()
		if ctx.Err() != nil && (err != nil || !done) {
			return context.Cause(ctx)
		}
		if done && err == nil {
			s.served = true
			return nil
		}
		pause, err := pace.next(err, false)
		if err == nil {
			err = rpc.Sleep(ctx, pause)
		}
		if err != nil {
			return err
		}
	}
}

// cutOff reports whether a connection ended in the middle of an answer.
func cutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, context.DeadlineExceeded)
}
