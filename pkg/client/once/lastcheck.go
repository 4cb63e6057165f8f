package once

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/text"
)

// DueError reports that the last check for duplicates of a submission could not be done: some of
// its jobs may have duplicates. Resume and CheckDuplicates do that check.
type DueError struct {
	// Run is the submission's id in the ledger; "" without a ledger.
	Run string
	// Jobs is how many jobs may have duplicates.
	Jobs int
	Err  error
}

// Error counts the jobs and has the cause.
func (e *DueError) Error() string {
	why := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		why = "interrupted"
	}
	return fmt.Sprintf("check %s for duplicates: %s", text.Count(e.Jobs, "job"), why)
}

// Unwrap returns the cause.
func (e *DueError) Unwrap() error { return e.Err }

// dueError returns why the check for duplicates was not done.
func dueError(r *run, err error) error {
	if n := r.tally().unchecked; err != nil && n > 0 {
		return &DueError{Run: r.logName(), Jobs: n, Err: err}
	}
	return err
}

// duplicateChecks checks the jobs of a run for duplicates, at all their targets.
type duplicateChecks struct {
	client  *Client
	run     *run
	targets *targets
}

// endDuplicates stops the duplicates that are visible now.
func (d duplicateChecks) endDuplicates(ctx context.Context) error {
	return dueError(d.run, d.targets.eachTarget(ctx,
		func(c *Client, tasks []*plannedJob) error { return c.checker(d.run).endVisible(ctx, tasks) }))
}

// leaveReplays records jobs with clear answers that were not checked, where requests may be
// repeated: the next command does the late check.
func (d duplicateChecks) leaveReplays() error {
	if !d.client.Replayable || d.client.TakesOnce {
		return nil
	}
	for _, t := range clearOf(d.run.tasks) {
		if err := d.run.doubt(t, t.lastRequest(),
			"the submission ended before batchctl checked it for duplicates"); err != nil {
			return err
		}
	}
	return nil
}

// lastCheckIsDue reports whether the last check for duplicates can be done while the client waits for
// other jobs.
func (d duplicateChecks) lastCheckIsDue() bool {
	due := d.run.dueAt((*plannedJob).doubtful)
	return !due.IsZero() && !time.Now().Before(due)
}

// lastCheck waits until the last check for duplicates is due and does it.
func (d duplicateChecks) lastCheck(ctx context.Context) error {
	if d.run.tally().unchecked == 0 {
		return nil
	}
	if err := d.awaitLastCheck(ctx); err != nil {
		return dueError(d.run, err)
	}
	return d.endDuplicates(ctx)
}

// awaitLastCheck waits until the last check for duplicates is due. Changes of the local clock do
// not prolong the wait.
func (d duplicateChecks) awaitLastCheck(ctx context.Context) error {
	pause := min(time.Until(d.run.dueAt((*plannedJob).doubtful)), lateCheck)
	if pause <= 0 {
		return nil
	}
	d.client.progress("an answer was missing, or lists of jobs lag behind: checking for duplicates again in %v; if you press Ctrl-C, the next command does it", roundUp(pause))
	if err := rpc.Sleep(ctx, pause); err != nil {
		return err
	}
	for _, t := range d.run.tasks {
		if t.doubtful() { // the monotonic clock says that it is due
			t.suspect(time.Now().Add(-lateCheck))
			t.last = t.unclear
		}
	}
	return nil
}

// roundUp rounds up to whole seconds, for messages.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// findLost records which of the jobs that were sent without any clear answer were accepted.
func (d duplicateChecks) findLost(ctx context.Context) error {
	for _, t := range d.run.tasks {
		if !t.lost() {
			continue
		}
		c, err := d.targets.clientOf(ctx, t)
		if err != nil {
			return err
		}
		found, err := c.finder().findPatiently(ctx, t, time.Now().Add(searchPatience))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		if err := d.run.accepted(t, t.submitted(found[0].id, found[0].definition)); err != nil {
			return err
		}
		t.last = t.unclear // nothing was sent since
		c.progress("job %s: accepted as %s", t.name, batch.ShortID(found[0].id))
	}
	return nil
}

