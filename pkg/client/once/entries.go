package once

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/client"
)

// Entries returns the entries of every target, of closed and of unfinished runs, oldest first. A ledger that does not
// exist is empty. An incomplete last line is ignored: its job is still in the log of its run. Damaged lines before it
// are skipped and reported by a *DamageError together with the entries.
func (l *Ledger) Entries() ([]Entry, error) {
	// Open runs first: an entry that moves in the meantime is seen twice rather than never.
	open, err := l.logs().entries()
	if err != nil {
		return nil, err
	}
	closed, err := l.closedEntries()
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
	// An interrupted submission may be older than those after it.
	slices.SortStableFunc(closed, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return closed, err
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
	r, intents, ids := &run{}, map[string]line{}, map[string]string{}
	for _, l := range lines {
		switch l.What {
		case lineRun:
			r.target, r.name, r.title = l.Target, l.Run, l.Name
		case lineIntent:
			intents[l.Submission] = l
		case lineClimbed, lineMoved:
			for _, s := range l.Steps {
				s.Again, s.File = ids[l.Submission], intents[l.Submission].File
				intents[s.Submission] = s
			}
		case lineAccepted:
			if ids[l.Submission] = l.ID; l.ID != "" {
				intent := intents[l.Submission]
				entries = append(entries, Entry{Time: l.Time, Target: cmp.Or(intent.Target, r.target),
					Queue: intent.Queue, Name: l.Name, ID: l.ID, Definition: l.Definition,
					ArraySize: l.ArraySize, Submission: l.Submission, Run: r.name, Workflow: r.title, File: intent.File,
					Again: intent.Again, Cells: intent.Cells})
			}
		}
	}
	return entries
}

// entry returns the entry of an accepted job of a run.
func (t *plannedJob) entry(r *run) Entry {
	s := t.result
	return Entry{Time: t.since, Target: cmp.Or(t.target, r.target), Queue: s.Queue, Name: s.Name, ID: s.ID,
		Definition: s.Definition,
		ArraySize:  s.ArraySize, Submission: t.submission, Run: r.name, Workflow: r.title, File: t.root().
				file, Again: t.runsAgain(), Cells: t.cells()}
}

// Own returns the entries of this ledger's target, oldest first. It skips damaged lines.
func (l *Ledger) Own() ([]Entry, error) {
	entries, err := l.Entries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return !l.Covers(e.Target) }), nil
}

// Chains returns the chains of jobs, in the order of the jobs: the newest job of each chain comes first. A job that a
// rung moved to another target has At.
func (l *Ledger) Chains(jobs []client.Known) ([]client.Chain, error) {
	known, err := l.known()
	return client.ChainsOf(jobs, known), err
}

// known returns the jobs of every target, oldest first.
func (l *Ledger) known() ([]client.Known, error) {
	entries, err := l.Entries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	known := make([]client.Known, len(entries))
	for i, e := range entries {
		if known[i] = e.Known(); !l.Covers(e.Target) {
			known[i].At = e.Target
		}
	}
	return known, nil
}

const (
	// recentBytes is how much of the end of a file Recent reads.
	recentBytes = 64 << 10
	// recentOpen is how many open runs Recent reads.
	recentOpen = 8
)

// recentLine is what Recent needs of a line: of an Entry, or of a line of a run's log.
type recentLine struct {
	What, Target, Run, Workflow, Name, ID, Submission string
	Time                                              time.Time
}

// Recent returns about the last entries of every target, oldest first, in the time that a shell's
// completion has: it reads only the ends of files, and leaves out lines that it cannot read.
func (l *Ledger) Recent() []Entry {
	var entries []Entry
	for _, r := range recentLines(l.path()) {
		if r.ID != "" {
			entries = append(entries, Entry{Time: r.Time, Target: r.Target, Name: r.Name, ID: r.ID,
				Submission: r.Submission, Run: r.Run, Workflow: r.Workflow})
		}
	}
	return append(entries, l.RecentOpen()...)
}

// RecentOpen is Recent for the runs that are open. For each run, the first entry has no job: it has
// the id and the name of the submission.
func (l *Ledger) RecentOpen() (entries []Entry) {
	runs, err := l.logs().runs()
	if err != nil {
		return nil
	}
	for _, run := range runs[max(0, len(runs)-recentOpen):] {
		path := l.logs().logPath(run)
		first := firstLine(path)
		if first.What != lineRun {
			continue // it is just being created, or is damaged
		}
		entries = append(entries, Entry{Target: first.Target, Run: run, Workflow: first.Name})
		for _, r := range recentLines(path) {
			if r.What == lineAccepted && r.ID != "" {
				entries = append(entries, Entry{Time: r.Time, Target: first.Target, Name: r.Name, ID: r.ID,
					Submission: r.Submission, Run: run, Workflow: first.Name})
			}
		}
	}
	return entries
}

// firstLine returns the first line of a run's log; empty if it cannot be read.
func firstLine(path string) (first recentLine) {
	f, err := os.Open(path)
	if err != nil {
		return first
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, recentBytes))
	if line, _, complete := bytes.Cut(text, []byte("\n")); err == nil && complete {
		_ = json.Unmarshal(line, &first)
	}
	return first
}

// recentLines returns the lines at the end of a file that can be read.
func recentLines(path string) (lines []recentLine) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-recentBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, recentBytes))
	if err != nil {
		return nil
	}
	if from > 0 { // the first line is incomplete
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		var r recentLine
		if json.Unmarshal(line, &r) == nil {
			lines = append(lines, r)
		}
	}
	return lines
}
