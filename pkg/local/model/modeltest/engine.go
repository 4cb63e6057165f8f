// Package modeltest runs the jobs of a model in tests, without an engine: no journal, no HTTP, no process.
//
// engine.go runs the jobs. resources.go creates what they need, and request.go changes their requests.
package modeltest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// Options are the size of an Engine's machine and its queues. The defaults are 4 vCPUs, 8192 MiB and the queue default.
type Options struct {
	VCPUs     float64
	MemoryMiB int64
	GPUs      []string
	Queues    []model.QueueSpec
	// Executor is the name of the executor.
	Executor string
}

// Engine is a model whose jobs run as the first argument of their commands says: "fail" exits with status 1, "7" with
// 7, "1h" takes that long and ends when asked, "stubborn" has to be killed, and anything else succeeds at once. An
// array has an argument for each child. Time passes while a test sleeps in a synctest bubble. An engine has no
// goroutines: it catches up when it is used. It is the state of an API, see call.State.
type Engine struct {
	t       testing.TB
	mu      sync.Mutex // guards the model during requests of other goroutines
	options Options
	model   *model.Model
	// journal has the records of all changes.
	journal [][]byte
	running []*run // in the order of their starts
	overdue int64  // the latest deadline that was handled
	// Ran are the attempts that have started, in order, and Most is how many ran at the same time.
	Ran  []attempt.Attempt
	Most int
}

// run is an attempt under way.
type run struct {
	task *model.Task
	end  int64
	exit int32
	word string
	// cause is why the attempt is asked to end, at the time asked.
	cause error
	asked int64
	// err is why it cannot start.
	err error
}

// New returns an engine without jobs.
func New(t testing.TB, o Options) *Engine {
	if o.VCPUs == 0 {
		o.VCPUs, o.MemoryMiB = 4, 8192
	}
	if o.Queues == nil {
		o.Queues = []model.QueueSpec{{Name: "default", Priority: 1}}
	}
	for i := range o.Queues {
		if o.Queues[i].Environments == nil {
			o.Queues[i].Environments = []string{model.ComputeEnvironment}
		}
	}
	return &Engine{t: t, options: o, model: model.New(o.Queues)}
}

// Restart returns an engine on another machine that reads the records of e, as after a crash.
func (e *Engine) Restart(o Options) *Engine {
	e.t.Helper()
	e.settle()
	next := New(e.t, o)
	next.journal = append(next.journal, e.journal...)
	for r := range e.records {
		for _, v := range r.Events {
			if err := next.model.Apply(r.At, v); err != nil {
				e.t.Fatal(err)
			}
		}
	}
	return next
}

// Events returns everything that has happened.
func (e *Engine) Events() (all []model.Event) {
	e.t.Helper()
	for r := range e.records {
		all = append(all, r.Events...)
	}
	return all
}

// records yields the records of the journal.
func (e *Engine) records(yield func(model.Record) bool) {
	e.t.Helper()
	for _, text := range e.journal {
		r, err := model.ReadRecord(text)
		if err != nil {
			e.t.Fatal(err)
		}
		if !yield(r) {
			return
		}
	}
}

// Recover ends what an earlier engine left running, and continues.
func (e *Engine) Recover() *Engine {
	e.t.Helper()
	at := time.Now().UnixMilli()
	for _, t := range e.model.Recover() {
		cause := attempt.ErrEngineClosing
		if t.Terminated || t.Job.Terminated {
			cause = attempt.ErrTerminated
		}
		e.apply(at, attempt.Concluded(t, model.Outcome{}, cause))
	}
	e.advance(at)
	return e
}

// Capacity returns the size of the machine.
func (e *Engine) Capacity() model.Amount {
	return model.Amount{MilliCPU: int64(e.options.VCPUs * 1000), MemoryMiB: e.options.MemoryMiB,
		GPUs: int64(len(e.options.GPUs))}
}

// Model returns the model now.
func (e *Engine) Model() *model.Model {
	e.t.Helper()
	m, done := e.View()
	defer done()
	return m
}