// CheckDuplicates does the last check for duplicates of an open submission: it stops duplicates,
// and sends nothing. It waits until the check is due, a minute at most. The error is
// fs.ErrNotExist if the submission no longer has a log, a *LockedError if another process works
// on it, a *DueError if the check could not be done, and a *TwiceError for jobs that ran twice.
func (c *Client) CheckDuplicates(ctx context.Context, name string) error {
	r, err := c.takeRun(name)
	if err != nil {
		return err
	}
	if r.broken() || r.attached || r.stopping() {
		return r.log.release()
	}
	d := duplicateChecks{c, r, newTargets(c, r)}
	err = dueError(r, d.findLost(ctx))
	if err == nil {
		err = d.lastCheck(ctx)
	}
	return errors.Join(err, r.twiceError(), r.close(c.Ledger))
}

// checkReplays finds a repeated request only if the listing shows the duplicate within a second. At
// a target whose listing lags for the first time, it may miss one. So where requests may be
// repeated, a later command checks the ledger's jobs again, when every listing shows them.
// <Ledger.Dir>/checks.jsonl has the time of the last checked job for each target.

// recheckSpan is the maximum age of jobs that are checked again.
const recheckSpan = 24 * time.Hour

// Unverified returns jobs of the ledger's target that RecheckDuplicates has not checked yet. They
// are older than a minute and at most a day old. A ledger whose target has no account covers those
// of any account.
func (l *Ledger) Unverified() ([]Entry, error) {
	jobs, err := os.Stat(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if checks, err := os.Stat(l.checks().path); err == nil && checks.ModTime().Sub(jobs.ModTime()) > lateCheck {
		return nil, nil // the other file need not be read
	}
	entries, err := l.closedEntries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	checked, err := l.checks().latest()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return slices.DeleteFunc(entries, func(e Entry) bool {
		age := now.Sub(e.Time)
		return e.Target != l.Target && !l.Covers(e.Target) || e.Submission == "" || age < lateCheck ||
			age > recheckSpan || !e.Time.After(checked[e.Target])
	}), nil
}

// RecheckDuplicates checks the target's Unverified jobs and stops their duplicates. It returns a
// *TwiceError for jobs that ran twice.
func (c *Client) RecheckDuplicates(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*searchTimeout)
	defer cancel()
	entries, err := c.Ledger.Unverified()
	if err != nil || len(entries) == 0 {
		return err
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	known, err := c.ByID(ctx, ids)
	if err != nil {
		return err
	}
	r := &run{target: c.Ledger.Target, began: entries[0].Time}
	last := time.Time{}
	for _, e := range entries {
		if e.Time.After(last) {
			last = e.Time
		}
		if e.Time.Before(r.began) {
			r.began = e.Time
		}
		if job, found := known[e.ID]; found {
			r.tasks = append(r.tasks, recheckOf(e, job))
		}
	}
	seen, err := c.checker(r).check(ctx, r.tasks, false)
	if err == nil && seen.duplicates > 0 { // checkReplays missed them
		err = recordLag(c.Ledger)
	}
	if err == nil {
		err = c.Ledger.checks().add(last)
	}
	// A duplicate that failed may be one that batchctl stopped, if the service does not keep the
	// reason.
	r.twice = slices.DeleteFunc(r.twice, func(t Duplicate) bool { return t.Status != string(types.JobStatusSucceeded) })
	return errors.Join(err, r.twiceError())
}

// recheckOf returns the fields of a job that checker.check needs.
func recheckOf(e Entry, job types.JobDetail) *plannedJob {
	name := client.JobName(aws.ToString(job.JobName), e.Submission)
	return &plannedJob{intent: intent{name: e.Name, submission: e.Submission, definer: -1,
		submit: &awsbatch.SubmitJobInput{JobName: &name, JobQueue: aws.String(e.Queue)}},
		state:      state{phase: jobAccepted, since: e.Time, result: Submitted{Name: e.Name, ID: e.ID, Queue: e.Queue}},
		duplicates: duplicates{last: e.Time}}
}
