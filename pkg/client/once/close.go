package once

import (
	"cmp"
	"errors"
	"fmt"
)

// ElsewhereError reports a submission that belongs to another account, Region or engine than the
// current target.
type ElsewhereError struct{ Run, Target, Current string }

// Error names both targets.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("run %s belongs to %s, but the current target is %s", e.Run, e.Target, e.Current)
}

// takeRun locks an open submission of this target.
func (c *Client) takeRun(name string) (*run, error) {
	log, text, err := c.Ledger.logs().reopen(name)
	if err != nil {
		return nil, err
	}
	r, err := runOf(name, log, text)
	if err == nil && !r.broken() && r.target != c.Ledger.Target {
		err = &ElsewhereError{name, r.target, c.Ledger.Target}
	}
	if err != nil {
		return nil, errors.Join(err, log.release())
	}
	return r, nil
}

// close moves the accepted jobs to submissions.jsonl, records their dependencies in runs.jsonl, and
// removes the log. If something is left to do, it leaves the run open for another process.
func (r *run) close(l *Ledger) (err error) {
	if r.log == nil {
		return nil
	}
	if !r.settled() {
		return errors.Join(r.log.sync(), r.log.release())
	}
	if err := cmp.Or(l.keepRecord(r.record()), r.keepEntries(l)); err != nil {
		return errors.Join(err, r.log.release())
	}
	return r.log.remove()
}

// keepEntries writes the run's accepted jobs to submissions.jsonl, except those that an earlier
// process has written before it crashed.
func (r *run) keepEntries(l *Ledger) error {
	known, err := r.keptEntries(l)
	if err != nil {
		return err
	}
	var entries []Entry
	for _, t := range r.tasks {
		if t.isAccepted() && t.result.ID != "" && !known[t.result.ID] {
			entries = append(entries, t.entry(r))
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return l.Append(entries...)
}

// keptEntries returns the ids that the ledger has already, if another process may have written some
// of the run's entries.
func (r *run) keptEntries(l *Ledger) (map[string]bool, error) {
	if !r.resumed() {
		return nil, nil
	}
	entries, err := l.closedEntries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.ID] = true
	}
	return known, nil
}
