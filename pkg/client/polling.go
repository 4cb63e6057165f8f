package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// pollFirst and pollMost limit the pause between two polls of a job, unless Polling.PollAtMost
	// overrides them. The pause grows while nothing changes and is reset by a change.
	pollFirst = 250 * time.Millisecond
	pollMost  = 5 * time.Second
	// throttledMost limits the pause while the service throttles.
	throttledMost = 30 * time.Second
	// patienceTime is how long a service that has answered before may fail, unless Polling.Patience
	// overrides it.
	patienceTime = 5 * time.Minute
)

// Polling has the settings of repeated calls: how often to poll, and how long to bear a failing service.
type Polling struct {
	// PollAtMost limits the pause between two polls of a job. 0 means 5 s, which saves an account's
	// request quota.
	PollAtMost time.Duration
	// Patience limits how long a watch waits for a service that has answered before and no longer
	// does. 0 means 5 minutes.
	Patience time.Duration
	// Warn receives the problems that a watch survives: throttling, a failing service, reloaded
	// credentials. Each is reported once per watch. It may be called concurrently and may be nil.
	Warn func(error)

	api *awsbatch.Client
}

// patiently repeats a call until it succeeds or its error is final.
func (p *Polling) patiently(ctx context.Context, call func() error) error {
	pace := Pace{Polling: p, Served: true}
	for {
		err := call()
		if err == nil {
			return nil
		}
		pause, err := pace.Next(err)
		if err == nil {
			err = rpc.Sleep(ctx, pause)
		}
		if err != nil {
			return err
		}
	}
}

// renew drops credentials that the service found expired, so that the next request loads new ones.
// It returns false if there are none to load.
func (p *Polling) renew() bool {
	provider, ok := p.api.Options().Credentials.(interface{ Invalidate() })
	if ok {
		provider.Invalidate()
	}
	return ok
}

// Pace decides when to poll again, and when to give up.
type Pace struct {
	Polling *Polling
	pause   time.Duration
	// Served is true once an answer has come.
	Served bool
	// failingSince is when the calls began to fail; zero while answers come.
	failingSince time.Time
	renewed      bool // the credentials were reloaded, and no answer has come since
	// reported has the kinds of problems that were passed to Polling.Warn.
	reported [3]bool
}

// Next takes the result of a call and returns the pause before the next one. It returns the error
// when it is final.
func (p *Pace) Next(err error) (time.Duration, error) {
	if err == nil {
		p.Served, p.failingSince, p.renewed = true, time.Time{}, false
		return p.grow(pollMost), nil
	}
	if Expired(err) && !p.renewed && p.Polling.renew() {
		p.renewed = true
		p.report(0, err)
		return p.reset(), nil
	}
	_, missing := errors.AsType[*MissingError](err)
	_, noLog := errors.AsType[*elsewhereError](err)
	if missing || noLog || Refused(err) && !Throttled(err) || !p.Served && !answered(err) {
		return 0, err
	}
	if p.failingSince.IsZero() {
		p.failingSince = time.Now()
	}
	if time.Since(p.failingSince) > cmp.Or(p.Polling.Patience, patienceTime) {
		return 0, err
	}
	if Throttled(err) {
		p.report(1, err)
		return p.grow(throttledMost), nil
	}
	p.report(2, err)
	return p.grow(pollMost), nil
}

// report passes the first problem of each kind to Polling.Warn.
func (p *Pace) report(kind int, err error) {
	if !p.reported[kind] && p.Polling.Warn != nil {
		p.Polling.Warn(err)
	}
	p.reported[kind] = true
}

// grow returns the next, longer pause.
func (p *Pace) grow(most time.Duration) time.Duration {
	if most == pollMost {
		most = cmp.Or(p.Polling.PollAtMost, pollMost)
	}
	p.pause = min(max(p.pause*3/2, pollFirst), most)
	return jitter(p.pause)
}

// reset returns the shortest pause.
func (p *Pace) reset() time.Duration {
	p.pause = min(pollFirst, cmp.Or(p.Polling.PollAtMost, pollMost))
	return jitter(p.pause)
}

// jitter varies a pause by up to a fifth, so that many clients do not poll at the same time.
func jitter(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5) }
