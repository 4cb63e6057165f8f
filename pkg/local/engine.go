package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// Engine is AWS Batch in this process. Its methods may be called concurrently.
type Engine struct {
	// Open sets these, before any other goroutine runs.
	options   Options
	directory stateDirectory
	endpoint
	logs *logs.Store
	// delivery delivers events to other programs; nil until the engine is open, or if it is read-only.
	delivery *events.Delivery
	// absentSince is when the latest record was written, for a read-only engine while no engine is
	// running; 0 otherwise.
	absentSince int64

	// mu guards the parts below and the fields after them. A part that has it locks it in methods
	// that are called without it.
	mu sync.Mutex
	durableModel
	attempts    runningAttempts
	secrets     jobSecrets
	waiters     waiters
	subscribers subscribers
	clients     clientConnections
	faultDrill

	// facts are events that have happened outside the model: they must be written, now or when the
	// journal can be written.
	facts []model.Event
	again *time.Timer // set while the journal cannot be written
	limit *time.Timer // set while a job is to be ended for waiting too long
	// closing is true after Close was called: nothing starts any more.
	closing bool
	// shutdown is true after EndJobs was called: jobs end, and no new job is accepted.
	shutdown bool
}

// Open starts an engine on o.Dir. It reads the state of an earlier engine, ends attempts that the
// earlier one left behind, and begins to schedule. When another engine holds the directory, the
// error is a *LockedError.
func Open(o Options) (*Engine, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	e := &Engine{options: o, durableModel: durableModel{model: model.New(o.Queues), build: o.Build}}
	e.waiters.mu = &e.mu
	e.subscribers = subscribers{mu: &e.mu, channels: map[chan struct{}]bool{}}
	e.clients = clientConnections{mu: &e.mu, open: map[net.Conn]bool{}, changed: e.waiters.notify}
	e.secrets = jobSecrets{mu: &e.mu, given: map[string]map[secretsource.Key]string{}, source: o.Secrets}
	e.attempts = runningAttempts{mu: &e.mu, most: o.attempts, running: map[*model.Task]context.CancelCauseFunc{},
		hurry: make(chan struct{})}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.release())
	}
	e.faultDrill = faultDrill{mu: &e.mu, task: e.model.Task}
	if !o.ReadOnly {
		var err error
		if e.delivery, err = e.startDelivery(e.directory.root, &e.options); err != nil {
			return nil, errors.Join(err, e.release())
		}
		process.CloseOnExec()
		e.recover()
	}
	return e, nil
}

// open reads or creates everything in the state directory, in an order that never overwrites a
// damaged journal. On an error, the caller releases what is open.
func (e *Engine) open() error {
	if e.options.Dir == "" {
		e.endpoint, e.logs = newEndpoint(nil, &e.options), logs.NewStore(nil, e.options.LogLimit)
		return nil
	}
	directory, err := openDirectory(e.options.Dir, !e.options.ReadOnly)
	if err != nil {
		return err
	}
	e.directory, e.endpoint, e.logs = directory, newEndpoint(directory.root, &e.options),
		logs.NewStore(directory.root, e.options.LogLimit)
	if e.options.ReadOnly {
		err := e.readJournal(&e.directory)
		e.absentSince = e.directory.absentSince(e.model, e.lastAt)
		return err
	}
	if err := e.directory.acquire(); err != nil {
		return err
	}
	if err := e.directory.checkJournal(); err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if err := e.inherit(); err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if err := e.directory.makeSubdirectories(); err != nil {
		return err
	}
	if err := e.openJournal(&e.directory, e.options.Log); err != nil {
		return errors.Join(err, e.disinherit())
	}
	forgot, err := e.forget(e.options.forgetFrom, events.Rewrite{Root: directory.root, Queues: e.options.Queues,
		Destinations: e.options.Events, MaxHeld: e.options.maxHeld})
	if err != nil {
		e.options.Log.Warn("old jobs could not be removed", "error", err)
	}
	if forgot {
		if err := e.journal.Close(); err != nil {
			return err
		}
		e.model, e.replayedTo = model.New(e.options.Queues), events.Position{}
		if err := errors.Join(e.openJournal(&e.directory, e.options.Log), e.directory.sweep(e.model)); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 && !e.options.ProcessesForBatchctlOnly {
		e.options.Log.Warn("the engine runs as root, and so do its jobs")
	}
	return nil
}

// recover continues the work of an earlier engine. It ends attempts in STARTING or RUNNING, as when
// a host is terminated; a job that was terminated keeps that reason. Then it examines every unfinished job once.
func (e *Engine) recover() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.model.Recover() {
		abandon(t, e.options.Executor, e.options.Log)
		cause := attempt.ErrEngineClosing
		if t.Terminated || t.Job.Terminated {
			cause = attempt.ErrTerminated
		}
		e.facts = append(e.facts, attempt.Concluded(t, model.Outcome{}, cause))
	}
	e.step()
}

// change decides and records one change for a caller, and returns when it is on disk. decide reads
// the model and must not alter it. If decide finds nothing to change, the state that it read is on
// disk too.
func (e *Engine) change(decide func(*model.Model) ([]model.Event, error)) error {
	position, err := e.propose(decide)
	if err != nil {
		return err
	}
	return e.journal.Sync(position)
}

// propose does what change does, but returns the position in the journal that must be synced
// instead of waiting for the disk.
func (e *Engine) propose(decide func(*model.Model) ([]model.Event, error)) (position int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.options.ReadOnly {
		return 0, call.ErrReadOnly
	}
	if e.closing {
		return 0, attempt.ErrEngineClosing
	}
	events, err := decide(e.model)
	if err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return e.journal.Size(), nil
	}
	if position, err = e.write(events...); err != nil {
		return 0, err
	}
	e.step()
	return position, nil
}

