package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/text"
)

// run carries out an attempt once its record is in the journal's file, up to noted. There the next
// engine finds it, however this one ends. The record need not be synced, since an attempt does not
// outlive its machine. The caller holds e.mu.
func (e *Engine) run(t *model.Task, noted int64) {
	ctx, end := e.attempts.begin(t)
	a, prepared := attempt.Of(t)
	life := &attempt.Life{Task: t, Scratch: e.directory.scratch, Logs: e.logs, Log: e.options.Log,
		Hurry: e.attempts.hurry, End: end,
		Executor: func(ctx context.Context) (attempt.Executor, error) {
			return attempt.Choose(ctx, e.options.Executor, attempt.ChosenBy(t.Job))
		},
		Secret:    e.secrets.of(t.Job),
		OthersRun: func() bool { return e.attempts.othersRun(t) },
		Preparing: func() { e.report(model.Preparing(t)) },
		Launched: func(handle, imageDigest string) {
			e.report(model.Event{Launched: &model.Launch{Job: t.ID(), Handle: handle, ImageDigest: imageDigest}})
			e.strike(ctx, t, end)
		}}
	e.attempts.queue(func() ready {
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

// conclude records how t's attempt ended, and why the engine ended it, if it did. Then it starts
// what may start: it returns one of those attempts and starts goroutines for the others.
func (e *Engine) conclude(t *model.Task, o model.Outcome, cause error) (next ready) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempts.remove(t)
	e.struck(t, o, cause)
	e.facts = append(e.facts, concluded(t, o, cause, e.options.LogLimit))
	e.advance()
	e.secrets.forgetEnded(t.Job)
	next = e.attempts.next()
	e.attempts.carryOutReady()
	e.waiters.notify()
	return next
}

// concluded returns the event of attempt.Concluded. Its status reason also names what differs from
// AWS Batch: a log that was cut at limit, and members without effect.
func concluded(t *model.Task, o model.Outcome, cause error, limit int64) model.Event {
	ended := attempt.Concluded(t, o, cause)
	if o.LogCut { // after the retry strategy has matched AWS Batch's reason
		ended.Ended.StatusReason += "; the log was cut at its limit of " + text.ExactSize(limit)
	}
	if len(o.Without) > 0 && ended.Ended.StatusReason == model.ReasonExited {
		ended.Ended.StatusReason += "; without effect here: " + strings.Join(o.Without, ", ")
	}
	return ended
}

// report records what an attempt has done: that its preparation began, or that its command runs. The
// latter has the executor's handle, with which a later engine can end its processes.
func (e *Engine) report(happened model.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts = append(e.facts, happened)
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
		e.attempts.end(e.model.Task(v.Preempted.Job), attempt.ErrPreempted)
	}
	return nil
}

// defaultExecutor returns the name of x, the executor of jobs that choose none: process.Name, or a
// container program. It is empty for an executor without a name.
func defaultExecutor(x attempt.Executor) string {
	switch x := x.(type) {
	case process.Executor:
		return process.Name
	case fmt.Stringer:
		name, _, _ := strings.Cut(x.String(), " ")
		return name
	}
	return ""
}

// abandon ends what an earlier engine left of t's attempt.
func abandon(t *model.Task, x attempt.Executor, log *slog.Logger) {
	a := t.Active()
	var ids []string
	for i := range t.Job.Parts {
		ids = append(ids, model.PartStream(a.Stream, i))
	}
	ids = append(ids, a.Stream) // after the containers of a pod, whose volumes have this id
	for _, id := range ids {
		if err := x.Clear(id, a.Handle); err != nil {
			log.Warn("cannot stop a process of an earlier engine", "job", t.ID(), "error", err)
		}
	}
}
