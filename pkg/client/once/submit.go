package once

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/batchctl/batchctl/pkg/plan"
)

// Submit registers the definitions and submits the plan's jobs, each once. The ledger records every
// intent before the first call. If an answer is missing, Submit searches for the job, and it stops
// duplicates. It then waits about a minute for the last check for duplicates (LeaveCheck). It also
// waits for the jobs that have to end before others can be submitted (plan.Job.When). Together with
// an error it returns the jobs already accepted, so that a partial submission is never hidden. The
// error of a SubmitJob is a *RefusedError, an *UnreachableError or an *AmbiguousError. It is inside
// an *OpenError when Resume can continue, or inside a *StoppedError with StopOnFailure. When all
// jobs were accepted the error may be a *DueError or a *TwiceError.
func (c *Client) Submit(ctx context.Context, p *plan.Plan) ([]Submitted, error) {
	jobs, _, err := c.submitPlan(ctx, p, true)
	return jobs, err
}

// SubmitNow is Submit without waiting. It leaves jobs that cannot be submitted before others have
// ended to Resume, and returns them as a Waiting; nil if there are none. It needs a ledger if a
// plan has such jobs.
func (c *Client) SubmitNow(ctx context.Context, p *plan.Plan) ([]Submitted, *Waiting, error) {
	return c.submitPlan(ctx, p, false)
}

// submitPlan creates the intents, writes them to the ledger and sends the jobs.
func (c *Client) submitPlan(ctx context.Context, p *plan.Plan, wait bool) ([]Submitted, *Waiting, error) {
	r, err := c.newRun(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if !wait && c.Ledger == nil && (r.holds() || slices.ContainsFunc(r.tasks, (*plannedJob).laddered)) {
		return nil, nil, errors.New("submit: some jobs must wait until others have finished, which needs a ledger")
	}
	if err := r.open(c.Ledger); err != nil {
		return nil, nil, err
	}
	return c.runner(r).carryOut(ctx, wait)
}

// Resume continues an open submission of the ledger. It searches for jobs that may have been
// accepted, submits those that were not, and stops duplicates. It waits for the last check for
// duplicates, a minute at most, and for jobs that have to end before others can be submitted. The
// error is fs.ErrNotExist if the submission no longer has a log, and a *LockedError if another
// process works on it.
func (c *Client) Resume(ctx context.Context, name string) ([]Submitted, error) {
	r, err := c.takeRun(name)
	if err != nil {
		return nil, err
	}
	if r.broken() || r.attached {
		return r.results(), c.abandon(r)
	}
	if err := checkStaged(r, c.Stage != nil); err != nil {
		return r.results(), errors.Join(err, r.log.release())
	}
	if r.damaged != "" {
		c.progress("run %s: %s cannot be read: checking every job at the target", r.name, r.damaged)
	}
	if err := r.log.write(worker(lineResumed)); err != nil {
		return nil, errors.Join(err, r.log.release())
	}
	u := c.runner(r)
	if err := u.checks.awaitLastCheck(ctx); err != nil {
		return r.results(), errors.Join(dueError(r, err), r.close(c.Ledger))
	}
	jobs, _, err := u.carryOut(ctx, true)
	return jobs, err
}

// abandon closes a run that cannot be continued: its intents were never complete, so that nothing
// was sent, or its jobs ended with its process.
func (c *Client) abandon(r *run) error {
	if r.broken() {
		c.progress("run %s sent nothing before it was interrupted: submit it again", r.name)
		return r.log.remove()
	}
	c.progress("run %s belonged to a batchctl run command that has ended, and its jobs ended with it", r.name)
	return dropRest(c.Ledger, r)
}

// Drop closes an open submission without sending the rest. Accepted jobs stay unchanged, and
// batchctl no longer searches for jobs that may have been accepted. A damaged log is set aside. The
// log of a newer version stays unchanged, and is an error.
func (c *Client) Drop(name string) ([]Submitted, error) {
	log, text, err := c.Ledger.logs().reopen(name)
	if err != nil {
		return nil, err
	}
	r, damage := runOf(name, log, text)
	newer, _ := errors.AsType[*RunDamageError](damage)
	switch {
	case newer != nil && newer.Newer:
		return nil, errors.Join(damage, log.release())
	case damage != nil:
		return nil, errors.Join(os.Rename(log.path, log.path+".damaged"), log.release())
	case r.broken():
		return nil, log.remove()
	case r.target != c.Ledger.Target:
		return nil, errors.Join(&ElsewhereError{name, r.target, c.Ledger.Target}, log.release())
	}
	return r.results(), dropRest(c.Ledger, r)
}

// dropRest records what is given up before the log is removed: closing the run reads that record.
func dropRest(l *Ledger, r *run) error {
	r.giveUp()
	for _, t := range r.tasks {
		if t.phase != jobDropped {
			continue
		}
		if err := r.note(t, line{What: lineDropped}); err != nil {
			return errors.Join(err, r.log.release())
		}
	}
	return r.close(l)
}
