package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// Sending submits a plan to a target.
type Sending struct {
	*term.Console
	Target *target.Target
	Plan   *plan.Plan
}

// prepare creates what the plan needs at the target: the files from this machine,
// and the queues of the local engine.
func (s *Sending) prepare(ctx context.Context) error {
	if !s.Target.IsLocal() {
		if err := s.checkDirectories(); err != nil {
			return err
		}
		return s.publish(ctx)
	}
	if err := errors.Join(s.checkStagePaths(), s.checkProvided(), s.checkFits(ctx)); err != nil {
		return err
	}
	if err := s.nameDirectories(); err != nil {
		return err
	}
	if err := s.publish(ctx); err != nil {
		return err
	}
	return s.Target.EnsureQueues(ctx, s.Plan)
}

// checkProvided refuses jobs that the local engine could not start: it lacks a secret, a volume or
// a permission.
func (s *Sending) checkProvided() error {
	var first *exit.Failure
	for _, j := range s.Plan.Jobs {
		for _, why := range s.Target.Lacking(j) {
			if first == nil {
				first = exit.Fail(exit.Problem, "job %s cannot start on this machine, and nothing was submitted: %s",
					diag.Printable(j.Name), diag.Printable(why))
				continue
			}
			fmt.Fprintf(s.Err, "job %s: %s\n", diag.Printable(j.Name), diag.Printable(why))
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// checkFits refuses jobs that the local engine would reject, or let wait indefinitely.
func (s *Sending) checkFits(ctx context.Context) error {
	var stuck error
	for _, p := range preview.Problems(ctx, s.Target, s.Plan) {
		fmt.Fprintf(s.Err, "%s  not submitted: %s\n", diag.Printable(p.Job), diag.Printable(p.Text))
		if stuck == nil {
			stuck = &jobs.ErrStuck{Job: once.Submitted{Name: p.Job}, Why: p.Text, Remedy: p.Remedy}
		}
	}
	return stuck
}

// Now submits the jobs that wait for no other job in the client, and prints which
// steps remain for resume. Together with an error, it returns the jobs that were
// accepted before it.
func (s *Sending) Now(ctx context.Context) ([]once.Submitted, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	jobs, waiting, err := s.Target.Client.SubmitNow(ctx, s.Plan)
	printSkipped(s.Console, jobs)
	if err == nil && waiting != nil {
		s.printWaiting(waiting)
	}
	return jobs, session.SubmitFailure(ctx, s.Target, err)
}

// Following submits all jobs and follows them: first those that can be submitted
// now, then those that waited for their end, and so on. follow returns the exit
// status of wave jobs. If it returns an error, Following submits no further job.
func (s *Sending) Following(ctx context.Context,
	follow func([]once.Submitted) (int, error)) (_ []once.Submitted, code int, err error) {
	if err := s.prepare(ctx); err != nil {
		return nil, 0, err
	}
	if !s.HoldsBack() {
		list, err := s.Target.Client.Submit(ctx, s.Plan)
		if err != nil || len(session.WithID(list)) == 0 {
			return list, 0, session.SubmitFailure(ctx, s.Target, err)
		}
		code, err := follow(session.WithID(list))
		return list, code, err
	}
	// Lines of the log then have the job's name, although the first wave may be
	// one job.
	s.Target.Several = true
	submitting, cancel := context.WithCancel(ctx)
	defer cancel()
	// An error of follow cancels the submission, but not ctx.
	w := jobs.Start(s.Target, s.free(),
		func() ([]once.Submitted, error) { return s.Target.Client.Submit(submitting, s.Plan) })
	for wave := w.Next(); len(wave) > 0; wave = w.Next() {
		more, failed := follow(wave)
		if code = max(code, more); failed != nil {
			cancel()
			err = failed
			break
		}
	}
	list, failed := w.End()
	if err == nil && failed == nil {
		code, err = jobs.VerdictOf(ctx, s.Target, list, code)
	}
	printSkipped(s.Console, list)
	// An open submission matters more than why the waiting ended: it must be resumed.
	if _, open := errors.AsType[*once.OpenError](failed); err == nil || open {
		err = session.SubmitFailure(ctx, s.Target, failed)
	}
	return list, code, err
}

// HoldsBack reports whether the submission lasts until jobs of the plan have
// ended: others wait for them in the client, they have rungs, or a message about
// their end is to be sent.
func (s *Sending) HoldsBack() bool {
	return slices.ContainsFunc(s.Plan.Jobs, func(j *plan.Job) bool {
		return j.When != "" || once.Climbs(j.Submit) ||
			len(j.Notify) > 0
	})
}

// free counts the jobs that neither wait in the client nor come after a job that
// does. Definitions without a submission do not count.
func (s *Sending) free() (free int) {
	held, climbs := map[string]bool{}, map[string]bool{}
	for _, j := range s.Plan.Jobs {
		held[j.Name] = j.When != "" ||
			slices.ContainsFunc(j.After, func(d document.Dependency) bool { return held[d.Job] || climbs[d.Job] })
		climbs[j.Name] = once.Climbs(j.Submit)
		if j.Submit != nil && !held[j.Name] {
			free++
		}
	}
	return free
}

// printSkipped names the steps that were not needed.
func printSkipped(con *term.Console, jobs []once.Submitted) {
	for _, j := range jobs {
		if j.Skipped != "" {
			fmt.Fprintf(con.Err, "%s  not submitted: %s\n", diag.Printable(j.Name), diag.Printable(j.Skipped))
		}
	}
}

// printWaiting names the steps that are submitted only if batchctl waits for
// other jobs.
func (s *Sending) printWaiting(w *once.Waiting) {
	var names []string
	for _, step := range w.Steps {
		names = append(names, step.Name)
	}
	if len(names) > 0 {
		fmt.Fprintf(s.Err, "not submitted yet: %s (%s), which must wait until other jobs have ended; to wait and submit: batchctl resume %s%s\n",
			text.Count(len(names), "step"), diag.Printable(strings.Join(names, ", ")), w.Run, s.Target.Flags)
	}
	names = nil
	for _, j := range w.Followed {
		names = append(names, j.Name)
	}
	if len(names) > 0 {
		fmt.Fprintf(s.Err, "onFailure and notify of %s (%s) need a command that waits: batchctl resume %s%s\n",
			text.Count(len(names), "job"), diag.Printable(strings.Join(names, ", ")), w.Run, s.Target.Flags)
	}
}