// View is Model for an API, which the engine does not change until done is called.
func (e *Engine) View() (m *model.Model, done func()) {
	e.t.Helper()
	e.mu.Lock()
	e.settle()
	return e.model, e.mu.Unlock
}

// Change applies the events that decide returns, and what follows from them.
func (e *Engine) Change(decide func(*model.Model) ([]model.Event, error)) error {
	e.t.Helper()
	m, done := e.View()
	defer done()
	events, err := decide(m)
	if err == nil {
		e.apply(time.Now().UnixMilli(), events...)
		e.advance(time.Now().UnixMilli())
		e.settle()
	}
	return err
}

// Do applies events, and what follows from them.
func (e *Engine) Do(events ...model.Event) {
	e.t.Helper()
	_ = e.Change(func(*model.Model) ([]model.Event, error) { return events, nil })
}

// AbsentSince returns that the engine runs.
func (e *Engine) AbsentSince() int64 { return 0 }

// Accepting returns that the engine accepts jobs.
func (e *Engine) Accepting() error { return nil }

// ProvideSecrets returns that no secret is missing.
func (e *Engine) ProvideSecrets(string, []secretsource.Value, []types.Secret) []error { return nil }

// Executor returns an executor that honours everything and runs nothing.
func (e *Engine) Executor(context.Context, string) (attempt.Executor, error) { return executor{}, nil }

type executor struct{ attempt.Executor }

// Unhonoured returns that every member has an effect.
func (executor) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

func (e *Engine) apply(at int64, events ...model.Event) {
	e.t.Helper()
	if len(events) == 0 {
		return
	}
	text, err := model.Record{At: at, Events: events}.Append(nil)
	if err != nil {
		e.t.Fatal(err)
	}
	e.journal = append(e.journal, text)
	for _, v := range events {
		if err := e.model.Apply(at, v); err != nil {
			e.t.Fatal(err)
		}
	}
}

// advance does everything that can be done at a time.
func (e *Engine) advance(at int64) {
	e.t.Helper()
	for t := e.model.Due(); t != nil; t = e.model.Due() {
		if t.Terminated {
			for _, r := range e.running {
				if r.task == t || r.task.Job == t.Job && t.IsParent() {
					r.stop(at, attempt.ErrTerminated)
				}
			}
		}
		e.apply(at, e.model.Follow(t, e.Capacity())...)
	}
	for _, d := range e.model.Schedule(at, e.Capacity()) {
		if d.Environment == nil {
			e.apply(at, model.Event{Explained: &model.Explanation{Job: d.Task.ID(), Reason: d.Reason, Waits: true}})
			continue
		}
		e.start(at, d.Task, d.Environment.Name)
	}
	for _, v := range e.model.Preemptions() {
		e.apply(at, v)
		for _, r := range e.running {
			if r.task.ID() == v.Preempted.Job {
				r.stop(at, attempt.ErrPreempted)
			}
		}
	}
	if events := e.model.Overdue(at); len(events) > 0 {
		e.apply(at, events...)
		e.advance(at)
	}
}

// start begins an attempt.
func (e *Engine) start(at int64, t *model.Task, environment string) {
	e.t.Helper()
	stream := fmt.Sprintf("00000000-0000-4000-8000-%012d", len(e.Ran)+1)
	e.apply(at, model.Event{Started: &model.Start{Job: t.ID(), Stream: stream, GPUs: e.model.Pin(e.options.GPUs, t.Job),
		Environment: environment, Executor: e.options.Executor}})
	a, err := attempt.Of(t)
	if err != nil {
		e.running = append(e.running, &run{task: t, end: at, err: err})
		return
	}
	if t.Job.Service != nil {
		e.apply(at, model.Preparing(t))
	}
	e.apply(at, model.Event{Launched: &model.Launch{Job: t.ID(), Handle: "test " + t.ID()}})
	r := &run{task: t, end: at, word: wordOf(t, a), asked: model.Never}
	if d, err := time.ParseDuration(r.word); err == nil {
		r.end += d.Milliseconds()
	} else if code, err := strconv.Atoi(r.word); err == nil {
		r.exit = int32(code)
	} else if r.word == "fail" {
		r.exit = 1
	} else if r.word == "stubborn" {
		r.end = model.Never
	}
	if late := at + int64(t.Job.Timeout())*1000; late > at && late < r.end {
		r.stop(late, attempt.ErrTimeout)
	}
	e.running, e.Ran = append(e.running, r), append(e.Ran, a)
	e.Most = max(e.Most, len(e.running))
}

