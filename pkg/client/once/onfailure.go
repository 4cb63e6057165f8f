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

// StoppedError is a submission that was refused in its middle, and of which all that
// had been accepted was stopped. The run is closed.
type StoppedError struct {
	// Jobs is how many jobs the run has.
	Jobs int
	// Stopped are those that had been accepted, and had not ended before.
	Stopped []Submitted
	// Err is the refusal; nil where another process met it.
	Err error
}

func (e *StoppedError) Error() string {
	why := "a job of the run was refused"
	if e.Err != nil {
		why = e.Err.Error()
	}
	if len(e.Stopped) == 0 {
		return why + "; no job of it was left to stop"
	}
	var names []string
	for _, s := range e.Stopped {
		names = append(names, s.Name+" ("+batch.ShortID(s.ID)+")")
	}
	return fmt.Sprintf("%s; stopped what had been accepted, %d of %d jobs: %s", why, len(names), e.Jobs, strings.Join(names, ", "))
}

func (e *StoppedError) Unwrap() error { return e.Err }

// isNo reports that a submission was refused, and will be: not for speed, nor for
// credentials that may be renewed.
func isNo(err error) bool {
	no, ok := errors.AsType[*client.RefusedError](err)
	if !ok || client.Throttled(err) || client.Expired(err) {
		return false
	}
	return slices.ContainsFunc([]string{client.ActionSubmit, client.ActionRegister, client.ActionCreateResource}, func(action string) bool {
		return strings.HasPrefix(no.Action, action)
	})
}

// stopRun stops what was accepted of a run that was refused, gives up the rest and has
// the run closed. That it does so is written down first, so that a resume goes on with
// it. What may have been accepted is looked up before.
func (c *Client) stopRun(ctx context.Context, r *run, why error) error {
	if r.tally().accepted == 0 && !r.stopping {
		return why // there is nothing to stop, nor to leave
	}
	if !r.stopping && r.log != nil {
		if err := errors.Join(r.log.write(line{Time: stamp(), What: lineStopping, Reason: reasonOf(why)}), r.log.sync()); err != nil {
			return errors.Join(why, err)
		}
	}
	r.stopping = true
	for _, t := range r.tasks {
		if t.submit == nil || !t.sent || t.done || t.dropped || t.held() {
			continue
		}
		if _, err := c.recover(ctx, r, t); err != nil {
			return errors.Join(why, err)
		}
	}
	stopped, err := c.stopAccepted(ctx, r)
	if err != nil {
		return errors.Join(why, fmt.Errorf("stop what was accepted: %w", err))
	}
	for _, t := range r.tasks {
		if t.done || t.dropped || t.skipped != "" {
			continue
		}
		t.dropped = true
		if err := r.note(t, line{What: lineDropped}); err != nil {
			return errors.Join(why, err)
		}
	}
	r.stopping = false
	return &StoppedError{len(r.tasks), stopped, why}
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// stopAccepted ends the run's jobs and returns those that had not ended before.
func (c *Client) stopAccepted(ctx context.Context, r *run) (stopped []Submitted, err error) {
	var jobs []Submitted
	var ids []string
	for _, s := range r.results() {
		if s.ID != "" {
			jobs, ids = append(jobs, s), append(ids, s.ID)
		}
	}
	for i, s := range c.StopAll(ctx, ids, "batchctl: another job of its submission was refused") {
		if s.Err != nil {
			err = errors.Join(err, s.Err)
		} else if s.Call != "" {
			stopped = append(stopped, jobs[i])
		}
	}
	return stopped, err
}
