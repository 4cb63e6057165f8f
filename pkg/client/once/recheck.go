package once

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
)

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