// wordOf returns the argument that says how an attempt runs. That of the main container is for all of a job.
func wordOf(t *model.Task, a attempt.Attempt) string {
	words := a.Command
	if len(t.Job.Parts) > 0 {
		from, _ := t.Job.PartsOf(t.Job.MainNode())
		words = slices.Concat(t.Job.Parts[from].Commands()...)
	}
	switch {
	case len(words) == 0:
		return ""
	case t.IsChild():
		return words[int(t.Index)%len(words)]
	}
	return words[0]
}

// stop asks an attempt to end.
func (r *run) stop(at int64, cause error) {
	if r.asked <= at {
		return
	}
	r.cause, r.asked, r.exit, r.end = cause, at, 143, at
	if r.word == "stubborn" {
		r.exit, r.end = 137, at+attempt.StopTimeout.Milliseconds()
	}
}

// next returns the attempt that ends first, nil if there is none, and when something happens without a request.
func (e *Engine) next() (first *run, at int64) {
	at = model.Never
	for _, r := range e.running {
		if r.end < at {
			first, at = r, r.end
		}
	}
	if d := e.model.NextDeadline(); d < at && d > e.overdue {
		return nil, d
	}
	return first, at
}

// settle applies everything that has happened by now.
func (e *Engine) settle() {
	e.t.Helper()
	for r, at := e.next(); at <= time.Now().UnixMilli(); r, at = e.next() {
		if r == nil {
			e.overdue = at
		} else {
			for i := range e.running {
				if e.running[i] == r {
					e.running = append(e.running[:i:i], e.running[i+1:]...)
					break
				}
			}
			o := model.Outcome{Exit: &r.exit, StatusReason: model.ReasonExited}
			for _, p := range r.task.Job.Parts {
				o.Containers = append(o.Containers, model.ContainerEnd{Name: p.Name(), Exit: &r.exit})
			}
			if r.err != nil {
				o = attempt.NotStarted(r.err)
			}
			e.apply(at, attempt.Concluded(r.task, o, r.cause))
		}
		e.advance(at)
	}
}

// Idle waits until every job has ended.
func (e *Engine) Idle() {
	e.t.Helper()
	for e.Model().Active > 0 {
		_, at := e.next()
		if at == model.Never {
			e.t.Fatalf("%d jobs never end", e.model.Active)
		}
		time.Sleep(time.Until(time.UnixMilli(at)))
	}
}

// Running returns how many attempts run.
func (e *Engine) Running() int {
	e.settle()
	return len(e.running)
}

// IDs returns the ids of the jobs that have started, in order.
func (e *Engine) IDs() (all []string) {
	for _, a := range e.Ran {
		all = append(all, a.Job)
	}
	return all
}

// Value returns a variable of the attempt that started i-th; "" if it has none.
func (e *Engine) Value(i int, name string) string {
	for _, v := range e.Ran[i].Environment {
		if *v.Name == name {
			return *v.Value
		}
	}
	return ""
}

// Task returns a job, or a child of an array.
func (e *Engine) Task(id string) *model.Task {
	e.t.Helper()
	t := e.Model().Task(id)
	if t == nil {
		e.t.Fatalf("job %s does not exist", id)
	}
	return t
}

// Want reports an error unless a job has a status with a reason.
func (e *Engine) Want(id string, status types.JobStatus, reason string) {
	e.t.Helper()
	if t := e.Task(id); t.State.Status() != status || t.Reason != reason {
		e.t.Errorf("job %s: %s %q, want %s %q", id, t.State, t.Reason, status, reason)
	}
}
