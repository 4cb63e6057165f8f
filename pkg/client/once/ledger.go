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
