package once

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"
)

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
