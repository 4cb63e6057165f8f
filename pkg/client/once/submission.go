package once

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// shared has everything that several jobs of a run use, each created once.
type shared struct {
	definitions       definitions
	staged, resources onceEach
}

// carryOut submits the jobs of the run that have no outcome yet. It closes the run, or leaves it
// open.
func (c *Client) carryOut(ctx context.Context, r *run, wait bool) ([]Submitted, *Waiting, error) {
	known := c.newEnds()
	var err error
	if !r.stopping {
		err = c.carryOutAll(ctx, r, known, wait)
	}
	if r.stopping || c.StopOnFailure && isRejection(err) {
		err = c.stopRun(ctx, r, err)
		if !r.stopping { // otherwise duplicates of the stopped jobs would keep running
			err = errors.Join(err, c.endDuplicates(ctx, r))
		}
	}
	if err != nil {
		err = errors.Join(err, c.leaveReplays(r))
	}
	if r.attached {
		r.giveUp()
	}
	r.markHealed(known)
	jobs, unsettled, n := r.results(), !r.settled(), r.tally()
	if !unsettled {
		c.dropResources(ctx, r)
	}
	waiting := r.waiting(known)
	if closeErr := r.close(c.Ledger); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("write the ledger: %w", closeErr))
	}
	if !c.LeaveCheck || err != nil || n.unchecked == 0 { // otherwise CheckDuplicates reports them
		err = errors.Join(err, r.twiceError())
	}
	if _, due := errors.AsType[*DueError](err); err != nil && unsettled && r.log != nil && !due {
		err = &OpenError{Run: r.name, Jobs: len(r.tasks), Accepted: n.accepted, Unknown: n.unknown, Waiting: n.waiting, Skipped: n.skipped, Err: err}
	}
	return jobs, waiting, err
}

// carryOutAll submits in rounds: first the jobs that can be sent now, then those that waited for
// them in the client. After each round it checks for duplicates.
func (c *Client) carryOutAll(ctx context.Context, r *run, known *ends, wait bool) error {
	var s shared
	if !r.resumed { // in a resumed run some jobs may have been accepted
		if err := c.stageAll(ctx, r, &s.staged); err != nil {
			return err
		}
	}
	for {
		err := r.each(ctx, c.atOnce(), func(t *plannedJob) error { return c.carryOutTask(ctx, r, t, &s) }, (*plannedJob).needs)
		if err == nil {
			err = c.endDuplicates(ctx, r)
		}
		more := false
		if err == nil && (r.holds() || r.follows()) {
			more, err = c.awaitDue(ctx, r, known, wait)
		}
		if err == nil && !more && !c.LeaveCheck {
			err = c.lastCheck(ctx, r)
		}
		if err != nil || !more {
			return err
		}
	}
}

// carryOutTask sends the requests of one job. It first searches for a job that another process may
// have sent.
func (c *Client) carryOutTask(ctx context.Context, r *run, t *plannedJob, s *shared) error {
	if t.done || t.dropped || t.skipped != "" || t.held() {
		return nil
	}
	err := c.sendTask(ctx, r, t, s)
	if t.done {
		c.report(t.result)
	}
	return err
}

// sendTask sends one job with everything that it needs before: definition, staged texts and
// resource.
func (c *Client) sendTask(ctx context.Context, r *run, t *plannedJob, s *shared) error {
	c, err := c.clientOf(ctx, r, t)
	if err != nil {
		return err
	}
	if t.sent && t.submit != nil {
		if found, err := c.recover(ctx, r, t); found || err != nil {
			return err
		}
	}
	var definition registered
	if t.definer >= 0 {
		d, err := s.definitions.of(ctx, c, t.at, r.tasks[t.definer].register)
		if err != nil {
			return err
		}
		definition.arn, definition.fresh = d.arn, d.fresh
	}
	if t.submit == nil {
		return r.accepted(t, Submitted{Name: t.name, Definition: definition.arn})
	}
	in, err := r.resolved(t, definition.arn)
	if err != nil {
		return err
	}
	if err := c.stage(ctx, r, t, &s.staged); err != nil {
		return err
	}
	fresh, err := c.makeResource(ctx, r, t, &s.resources)
	if err != nil {
		return err
	}
	id, err := c.submitOnlyOnce(ctx, r, t, in, definition.fresh || fresh)
	if err != nil {
		return err
	}
	return r.accepted(t, t.submitted(id, aws.ToString(in.JobDefinition)))
}

// resolved returns a copy of the task's SubmitJob request with the definition and the ids of its
// dependencies.
func (r *run) resolved(t *plannedJob, arn string) (*awsbatch.SubmitJobInput, error) {
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
	text := fmt.Sprintf("%s; accepted %d of %d jobs", why, e.Accepted, e.Jobs)
	if e.Unknown > 0 {
		text += fmt.Sprintf(", %d may have been accepted", e.Unknown)
	}
	if e.Waiting > 0 {
		text += fmt.Sprintf(", %d wait for others to end", e.Waiting)
	}
	if e.Skipped > 0 {
		text += fmt.Sprintf(", %d are not needed", e.Skipped)
	}
	return text
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// stage writes the texts that a job needs to their locations, each once in this process. The
// location contains the hash, so that writing a text again after a crash changes nothing.
func (c *Client) stage(ctx context.Context, r *run, t *plannedJob, done *onceEach) error {
	for _, s := range t.staged {
		err := done.do(s.URL, func() error {
			text, err := r.stagedText(s)
			if err != nil {
				return err
			}
			return c.Stage(ctx, s.URL, text)
		})
		if err != nil {
			return fmt.Errorf("stage %s for job %s: %w", s.URL, t.name, err)
		}
	}
	return nil
}

// stageAll stages the texts of all jobs before the first job is submitted. If a location cannot be
// written, no part of a plan has been submitted.
func (c *Client) stageAll(ctx context.Context, r *run, done *onceEach) error {
	for _, t := range r.tasks {
		if err := c.stage(ctx, r, t, done); err != nil {
			return err
		}
	}
	return nil
}
