package once

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/jsonlines"
)

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
	// File is the absolute path of the job's file; "" for a job without one.
	File string `json:"file,omitempty"`
	// Again is the id of the job that this one runs again, by a rung or by Retry, and Cells the cells that it runs, as
	// sweep.CellsVariable has them.
	Again string `json:"again,omitempty"`
	Cells string `json:"cells,omitempty"`
}

// Known returns the entry as the embedded client uses it.
func (e Entry) Known() client.Known {
	return client.Known{ID: e.ID, Name: e.Name, Submitted: e.Time, Submission: e.Submission, Run: e.Run,
		Workflow: e.Workflow, Queue: e.Queue,
		Again: e.Again, Cells: e.Cells, Size: e.ArraySize, File: e.File}
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

// passDamage reports damaged lines to Ledger.Damaged, and returns any other error.
func (l *Ledger) passDamage(err error) error {
	damage, damaged := errors.AsType[*DamageError](err)
	if !damaged {
		return err
	}
	if l.Damaged != nil {
		l.Damaged(damage)
	}
	return nil
}

// Covers reports whether the ledger's target includes jobs of a target. A read-only command does
// not query its account, so it covers the jobs of any account.
func (l *Ledger) Covers(target string) bool {
	return target == l.Target || target != "" && batch.WithoutAccount(l.Target) == l.Target &&
		batch.WithoutAccount(target) == l.Target
}

// History returns the record of attempts beside the ledger.
func (l *Ledger) History() history.Store { return history.Store{Dir: l.Dir} }

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

// targetTimes is a file with times of targets. For each target, the latest time counts.
type targetTimes struct {
	ledger *Ledger
	path   string
}

// targetTime is a line of such a file.
type targetTime struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

// lags returns the times at which listings of targets lagged.
func (l *Ledger) lags() targetTimes { return targetTimes{l, filepath.Join(l.Dir, "lags.jsonl")} }

// checks returns the times of the last jobs that RecheckDuplicates has checked.
func (l *Ledger) checks() targetTimes { return targetTimes{l, filepath.Join(l.Dir, "checks.jsonl")} }

// latest returns the latest time of each target.
func (t targetTimes) latest() (map[string]time.Time, error) {
	latest := map[string]time.Time{}
	err := readRecords(t.path, func(n targetTime) bool {
		if n.Time.After(latest[n.Target]) {
			latest[n.Target] = n.Time
		}
		return n.Target != ""
	})
	return latest, t.ledger.passDamage(err)
}

// add records a time for the ledger's target.
func (t targetTimes) add(at time.Time) error {
	text, err := jsonLines([]targetTime{{at, t.ledger.Target}})
	if err != nil {
		return err
	}
	return jsonlines.Append(t.path, text)
}

// A listing that shows a new job immediately proves little: the next job may appear much later. So
// a target whose listing lagged once is recorded in <Ledger.Dir>/lags.jsonl, and its jobs get the
// late check for the next day.

const (
	// lagMemory is how long a lag is remembered.
	lagMemory = 24 * time.Hour
	// lagRenewal is the age at which a recorded lag is recorded again.
	lagRenewal = time.Hour
)

// listingsLag reports whether listings of the ledger's target lagged recently. A time in the future
// counts: the clock may have been set back.
func listingsLag(l *Ledger) (bool, error) {
	latest, err := l.lags().latest()
	last := latest[l.Target]
	return !last.IsZero() && time.Since(last) < lagMemory, err
}

// recordLag records that listings of the ledger's target lag. Without a ledger it does nothing.
func recordLag(l *Ledger) error {
	if l == nil {
		return nil
	}
	latest, err := l.lags().latest()
	if err != nil || time.Since(latest[l.Target]) < lagRenewal {
		return err
	}
	return l.lags().add(stamp())
}
