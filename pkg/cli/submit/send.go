package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
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
		return s.publish(ctx)
	}
	if err := errors.Join(s.checkStagePaths(), s.checkProvided()); err != nil {
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
				first = exit.Fail(exit.Problem, "job %s cannot start on this machine, and nothing was submitted: %s", diag.Printable(j.Name), diag.Printable(why))
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

// Now submits the jobs that wait for no other job in the client, and prints which
// steps remain for resume. Together with an error, it returns the jobs that were
// accepted before it.
func (s *Sending) Now(ctx context.Context) ([]once.Submitted, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	jobs, waiting, err := s.Target.SubmitNow(ctx, s.Plan)
	printSkipped(s.Console, jobs)
	if err == nil && waiting != nil {
		s.printWaiting(waiting)
	}
	return jobs, session.SubmitFailure(ctx, s.Target, err)
}

// Following submits all jobs and follows them: first those that can be submitted
// now, then those that waited for their end, and so on. follow returns the exit
// status of wave jobs. If it returns an error, Following submits no further job.
func (s *Sending) Following(ctx context.Context, follow func([]once.Submitted) (int, error)) (jobs []once.Submitted, code int, err error) {
	if err := s.prepare(ctx); err != nil {
		return nil, 0, err
	}
	if !s.HoldsBack() {
		jobs, err := s.Target.Submit(ctx, s.Plan)
		if err != nil || len(session.WithID(jobs)) == 0 {
			return jobs, 0, session.SubmitFailure(ctx, s.Target, err)
		}
		code, err := follow(session.WithID(jobs))
		return jobs, code, err
	}
	// Lines of the log then have the job's name, although the first wave may be
	// one job.
	s.Target.Several = true
	submitting, cancel := context.WithCancel(ctx)
	defer cancel()
	// An error of follow cancels the submission, but not ctx.
	w := s.start(submitting)
	for wave := w.next(); len(wave) > 0; wave = w.next() {
		more, failed := follow(wave)
		if code = max(code, more); failed != nil {
			cancel()
			err = failed
			break
		}
	}
	jobs, failed := w.end()
	printSkipped(s.Console, jobs)
	// An open submission matters more than why the waiting ended: it must be resumed.
	if _, open := errors.AsType[*once.OpenError](failed); err == nil || open {
		err = session.SubmitFailure(ctx, s.Target, failed)
	}
	return jobs, code, err
}

// HoldsBack reports whether batchctl submits wave jobs of the plan only after
// others have ended.
func (s *Sending) HoldsBack() bool {
	return slices.ContainsFunc(s.Plan.Jobs, func(j *plan.Job) bool { return j.When != "" })
}

// waves are the jobs of a submission in the groups in which they were accepted.
type waves struct {
	accepted chan once.Submitted
	// closed when the submission has ended; jobs and err are set then
	done chan struct{}
	// first is how many jobs the first wave has: those that wait for nothing in the client.
	first int
	jobs  []once.Submitted
	err   error
}

// start submits in the background. The channel has space for all jobs, so the
// submission never waits for the reader.
func (s *Sending) start(ctx context.Context) *waves {
	w := &waves{accepted: make(chan once.Submitted, len(s.Plan.Jobs)), done: make(chan struct{}), first: s.free()}
	s.Target.Accepted = func(j once.Submitted) {
		if j.ID != "" {
			w.accepted <- j
		}
	}
	go func() {
		defer close(w.done)
		w.jobs, w.err = s.Target.Submit(ctx, s.Plan)
	}()
	return w
}

// free counts the jobs that neither wait in the client nor come after a job that
// does. Definitions without a submission do not count.
func (s *Sending) free() (free int) {
	held := map[string]bool{}
	for _, j := range s.Plan.Jobs {
		held[j.Name] = j.When != "" || slices.ContainsFunc(j.After, func(d document.Dependency) bool { return held[d.Job] })
		if j.Submit != nil && !held[j.Name] {
			free++
		}
	}
	return free
}

// next returns the next jobs that were accepted: first all that wait for nothing,
// then at least one at a time. It returns nil when the submission has ended.
func (w *waves) next() (wave []once.Submitted) {
	least := max(1, w.first)
	w.first = 0
	for len(wave) < least {
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
			continue
		default:
		}
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
		case <-w.done:
			return w.rest(wave)
		}
	}
	return w.rest(wave)
}

// rest adds the jobs that are accepted already, without waiting.
func (w *waves) rest(wave []once.Submitted) []once.Submitted {
	for {
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
		default:
			return wave
		}
	}
}

// end waits for the submission and returns its result.
func (w *waves) end() ([]once.Submitted, error) {
	<-w.done
	return w.jobs, w.err
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
	fmt.Fprintf(s.Err, "%s (%s) run after others have finished, which AWS Batch cannot wait for: batchctl resume %s%s waits and submits them\n",
		term.Plural(len(names), "step"), diag.Printable(strings.Join(names, ", ")), w.Run, s.Target.Flags)
}
