package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
)

// StoppedError reports that a job of a submission was rejected, and that the accepted jobs were
// stopped. The submission is closed.
type StoppedError struct {
	// Jobs is how many jobs the submission has.
	Jobs int
	// Stopped are the accepted jobs that had not ended before.
	Stopped []Submitted
	// Err is the rejection; nil if another process received it.
	Err error
}

// Error counts the stopped jobs and has the cause.
func (e *StoppedError) Error() string {
	why := "a job of the run was rejected"
	if e.Err != nil {
		why = e.Err.Error()
	}
	if len(e.Stopped) == 0 {
		return why + "; no job was left to stop"
	}
	var names []string
	for _, s := range e.Stopped {
		names = append(names, s.Name+" ("+batch.ShortID(s.ID)+")")
	}
	return fmt.Sprintf("%s; stopped the accepted jobs, %d of %d: %s", why, len(names), e.Jobs,
		strings.Join(names, ", "))
}

// Unwrap returns the rejection.
func (e *StoppedError) Unwrap() error { return e.Err }

// isRejection reports whether the service rejected a submission for good: not because of
// throttling or expired credentials.
func isRejection(err error) bool {
	no, ok := errors.AsType[*client.RefusedError](err)
	if !ok || client.Throttled(err) || client.Expired(err) {
		return false
	}
	return slices.ContainsFunc([]string{client.ActionSubmit, client.ActionRegister, client.ActionCreateResource},
		func(action string) bool {
			return strings.HasPrefix(no.Action, action)
		})
}

// stopRun stops the accepted jobs of a run, gives up the rest and closes the run. It first records
// this decision, so that a resume does the same. It also searches for jobs that may have been
// accepted.
func stopRun(ctx context.Context, x *targets, why error) error {
	r := x.run
	if r.tally().accepted == 0 && !r.stopping() {
		return why // nothing was sent
	}
	if !r.stopping() && r.log != nil {
		if err := errors.Join(r.log.write(line{Time: stamp(), What: lineStopping, Reason: reasonOf(why)}),
			r.log.sync()); err != nil {
			return errors.Join(why, err)
		}
	}
	r.progress = runStopping
	for _, t := range r.tasks {
		// In a run that was taken over, a job that is not needed counts as sent, too.
		if !t.sent || t.phase != jobDue && t.phase != jobSkipped {
			continue
		}
		there, err := x.clientOf(ctx, t)
		if err != nil {
			return errors.Join(why, err)
		}
		if _, err := there.sender(r).recover(ctx, t); err != nil {
			return errors.Join(why, err)
		}
	}
	stopped, err := stopAccepted(ctx, x)
	if err != nil {
		return errors.Join(why, fmt.Errorf("stop the accepted jobs: %w", err))
	}
	for _, t := range r.tasks {
		if !t.open() {
			continue
		}
		t.drop()
		if err := r.note(t, line{What: lineDropped}); err != nil {
			return errors.Join(why, err)
		}
	}
	r.progress = runGoing
	return &StoppedError{len(r.tasks), stopped, why}
}

// reasonOf returns a status reason for jobs that are stopped because of an error.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// stopAccepted stops the run's jobs and returns those that had not ended before.
func stopAccepted(ctx context.Context, x *targets) (stopped []Submitted, err error) {
	return stopped, x.eachTarget(ctx, func(c *Client, tasks []*plannedJob) (err error) {
		var jobs []Submitted
		var ids []string
		for _, t := range tasks {
			if t.isAccepted() && t.result.ID != "" {
				jobs, ids = append(jobs, t.result), append(ids, t.result.ID)
			}
		}
		for i, s := range c.StopAll(ctx, ids, "batchctl: another job of its submission was rejected") {
			if s.Err != nil {
				err = errors.Join(err, s.Err)
			} else if s.Call != "" {
				stopped = append(stopped, jobs[i])
			}
		}
		return err
	})
}
