package once

import (
	"context"
	"errors"
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