// write records events and applies them, and tells everybody who waits for changes.
func (e *Engine) write(events ...model.Event) (position int64, err error) {
	if position, err = e.record(events...); err != nil {
		return 0, err
	}
	e.subscribers.publish()
	e.delivery.Wake()
	e.waiters.notify()
	return position, nil
}

// step calls advance and runs the attempts that it started. The caller holds e.mu.
func (e *Engine) step() {
	e.advance()
	e.attempts.carryOutReady()
}

// advance does everything that can be done now: it records the new facts, follows up on them, and
// starts what fits. If the journal cannot be written, it stops and is called again in a second. The
// caller holds e.mu.
func (e *Engine) advance() {
	err := e.keepFacts()
	if err == nil {
		err = e.follow()
	}
	if err == nil && !e.closing {
		err = e.startWaiting()
	}
	if err == nil && !e.closing {
		err = e.preempt()
	}
	if err == nil && !e.closing {
		err = e.endOverdue()
	}
	if err == nil || e.again != nil {
		return
	}
	e.options.Log.Error("cannot write the journal: retrying", "error", err)
	e.again = time.AfterFunc(time.Second, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.again = nil
		e.step()
	})
}

// endOverdue takes the actions of queues on jobs that have waited too long, and is called again
// when the next one is due.
func (e *Engine) endOverdue() error {
	if e.limit != nil {
		e.limit.Stop()
		e.limit = nil
	}
	if events := e.model.Overdue(time.Now().UnixMilli()); len(events) > 0 {
		if _, err := e.write(events...); err != nil {
			return err
		}
		if err := e.follow(); err != nil {
			return err
		}
	}
	next := e.model.NextDeadline()
	if next == model.Never {
		return nil
	}
	wait := time.Until(time.UnixMilli(next))
	if wait <= 0 { // it passed a moment ago; a second more keeps a deadline without an action from making the engine busy
		wait = time.Second
	}
	e.limit = time.AfterFunc(wait, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.closing {
			e.step()
		}
	})
	return nil
}

// keepFacts writes the recorded facts, in order. A fact stays in the list until it is written.
func (e *Engine) keepFacts() error {
	for len(e.facts) > 0 {
		if _, err := e.write(e.facts[0]); err != nil {
			return err
		}
		e.facts = e.facts[1:]
	}
	return nil
}

// follow writes the events that follow from earlier ones, until no task is due.
func (e *Engine) follow() error {
	capacity := e.options.capacity()
	for t := e.model.Due(); t != nil; t = e.model.Due() {
		e.attempts.endTerminated(t)
		events := e.model.Follow(t, capacity)
		if len(events) == 0 {
			continue
		}
		if _, err := e.write(events...); err != nil {
			return err
		}
	}
	return nil
}

// startWaiting reserves capacity for the jobs that start now, and records what the others wait for.
func (e *Engine) startWaiting() error {
	for _, d := range e.model.Schedule(time.Now().UnixMilli(), e.options.capacity()) {
		if d.Environment == nil {
			if _, err := e.write(model.Event{Explained: &model.Explanation{Job: d.Task.ID(), Reason: d.Reason,
				Waits: true}}); err != nil {
				return err
			}
			continue
		}
		t := d.Task
		if !e.attempts.fits(t) {
			break // until another attempt ends
		}
		s := &model.Start{Job: t.ID(), Stream: call.NewID(), GPUs: e.model.Pin(e.options.GPUs, t.Job),
			Environment: d.Environment.Name,
			Executor:    cmp.Or(attempt.ChosenBy(t.Job), defaultExecutor(e.options.Executor))}
		noted, err := e.write(model.Event{Started: s})
		if err != nil {
			return err
		}
		e.run(t, noted)
	}
	return nil
}

// Active returns the number of jobs that have not ended; an array counts as one.
func (e *Engine) Active() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.model.Active
}

// WaitIdle returns when no job has been active and nothing has changed for the duration quiet, or
// with ctx's error.
func (e *Engine) WaitIdle(ctx context.Context, quiet time.Duration) error {
	return e.waiters.wait(ctx, quiet, func() bool { return e.model.Active == 0 })
}

// Drain returns when no attempt runs and no client is connected, or with ctx's error. Jobs that
// still wait are left for the next engine.
func (e *Engine) Drain(ctx context.Context) error {
	return e.waiters.wait(ctx, 0, func() bool { return len(e.attempts.running) == 0 && len(e.clients.open) == 0 })
}

// Close stops scheduling, ends the running attempts (SIGTERM, after 30 s SIGKILL) and records how
// they ended. Their jobs continue by their retry strategy when the directory is opened again. When
// ctx ends, attempts are killed at once.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	already := e.closing
	e.closing = true
	e.attempts.endAll(attempt.ErrEngineClosing)
	e.mu.Unlock()
	if already {
		return nil
	}
	e.attempts.wait(ctx)
	lost := e.stop()
	e.delivery.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(lost, e.release())
}

// stop ends the timers and writes what the last attempts left.
func (e *Engine) stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, timer := range []*time.Timer{e.again, e.limit} {
		if timer != nil {
			timer.Stop()
		}
	}
	if err := e.keepFacts(); err != nil {
		return fmt.Errorf("close engine: the results of %d attempts could not be recorded: %w", len(e.facts), err)
	}
	return nil
}

func (e *Engine) release() error {
	var errs []error
	if e.journal != nil {
		errs = append(errs, e.journal.Close())
	}
	errs = append(errs, e.directory.close())
	e.closeListener()
	if x, ok := e.options.Executor.(io.Closer); ok && !e.options.ReadOnly {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
