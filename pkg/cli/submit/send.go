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
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// Sending is a plan on its way to a target.
type Sending struct {
	*term.Console
	Target *target.Target
	Plan   *plan.Plan
}

// prepare makes what the target lacks for the plan: the files on this machine, and the
// queues of the local engine.
func (s *Sending) prepare(ctx context.Context) error {
	if !s.Target.IsLocal() {
		return s.publish(ctx)
	}
	if err := s.mayPlace(); err != nil {
		return err
	}
	if err := s.publish(ctx); err != nil {
		return err
	}
	return s.Target.EnsureQueues(ctx, s.Plan)
}

// Now submits what can be submitted now, and says what has to wait in the client.
// Together with an error it returns the jobs that were accepted before it.
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

// Following submits everything and follows it: first what can be submitted now, then
// what waited for its end, and so on. follow returns the exit code of the verdict on
// some jobs, or why they are not followed on, which ends the submission, too.
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
	s.Target.Several = true
	submitting, cancel := context.WithCancel(ctx)
	defer cancel()
	w := s.start(submitting)
	for some := w.next(); len(some) > 0; some = w.next() {
		more, failed := follow(some)
		if code = max(code, more); failed != nil {
			cancel()
			err = failed
			break
		}
	}
	jobs, failed := w.end()
	printSkipped(s.Console, jobs)
	// That something is left to resume is more to know than why no one waits for it.
	if _, open := errors.AsType[*once.OpenError](failed); err == nil || open {
		err = session.SubmitFailure(ctx, s.Target, failed)
	}
	return jobs, code, err
}

// HoldsBack reports whether jobs of the plan are submitted when others have ended.
func (s *Sending) HoldsBack() bool {
	return slices.ContainsFunc(s.Plan.Jobs, func(j *plan.Job) bool { return j.When != "" })
}

// waves are the jobs of a submission as they are accepted.
type waves struct {
	accepted chan once.Submitted
	done     chan struct{}
	// first is how many jobs wait for nothing in the client.
	first int
	jobs  []once.Submitted
	err   error
}

// start submits in the background.
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

// free counts the jobs that neither wait in the client nor come after one that
// does, without definitions that are registered alone.
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

// next are the jobs that were accepted since: the first time all that wait for nothing,
// and then at least one. None: there are no more.
func (w *waves) next() (some []once.Submitted) {
	least := max(1, w.first)
	w.first = 0
	for len(some) < least {
		select {
		case j := <-w.accepted:
			some = append(some, j)
			continue
		default:
		}
		select {
		case j := <-w.accepted:
			some = append(some, j)
		case <-w.done:
			return w.rest(some)
		}
	}
	return w.rest(some)
}

// rest adds what is there already.
func (w *waves) rest(some []once.Submitted) []once.Submitted {
	for {
		select {
		case j := <-w.accepted:
			some = append(some, j)
		default:
			return some
		}
	}
}

// end waits for the submission.
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

// printWaiting says which steps no one submits unless someone waits.
func (s *Sending) printWaiting(w *once.Waiting) {
	var names []string
	for _, step := range w.Steps {
		names = append(names, step.Name)
	}
	fmt.Fprintf(s.Err, "%s (%s) run after others have finished, which AWS Batch cannot wait for: batchctl resume %s%s waits and submits them\n",
		term.Plural(len(names), "step"), diag.Printable(strings.Join(names, ", ")), w.Run, s.Target.Flags)
}
