package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Twins of a job come of an answer that was missing for longer than the listing
// needs: the job was sent again, and then both turn up. The one whose id was given
// out stays, because its user and the jobs that depend on it refer to it. When no
// id was given out that is the oldest.

// endAllTwins looks for twins, where an answer was missing. A job is through with
// that once a minute has passed: what was not visible before is by then.
func (c *Client) endAllTwins(ctx context.Context, r *run) error {
	var doubtful []*task
	for _, t := range r.tasks {
		if t.doubtful() {
			doubtful = append(doubtful, t)
		}
	}
	look := &run{tasks: doubtful}
	return look.each(ctx, c.atOnce(), func(t *task) error {
		due := c.TakesOnce || time.Since(t.unclear) >= lateLook
		if err := c.endTwins(ctx, t); err != nil || !due {
			return err
		}
		t.checked = true
		return r.note(t, line{What: lineChecked})
	}, func(*task, int) []int { return nil })
}

// doubtful reports whether twins of an accepted job may turn up.
func (t *task) doubtful() bool { return t.done && !t.unclear.IsZero() && !t.checked }

// endTwins leaves one job of a submission alive.
func (c *Client) endTwins(ctx context.Context, t *task) error {
	found, err := c.findPatiently(ctx, t, time.Now().Add(lookPatience))
	if err != nil {
		return fmt.Errorf("look for twins of job %s: %w", t.name, err)
	}
	for _, twin := range found {
		if twin.id == t.result.ID {
			continue
		}
		if Ended(twin.status) {
			c.tell("job %s was accepted twice, because an answer was missing: its twin %s has ended %s, %s counts",
				t.name, ShortID(twin.id), twin.status, ShortID(t.result.ID))
			continue
		}
		done, err := c.Stop(ctx, twin.id, "batchctl: twin of "+t.result.ID+", accepted twice because an answer was missing")
		if err != nil {
			return fmt.Errorf("end the twin %s of job %s: %w", ShortID(twin.id), t.name, err)
		}
		started := ""
		if done.Job.StartedAt != nil {
			started = "; it had started"
		}
		c.tell("job %s was accepted twice, because an answer was missing: ended its twin %s, was %s%s; %s counts",
			t.name, ShortID(twin.id), done.Before, started, ShortID(t.result.ID))
	}
	return nil
}

// lookDue is when the last look for twins is due; zero: no job may have any.
func (r *run) lookDue() (due time.Time) {
	for _, t := range r.tasks {
		if at := t.unclear.Add(lateLook); t.doubtful() && at.After(due) {
			due = at
		}
	}
	return due
}

// awaitLateLook waits until the last look for twins is due: never longer than
// that takes, whatever the machine's clock says.
func (c *Client) awaitLateLook(ctx context.Context, r *run) error {
	pause := min(time.Until(r.lookDue()), lateLook)
	if pause <= 0 {
		return nil
	}
	c.tell("run %s: waiting %v for twins of jobs whose answers were missing", r.name, pause.Round(time.Second))
	if err := sleep(ctx, pause); err != nil {
		return errors.Join(errors.New("the last look for twins is still due"), err)
	}
	for _, t := range r.tasks {
		if t.doubtful() {
			t.unclear = time.Now().Add(-lateLook) // it is due now, by the clock that cannot jump
		}
	}
	return nil
}
