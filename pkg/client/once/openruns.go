package once

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
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
	// Damage is why the log cannot be read: damage, or a newer version. The other fields are then empty.
	Damage error
}

// OpenRuns returns the unfinished submissions of every target, oldest first.
func (l *Ledger) OpenRuns() ([]OpenRun, error) {
	names, err := l.logs().runs()
	if err != nil {
		return nil, err
	}
	var open []OpenRun
	for _, name := range names {
		r, err := l.logs().read(name)
		if err != nil {
			open = append(open, OpenRun{Name: name, Damage: err})
			continue
		}
		if r == nil {
			continue
		}
		n := r.tally()
		o := OpenRun{Name: name, Target: r.target, Began: r.began, Jobs: len(r.tasks), Accepted: n.accepted,
			Unknown: n.unknown, Waiting: n.waiting, Skipped: n.skipped, Unchecked: n.unchecked, Followed: n.followed,
			CheckDue: r.dueAt(func(t *plannedJob) bool { return t.doubtful() || t.lost() })}
		for _, s := range r.results() {
			if s.Skipped == "" && s.At == "" {
				o.IDs = append(o.IDs, s.ID)
			}
		}
		for _, t := range r.tasks {
			if t.submit != nil {
				o.Known = append(o.Known, client.Known{ID: t.result.ID, Name: t.name, Submitted: r.began,
					Submission: t.submission, Run: name, Workflow: r.title,
					Again: t.runsAgain(), Cells: t.cells(), Size: arraySize(t.submit), File: t.root().file})
			}
		}
		open = append(open, o)
	}
	return open, nil
}

// pending returns the jobs of open runs that run others again and have no id yet: a resume sends them.
func (l *Ledger) pending() (jobs []client.Known, err error) {
	open, err := l.OpenRuns()
	for _, r := range open {
		for _, k := range r.Known {
			if k.ID == "" && k.Again != "" {
				jobs = append(jobs, k)
			}
		}
	}
	return jobs, err
}

// read reads a run without locking it; nil if it has just been closed.
func (d logDir) read(name string) (*run, error) {
	text, err := d.peek(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return runOf(name, nil, text)
}

// eachOpen calls show for each open run of the ledger's target, without locking it. A client
// without a ledger has none.
func (l *Ledger) eachOpen(show func(name string, r *run) error) error {
	if l == nil {
		return nil
	}
	names, err := l.logs().runs()
	if err != nil {
		return err
	}
	for _, name := range names {
		r, err := l.logs().read(name)
		if err != nil {
			return err
		}
		if r == nil || r.target != l.Target {
			continue
		}
		if err := show(name, r); err != nil {
			return err
		}
	}
	return nil
}

// RunsOf returns the submissions that contain any of these jobs, oldest first. It does not have
// single jobs, or submissions of versions that did not write runs.jsonl.
func (l *Ledger) RunsOf(ids ...string) ([]Run, error) {
	wanted := map[string]bool{}
	for _, id := range ids {
		base, _ := batch.SplitID(id)
		wanted[base] = true
	}
	submitted := func(r Run) bool { return slices.ContainsFunc(r.Jobs, func(j RunJob) bool { return wanted[j.ID] }) }
	// Open runs first: a run that is closed in the meantime is read twice rather than never.
	open, err := l.openRecords()
	if err != nil {
		return nil, err
	}
	all, err := l.closedRecords()
	if err != nil {
		return nil, err
	}
	for _, r := range open {
		if !slices.ContainsFunc(all, func(closed Run) bool { return closed.ID == r.ID }) {
			all = append(all, r)
		}
	}
	return slices.DeleteFunc(all, func(r Run) bool { return !submitted(r) }), nil
}

// openRecords reads the runs that have a log. It leaves out logs that cannot be read: resume
// reports what is wrong with them.
func (l *Ledger) openRecords() (all []Run, err error) {
	names, err := l.logs().runs()
	for _, name := range names {
		r, err := l.logs().read(name)
		if _, damaged := errors.AsType[*RunDamageError](err); damaged || err == nil && (r == nil || r.broken()) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r.record())
	}
	return all, err
}
