package once

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// runner carries out a run: it sends the jobs, waits for those that others wait for, and closes the run
// or leaves it open.
type runner struct {
	client  *Client
	run     *run
	targets *targets
	checks  duplicateChecks
	known   *ends

	// What several jobs of the run use, each created once.
	definitions definitions
	staged      stager
	resources   onceEach
}

// runner returns the runner of a run that no other process works on.
func (c *Client) runner(r *run) *runner {
	x := newTargets(c, r)
	return &runner{client: c, run: r, targets: x, checks: duplicateChecks{c, r, x}, known: newEnds(c),
		staged: stager{log: r.log}}
}

// carryOut submits the jobs of the run that have no outcome yet. It closes the run, or leaves it
// open.
func (u *runner) carryOut(ctx context.Context, wait bool) ([]Submitted, *Waiting, error) {
	c, r := u.client, u.run
	var err error
	if !r.stopping() {
		err = u.sendAll(ctx, wait)
	}
	if r.stopping() || c.StopOnFailure && isRejection(err) {
		err = stopRun(ctx, u.targets, err)
		if !r.stopping() { // otherwise duplicates of the stopped jobs would keep running
			err = errors.Join(err, u.checks.endDuplicates(ctx))
		}
	}
	if err != nil {
		err = errors.Join(err, u.checks.leaveReplays())
	}
	if r.attached {
		r.giveUp()
	}
	u.known.markHealed(r.tasks)
	jobs, unsettled, n := r.results(), !r.settled(), r.tally()
	if !unsettled {
		dropResources(ctx, c, r)
	}
	waiting := waitingOf(r, u.known)
	if closeErr := r.close(c.Ledger); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("write the ledger: %w", closeErr))
	}
	if !c.LeaveCheck || err != nil || n.unchecked == 0 { // otherwise CheckDuplicates reports them
		err = errors.Join(err, r.twiceError())
	}
	if _, due := errors.AsType[*DueError](err); err != nil && unsettled && r.log != nil && !due {
		err = &OpenError{Run: r.name, Jobs: len(r.tasks), Accepted: n.accepted, Unknown: n.unknown, Waiting: n.waiting,
			Skipped: n.skipped, Err: err}
	}
	return jobs, waiting, err
}

// sendAll submits in rounds: first the jobs that can be sent now, then those that waited for them in
// the client. After each round it checks for duplicates.
func (u *runner) sendAll(ctx context.Context, wait bool) error {
	r := u.run
	if !r.resumed() { // in a resumed run some jobs may have been accepted
		if err := u.stageAll(ctx); err != nil {
			return err
		}
	}
	f := follower{u.client, r, u.targets, u.known, u.checks}
	for {
		err := eachJob(ctx, r.tasks, u.client.atOnce(), func(t *plannedJob) error { return u.sendOpen(ctx, t) },
			(*plannedJob).needs)
		if err == nil {
			err = u.checks.endDuplicates(ctx)
		}
		more := false
		if err == nil && (r.holds() || r.follows()) {
			more, err = f.awaitDue(ctx, wait)
		}
		if err == nil && !more && !u.client.LeaveCheck {
			err = u.checks.lastCheck(ctx)
		}
		if err != nil || !more {
			return err
		}
	}
}

// stageAll stages the texts of all jobs before the first job is submitted. If a location cannot be
// written, no part of a plan has been submitted.
func (u *runner) stageAll(ctx context.Context) error {
	for _, t := range u.run.tasks {
		if err := u.staged.stage(ctx, t, u.client.Stage); err != nil {
			return err
		}
	}
	return nil
}

// sendOpen sends a job if it has no outcome yet and does not wait, and reports it.
func (u *runner) sendOpen(ctx context.Context, t *plannedJob) error {
	if t.phase != jobDue {
		return nil
	}
	err := u.send(ctx, t)
	if t.isAccepted() {
		u.client.report(t.result)
	}
	return err
}

// send sends one job with everything that it needs before: definition, staged texts and resource. It
// first searches for a job that another process may have sent.
func (u *runner) send(ctx context.Context, t *plannedJob) error {
	r := u.run
	c, err := u.targets.clientOf(ctx, t)
	if err != nil {
		return err
	}
	if t.sent {
		if found, err := c.sender(r).recover(ctx, t); found || err != nil {
			return err
		}
	}
	var definition registered
	if t.definer >= 0 {
		d, err := u.definitions.of(ctx, c.Client, t.at, r.tasks[t.definer].register)
		if err != nil {
			return err
		}
		definition.arn, definition.fresh = d.arn, d.fresh
	}
	if t.submit == nil {
		return r.accepted(t, Submitted{Name: t.name, Definition: definition.arn})
	}
	in, err := resolved(r, t, definition.arn)
	if err != nil {
		return err
	}
	if err := u.staged.stage(ctx, t, c.Stage); err != nil {
		return err
	}
	fresh, err := makeResource(ctx, c.Client, r, t, &u.resources)
	if err != nil {
		return err
	}
	id, err := c.sender(r).submitOnlyOnce(ctx, t, in, definition.fresh || fresh)
	if err != nil {
		return err
	}
	return r.accepted(t, t.submitted(id, aws.ToString(in.JobDefinition)))
}

// resolved returns a copy of the task's SubmitJob request with the definition and the ids of its
// dependencies.
func resolved(r *run, t *plannedJob, arn string) (*awsbatch.SubmitJobInput, error) {
	in := *t.submit
	if arn != "" {
		in.JobDefinition = &arn
	}
	for _, e := range t.after {
		if on := r.tasks[e.Job]; on.result.ID == "" && t.when == "" {
			return nil, fmt.Errorf("submit job %s: it depends on %s, which has no id", t.name, on.name)
		}
	}
	in.DependsOn = append(slices.Clone(in.DependsOn), t.dependsOn(func(e edge) *string {
		if on := r.tasks[e.Job]; !on.laddered() {
			return &on.result.ID
		}
		return nil // it has ended
	})...)
	return &in, nil
}

// OpenError reports that a submission is unfinished, and why. Resume continues it.
type OpenError struct {
	// Run is the submission's id in the ledger.
	Run string
	// Jobs is the number of jobs in the submission, and Accepted those with an id. Unknown jobs
	// may have been accepted. Waiting jobs wait for others, and Skipped ones are not needed.
	Jobs, Accepted, Unknown, Waiting, Skipped int
	Err                                       error
}

// Error counts the jobs by state and has the cause.
func (e *OpenError) Error() string {
	why := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		why = "interrupted"
	}
	text := fmt.Sprintf("%s; %d of %d jobs were accepted", why, e.Accepted, e.Jobs)
	if e.Unknown > 0 {
		text += fmt.Sprintf(", %d may have been accepted", e.Unknown)
	}
	if e.Waiting > 0 {
		text += fmt.Sprintf(", %d wait for others to finish", e.Waiting)
	}
	if e.Skipped > 0 {
		text += fmt.Sprintf(", %d are not needed", e.Skipped)
	}
	return text
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }
