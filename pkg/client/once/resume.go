package once

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/batchctl/batchctl/pkg/client"
)

// OpenRun is an unfinished submission.
type OpenRun struct {
	Name, Target string
	Began        time.Time
	// Jobs is the number of jobs and Accepted those with an id. Unknown jobs may or may not have
	// been accepted. Waiting jobs wait for others, and Skipped ones are not needed. Unchecked jobs
	// are accepted and may have duplicates.
	Jobs, Accepted, Unknown, Waiting, Skipped, Unchecked int
	// Followed jobs are accepted, and the client waits for them to execute their rungs or to send a
	// message.
	Followed int
	// CheckDue is when the last check for duplicates is due: of the unchecked jobs, and of those
	// that were sent without a clear answer. It is zero if there are none.
	CheckDue time.Time
	// IDs are the ids of the accepted jobs, without those that moved to another target.
	IDs []string
	// Known are the submission's jobs, for client.FindAmong. Jobs that are not accepted have no id.
	Known []client.Known
	// Unsealed means that lines of the log have no checksums: an older version wrote them.
	Unsealed bool
	// Damage is why the log cannot be read: damage, or a newer version. The other fields are then empty.
	Damage error
}

// OpenRuns returns the unfinished submissions of every target, oldest first.
func (l *Ledger) OpenRuns() ([]OpenRun, error) {
	names, err := l.openRuns()
	if err != nil {
		return nil, err
	}
	var open []OpenRun
	for _, name := range names {
		r, err := l.read(name)
		if err != nil {
			open = append(open, OpenRun{Name: name, Damage: err})
			continue
		}
		if r == nil {
			continue
		}
		n := r.tally()
		o := OpenRun{Name: name, Target: r.target, Began: r.began, Jobs: len(r.tasks), Accepted: n.accepted,
			Unknown: n.unknown, Waiting: n.waiting, Skipped: n.skipped, Unchecked: n.unchecked, Followed: n.followed, CheckDue: r.dueAt(func(t *plannedJob) bool { return t.doubtful() || t.lost() }), Unsealed: r.unsealed}
		for _, s := range r.results() {
			if s.Skipped == "" && s.At == "" {
				o.IDs = append(o.IDs, s.ID)
			}
		}
		for _, t := range r.tasks {
			if t.submit != nil {
				o.Known = append(o.Known, client.Known{ID: t.result.ID, Name: t.name, Submitted: r.began, Submission: t.submission, Run: name, Workflow: r.title})
			}
		}
		open = append(open, o)
	}
	return open, nil
}

// read reads a run without locking it; nil if it has just been closed.
func (l *Ledger) read(name string) (*run, error) {
	text, err := l.peek(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return runOf(name, nil, text)
}

// ElsewhereError reports a submission that belongs to another account, Region or engine than the
// current target.
type ElsewhereError struct{ Run, Target, Current string }

// Error names both targets.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("run %s belongs to %s, and the current target is %s", e.Run, e.Target, e.Current)
}

// Resume continues an open submission of the ledger. It searches for jobs that may have been
// accepted, submits those that were not, and stops duplicates. It waits for the last check for
// duplicates, a minute at most, and for jobs that have to end before others can be submitted. The
// error is fs.ErrNotExist if the submission no longer has a log, and a *LockedError if another
// process works on it.
func (c *Client) Resume(ctx context.Context, name string) ([]Submitted, error) {
	r, err := c.Take(name)
	if err != nil {
		return nil, err
	}
	if r.broken || r.attached {
		return r.results(), c.abandon(r)
	}
	if err := c.checkStaged(r); err != nil {
		return r.results(), errors.Join(err, r.log.release())
	}
	if r.unsealed {
		c.progress("run %s: an older version wrote its log, without checksums", r.name)
	}
	if r.damaged != "" {
		c.progress("run %s: %s cannot be read: checking every job at the target", r.name, r.damaged)
	}
	if err := r.log.write(worker(lineResumed)); err != nil {
		return nil, errors.Join(err, r.log.release())
	}
	if err := c.awaitLateCheck(ctx, r); err != nil {
		return r.results(), errors.Join(r.dueError(err), r.close(c.Ledger))
	}
	jobs, _, err := c.carryOut(ctx, r, true)
	return jobs, err
}

// Take locks an open submission of this target.
func (c *Client) Take(name string) (*run, error) {
	log, text, err := c.Ledger.reopen(name)
	if err != nil {
		return nil, err
	}
	r, err := runOf(name, log, text)
	if err == nil && !r.broken && r.target != c.Ledger.Target {
		err = &ElsewhereError{name, r.target, c.Ledger.Target}
	}
	if err != nil {
		return nil, errors.Join(err, log.release())
	}
	return r, nil
}

// abandon closes a run that cannot be continued: its intents were never complete, so that nothing
// was sent, or its jobs ended with its process.
func (c *Client) abandon(r *run) error {
	if r.broken {
		c.progress("run %s had not started and sent nothing: submit it again", r.name)
		return r.log.remove()
	}
	c.progress("run %s belonged to a batchctl run that has ended, and its jobs ended with it", r.name)
	return c.dropRest(r)
}

// Drop closes an open submission without sending the rest. Accepted jobs stay unchanged, and
// batchctl no longer searches for jobs that may have been accepted. A damaged log is set aside. The
// log of a newer version stays unchanged, and is an error.
func (c *Client) Drop(name string) ([]Submitted, error) {
	log, text, err := c.Ledger.reopen(name)
	if err != nil {
		return nil, err
	}
	r, damage := runOf(name, log, text)
	newer, _ := errors.AsType[*RunDamageError](damage)
	switch {
	case newer != nil && newer.Newer:
		return nil, errors.Join(damage, log.release())
	case damage != nil:
		return nil, errors.Join(os.Rename(log.path, log.path+".damaged"), log.release())
	case r.broken:
		return nil, log.remove()
	case r.target != c.Ledger.Target:
		return nil, errors.Join(&ElsewhereError{name, r.target, c.Ledger.Target}, log.release())
	}
	return r.results(), c.dropRest(r)
}

// dropRest records what is given up before the log is removed: closing the run reads that record.
func (c *Client) dropRest(r *run) error {
	r.giveUp()
	for _, t := range r.tasks {
		if !t.dropped {
			continue
		}
		if err := r.note(t, line{What: lineDropped}); err != nil {
			return errors.Join(err, r.log.release())
		}
	}
	return r.close(c.Ledger)
}
