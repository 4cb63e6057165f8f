package once

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// LedgerFormat is the version of the ledger's files. Their lines have no version, because later versions only add
// members. A line of a version that cannot be read like this one would have the member "format".
const LedgerFormat = 1

// newerFormat explains that a newer batchctl wrote a file or a line.
func newerFormat(format, known int) string {
	return fmt.Sprintf("written by a newer batchctl (format %d; this one reads %d): use that version", format, known)
}

// Ledger is the user's record of submissions. <Dir>/submissions.jsonl has one line of JSON for each
// accepted job, for people and for Resolve. <Dir>/open has the logs of unfinished runs (see
// runLog). <Dir>/runs.jsonl has the dependencies of closed runs (see Run). Lines are only appended,
// and unknown members are ignored, so that later versions can write more.
type Ledger struct {
	// Dir is created with mode 0700 if it does not exist.
	Dir string
	// Target is where the jobs go: `local`, or `aws 123456789012 us-east-1`.
	Target string
	// Damaged is called with the damaged lines of a file where a method skips them without
	// returning a *DamageError. It may be nil, and may be called again for the same file.
	Damaged func(*DamageError)
}

// Entry is an accepted job.
type Entry struct {
	Time       time.Time `json:"time"`
	Target     string    `json:"target"`
	Queue      string    `json:"queue"`
	Name       string    `json:"name"`
	ID         string    `json:"id"`
	Definition string    `json:"definition,omitempty"`
	ArraySize  int       `json:"arraySize,omitempty"`
	// Submission is the submission id of this job (client.SubmissionTag).
	Submission string `json:"submission,omitempty"`
	// Run is the id of the submission that the job belongs to, such as a workflow.
	Run string `json:"run,omitempty"`
	// Workflow is the name of that submission; "" for a single job.
	Workflow string `json:"workflow,omitempty"`
}

// DamageError names damaged lines of the ledger that were skipped.
type DamageError struct {
	Path  string
	Lines []int // from 1
	// Newer is the format of these lines if a newer batchctl wrote them; 0 if one of them is damaged.
	Newer int
}

// Error names the file and the lines.
func (e *DamageError) Error() string {
	lines := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Lines), "[]"), " ", ", ")
	if e.Newer > 0 {
		return fmt.Sprintf("%s: line %s was skipped: %s", e.Path, lines, newerFormat(e.Newer, LedgerFormat))
	}
	return fmt.Sprintf("%s: line %s cannot be read and was skipped", e.Path, lines)
}

// path returns the file with the accepted jobs.
func (l *Ledger) path() string { return filepath.Join(l.Dir, "submissions.jsonl") }

// Append writes the entries and returns when they are on disk. An empty Target becomes the ledger's
// own.
func (l *Ledger) Append(entries ...Entry) error {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Target = cmp.Or(entries[i].Target, l.Target)
		entries[i].Time = entries[i].Time.UTC().Truncate(time.Millisecond)
	}
	text, err := jsonLines(entries)
	if err != nil {
		return err
	}
	if err := makeDir(l.Dir); err != nil {
		return err
	}
	_, err = os.Stat(l.path())
	created := errors.Is(err, fs.ErrNotExist)
	if err := jsonlines.Append(l.path(), text); err != nil || !created {
		return err
	}
	return syncDir(l.Dir)
}

// syncDir makes changes of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Entries returns the entries of every target, oldest first, followed by those of unfinished runs.
// A ledger that does not exist is empty. An incomplete last line is ignored: its job is still in
// the log of its run. Damaged lines before it are skipped and reported by a *DamageError together
// with the entries.
func (l *Ledger) Entries() ([]Entry, error) {
	// Open runs first: an entry that moves in the meantime is seen twice rather than never.
	open, err := l.openEntries()
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

// openEntries returns the accepted jobs of unfinished runs.
func (l *Ledger) openEntries() ([]Entry, error) {
	runs, err := l.openRuns()
	var entries []Entry
	for _, run := range runs {
		text, err := l.peek(run)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed just now
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, acceptedOf(text.lines)...)
	}
	return entries, err
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

// closedEntries reads submissions.jsonl.
func (l *Ledger) closedEntries() (entries []Entry, err error) {
	err = readRecords(l.path(), func(e Entry) bool {
		if e.ID == "" {
			return false
		}
		entries = append(entries, e)
		return true
	})
	return entries, err
}

// definedTarget is a line of targets.jsonl: the platform file that defines a target.
type definedTarget struct {
	Target   string `json:"target"`
	Platform string `json:"platform"`
}

// targetsPath returns the file with the platform files of targets.
func (l *Ledger) targetsPath() string { return filepath.Join(l.Dir, "targets.jsonl") }

// RememberPlatform records the platform file that defines a target, so that commands without a job
// file find the target from any directory. The platform is an absolute path.
func (l *Ledger) RememberPlatform(target, platform string) error {
	if known := l.PlatformsOf(target); len(known) > 0 && known[0] == platform {
		return nil
	}
	text, err := jsonLines([]definedTarget{{target, platform}})
	if err != nil {
		return err
	}
	if err := makeDir(l.Dir); err != nil {
		return err
	}
	return jsonlines.Append(l.targetsPath(), text)
}

// PlatformsOf returns the platform files that defined the target for submissions, latest first. A
// file may have changed since, or may no longer exist.
func (l *Ledger) PlatformsOf(target string) (paths []string) {
	// Without the record a command needs --platform, so an unreadable file is no error.
	_ = l.passDamage(readRecords(l.targetsPath(), func(d definedTarget) bool {
		if d.Target == target && d.Platform != "" {
			paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == d.Platform }), d.Platform)
		}
		return d.Target != "" && d.Platform != ""
	}))
	slices.Reverse(paths)
	return paths
}
