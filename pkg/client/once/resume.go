package once

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// OpenRun is a run that is not through.
type OpenRun struct {
	Name, Target string
	Began        time.Time
	// Jobs is how many it has and Accepted how many of them have an id; of Unknown
	// jobs nobody knows. Waiting jobs have others to wait for, and Skipped ones are not
	// needed. Unchecked jobs are accepted and may be doubled.
	Jobs, Accepted, Unknown, Waiting, Skipped, Unchecked int
	// LookDue is when the last check for duplicates is due: of the unchecked jobs, and of those
	// that were sent without a clear answer. Zero: of none.
	LookDue time.Time
	// IDs are those of the accepted jobs.
	IDs []string
	// Unsealed says that lines of the run's log have no checksums: an older version wrote them.
	Unsealed bool
	// Damage says why the run's log cannot be understood; then nothing else is known.
	Damage error
}

// OpenRuns returns the runs of every target that are not through, the oldest first.
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
			Unknown: n.unknown, Waiting: n.waiting, Skipped: n.skipped, Unchecked: n.unchecked, LookDue: r.dueAt(func(t *task) bool { return t.doubtful() || t.lost() }), Unsealed: r.unsealed}
		for _, s := range r.results() {
			if s.Skipped == "" {
				o.IDs = append(o.IDs, s.ID)
			}
		}
		open = append(open, o)
	}
	return open, nil
}

// read looks at a run without taking it; nil when it has been closed just now.
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

// ElsewhereError is a run that went to another account, Region or engine than the
// one at hand.
type ElsewhereError struct{ Run, There, Here string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("run %s went to %s, and this is %s", e.Run, e.There, e.Here)
}

// Resume goes on with an open run of the ledger where it stopped: what may have
// been accepted is looked up, what was not is submitted, and what was doubled is
// ended. It waits for the last check for duplicates, a minute at most, and for jobs that have
// to end before others can be submitted. A run that no longer has a log is fs.ErrNotExist, one that another process works on is a
// *LockedError.
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
		c.tell("run %s: an older version wrote its log, without checksums", r.name)
	}
	if r.damaged != "" {
		c.tell("run %s: %s cannot be read: checking every job at the target", r.name, r.damaged)
	}
	if err := r.log.write(worker(lineResumed)); err != nil {
		return nil, errors.Join(err, r.log.release())
	}
	if err := c.awaitLateLook(ctx, r); err != nil {
		return r.results(), errors.Join(r.dueError(err), r.close(c.Ledger))
	}
	jobs, _, err := c.carryOut(ctx, r, true)
	return jobs, err
}

// Take locks a run of this target.
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

// abandon closes a run of which nothing can be gone on with: its intents were
// never complete, so that nothing was sent, or it was to end with its process.
func (c *Client) abandon(r *run) error {
	if r.broken {
		c.tell("run %s had not begun: nothing of it was sent; submit it again", r.name)
		return r.log.remove()
	}
	c.tell("run %s was followed by a batchctl run that ended; so did its jobs", r.name)
	return c.dropRest(r)
}

// Drop closes an open run without going on with it. What was accepted stays as it
// is; of what is not known, nobody will look any more. A damaged log is set aside.
func (c *Client) Drop(name string) ([]Submitted, error) {
	log, text, err := c.Ledger.reopen(name)
	if err != nil {
		return nil, err
	}
	r, damage := runOf(name, log, text)
	switch {
	case damage != nil:
		return nil, errors.Join(os.Rename(log.path, log.path+".damaged"), log.release())
	case r.broken:
		return nil, log.remove()
	case r.target != c.Ledger.Target:
		return nil, errors.Join(&ElsewhereError{name, r.target, c.Ledger.Target}, log.release())
	}
	return r.results(), c.dropRest(r)
}

// dropRest says in the log what is given up before the log ends: the end is another
// file's line too.
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
