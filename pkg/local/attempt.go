package local

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// runner is an attempt in progress in this process.
type runner struct {
	end context.CancelCauseFunc
}

// run carries out an attempt once its record is in the journal's file, up to noted. There the next
// engine finds it, however this one ends. The record need not be synced, since an attempt does not
// outlive its machine. The caller holds e.mu.
func (e *Engine) run(t *model.Task, noted int64) {
	ctx, end := context.WithCancelCause(context.Background())
	e.runners[t] = &runner{end: end}
	a, prepared := attempt.Of(t)
	life := &attempt.Life{Task: t, Scratch: e.directory.scratch, Logs: e.logs, Log: e.options.Log, Hurry: e.hurry, End: end,
		Executor: func(ctx context.Context) (attempt.Executor, error) {
			return attempt.Choose(ctx, e.options.Executor, attempt.ChosenBy(t.Job))
		},
		Secret:    e.secrets.of(t.Job),
		OthersRun: func() bool { return e.othersRun(t) },
		Preparing: func() { e.report(model.Preparing(t)) },
		Launched: func(handle, imageDigest string) {
			e.report(model.Event{Launched: &model.Launch{Job: t.ID(), Handle: handle, ImageDigest: imageDigest}})
			e.strike(ctx, t, end)
		}}
	e.ready = append(e.ready, func() ready {
		defer end(nil)
		var o model.Outcome
		if err := cmp.Or(prepared, e.journal.Written(noted)); err != nil {
			o = attempt.NotStarted(err)
		} else {
			o = life.Run(ctx, a)
		}
		return e.conclude(t, o, context.Cause(ctx))
	})
}

// ready is an attempt that may be carried out. It returns the attempt that took its place, if any:
// the goroutine that ended an attempt continues with the next, without waking another.
type ready func() ready

// conclude records how t's attempt ended, and why the engine ended it, if it did. Then it starts
// what may start: it returns one of those attempts and starts goroutines for the others.
func (e *Engine) conclude(t *model.Task, o model.Outcome, cause error) (next ready) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runners, t)
	e.struck(t, o, cause)
	ended := attempt.Concluded(t, o, cause)
	if o.LogCut { // after the retry strategy has matched AWS Batch's reason
		ended.Ended.StatusReason += "; the log was cut at its limit of " + logs.SizeText(e.options.LogLimit)
	}
	if len(o.Without) > 0 && ended.Ended.StatusReason == model.ReasonExited {
		ended.Ended.StatusReason += "; here without effect: " + strings.Join(o.Without, ", ")
	}
	e.facts = append(e.facts, fact{event: ended})
	e.advance()
	e.secrets.forgetEnded(t.Job)
	if len(e.ready) > 0 {
		next, e.ready = e.ready[0], e.ready[1:]
	}
	e.carryOutReady()
	e.waiters.notify()
	return next
}

// carryOutReady starts goroutines for the attempts that were started. The caller holds e.mu.
func (e *Engine) carryOutReady() {
	for _, r := range e.ready {
		e.running.Go(func() {
			for r != nil {
				r = r()
			}
		})
	}
	e.ready = nil
}

// othersRun reports whether the command of another task is running.
func (e *Engine) othersRun(t *model.Task) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other := range e.runners {
		if other != t && other.State == model.Running {
			return true
		}
	}
	return false
}

// report records what an attempt has done: that its preparation began, or that its command runs. The
// latter has the executor's handle, with which a later engine can end its processes.
func (e *Engine) report(happened model.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts = append(e.facts, fact{event: happened})
	e.step()
}

// preempt asks the attempts to end that other service jobs need the capacity of. The caller holds e.mu.
func (e *Engine) preempt() error {
	events := e.model.Preemptions()
	if len(events) == 0 {
		return nil
	}
	if _, err := e.write(events...); err != nil {
		return err
	}
	for _, v := range events {
		if r := e.runners[e.model.Task(v.Preempted.Job)]; r != nil {
			r.end(attempt.ErrPreempted)
		}
	}
	return nil
}

// endStopped ends the attempts of a terminated job or array. The caller holds e.mu.
func (e *Engine) endStopped(t *model.Task) {
	if !t.Terminated {
		return
	}
	for running, r := range e.runners {
		if running == t || running.Job == t.Job && t.IsParent() {
			r.end(attempt.ErrTerminated)
		}
	}
}

// executorName returns the name of a job's executor: ProcessExecutor, or a container program. It is
// empty for an executor without a name.
func (e *Engine) executorName(j *model.Job) string {
	return cmp.Or(attempt.ChosenBy(j), e.defaultExecutor())
}

// defaultExecutor returns the name of the executor of jobs that choose none.
func (e *Engine) defaultExecutor() string {
	switch x := e.options.Executor.(type) {
	case process.Executor:
		return process.Name
	case fmt.Stringer:
		name, _, _ := strings.Cut(x.String(), " ")
		return name
	}
	return ""
}

// newStream returns the id of the attempt that t begins, and of its log stream. Batch names streams
// after the ECS task of the attempt, moto after the job.
func (e *Engine) newStream(t *model.Task) string {
	if e.options.Lenient && len(t.Attempts) == 0 && !t.IsChild() {
		return t.Job.ID
	}
	return call.NewID()
}
