package once

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
)

// Entries returns the entries of every target, oldest first, followed by those of unfinished runs.
// A ledger that does not exist is empty. An incomplete last line is ignored: its job is still in
// the log of its run. Damaged lines before it are skipped and reported by a *DamageError together
// with the entries.
func (l *Ledger) Entries() ([]Entry, error) {
	// Open runs first: an entry that moves in the meantime is seen twice rather than never.
	open, err := l.logs().entries()
	if err != nil {
		return nil, err
	}
	closed, err := l.closedEntries()
	l.addWorkflows(closed)
	if len(open) == 0 {
		return closed, err
	}
	known := map[string]bool{}
	for _, e := range closed {
		known[e.ID] = true
	}
	for _, e := range open {
		if !known[e.ID] {
			closed = append(closed, e)
		}
	}
	return closed, err
}

// addWorkflows adds the names of workflows to entries of versions that did not write them.
func (l *Ledger) addWorkflows(entries []Entry) {
	jobs := map[string]int{} // of each run without a name
	several := false
	for _, e := range entries {
		if e.Run != "" && e.Workflow == "" {
			jobs[e.Run]++
			several = several || jobs[e.Run] > 1
		}
	}
	if !several {
		return
	}
	names := map[string]string{}
	runs, _ := l.closedRecords() // without them the workflows have no names
	for _, r := range runs {
		names[r.ID] = r.Name
	}
	for i, e := range entries {
		if e.Workflow == "" {
			entries[i].Workflow = names[e.Run]
		}
	}
}

// entries returns the accepted jobs of unfinished runs.
func (d logDir) entries() ([]Entry, error) {
	runs, err := d.runs()
	var all []Entry
	for _, run := range runs {
		text, err := d.peek(run)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed just now
		}
		if err != nil {
			return nil, err
		}
		all = append(all, acceptedOf(text.lines)...)
	}
	return all, err
}

// acceptedOf returns the jobs that a run's log records as accepted.
func acceptedOf(lines []line) (entries []Entry) {
	target, run, workflow, intents := "", "", "", map[string]line{}
	for _, l := range lines {
		switch l.What {
		case lineRun:
			target, run, workflow = l.Target, l.Run, l.Name
		case lineIntent:
			intents[l.Submission] = l
		case lineClimbed, lineMoved:
			for _, s := range l.Steps {
				intents[s.Submission] = s
			}
		case lineAccepted:
			if l.ID != "" {
				intent := intents[l.Submission]
				entries = append(entries, Entry{l.Time, cmp.Or(intent.Target, target), intent.Queue, l.Name, l.ID, l.Definition, l.ArraySize, l.Submission, run, workflow})
			}
		}
	}
	return entries
}

// Own returns the entries of this ledger's target, oldest first. It skips damaged lines.
func (l *Ledger) Own() ([]Entry, error) {
	entries, err := l.Entries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return !l.Covers(e.Target) }), nil
}
