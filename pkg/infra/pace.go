package infra

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/client"
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

// Operations follows the operations of CloudFormation in stacks.
type Operations struct {
	Cloud *Cloud
	// Notify is called with one clause about what happens.
	Notify func(format string, args ...any)
	// Progress is called once for each event of a stack, in order.
	Progress func(Progress)

	served bool // the service has answered, so that failures count as temporary
}

// Progress is an event with the progress of its operation: Done of Total
// resources. Total is 0 if it is unknown.
type Progress struct {
	Stack       string
	Event       types.StackEvent
	Done, Total int
}

// pace decides when to repeat a call and when to give up, as a watch of jobs does.
type pace struct {
	operations   *Operations
	pause        time.Duration
	failingSince time.Time // zero while calls succeed
	renewed      bool      // the credentials were reloaded, and no call has succeeded since
	notified     bool      // of the first failure
}

// next returns the pause after a call with this error. news reports that something has changed.
// It returns the error if that is final.
func (p *pace) next(err error, news bool) (time.Duration, error) {
	if _, answered := errors.AsType[*rpc.Error](err); err == nil || answered {
		p.operations.served = true
	}
	switch {
	case err == nil && news:
		p.failingSince, p.renewed, p.pause = time.Time{}, false, 0
		return p.grow(pollMost), nil
	case err == nil:
		p.failingSince, p.renewed = time.Time{}, false
		return p.grow(pollMost), nil
	case rpc.Expired(err) && !p.renewed && p.operations.Cloud.Renew():
		p.renewed, p.pause = true, 0
		return p.grow(pollMost), nil
	case !transient(err) || !p.operations.served:
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
		p.operations.Notify("trying again: %v", err)
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
func (o *Operations) patiently(ctx context.Context, call func() error) error {
	return o.until(ctx, func() (bool, error) {
		err := call()
		return err == nil, err
	})
}

// until repeats a call until it is done or its error is final.
func (o *Operations) until(ctx context.Context, call func() (done bool, err error)) error {
	pace := pace{operations: o}
	for {
		done, err := call()
		if ctx.Err() != nil && (err != nil || !done) {
			return context.Cause(ctx)
		}
		if done && err == nil {
			o.served = true
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
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, context.DeadlineExceeded)
}

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return e.Status/100 == 5 || rpc.Throttled(err)
	}
	_, network := errors.AsType[net.Error](err)
	return network || cutOff(err) || client.Throttled(err)
}
