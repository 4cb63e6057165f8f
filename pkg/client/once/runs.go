package once

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// Run is a submission with the dependencies of its jobs. AWS Batch does not have all of that: a
// job with a When is submitted without dependencies, and a job that is not needed is never
// submitted.
type Run struct {
	// ID is the submission's id in the ledger, Target where its jobs went.
	ID     string `json:"run"`
	Target string `json:"target"`
	// Name is the name of the workflow; "" for a single job.
	Name string   `json:"name,omitempty"`
	Jobs []RunJob `json:"jobs"`
}

// RunJob is a job of a Run.
type RunJob struct {
	Name string `json:"name"`
	// ID is "" for a job that was not submitted.
	ID        string `json:"id,omitempty"`
	Queue     string `json:"queue,omitempty"`
	ArraySize int    `json:"arraySize,omitempty"`
	// When is document.WhenAlways or document.WhenFailure; "" if the job runs after success.
	When  string    `json:"when,omitempty"`
	After []RunEdge `json:"after,omitempty"`
	// Skipped is the reason why the job is not needed.
	Skipped string `json:"skipped,omitempty"`
	// Again is the id of the failed job that this one runs again; Cause is why that one failed, and
	// MemoryMiB what this one requests.
	Again     string `json:"again,omitempty"`
	Cause     string `json:"cause,omitempty"`
	MemoryMiB int    `json:"memory,omitempty"`
	// Saw is why the failed job had waited, if the cause is noCapacity and that was known.
	Saw string `json:"saw,omitempty"`
	// At is the name of the target that a rung moved the job to, and Target its account and Region;
	// "" for the target of the run.
	At     string `json:"at,omitempty"`
	Target string `json:"target,omitempty"`
	// Why is the reason why the rungs of the job did not run it, or a part of it, again.
	Why string `json:"why,omitempty"`
	// Pending reports that batchctl has yet to submit the job.
	Pending bool `json:"-"`
}

// RunEdge is a job that another one waits for.
type RunEdge struct {
	// Job is the index in Run.Jobs; -1 for a job of an earlier submission, which has an ID.
	Job  int    `json:"job"`
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

// Job returns the job with this id.
func (r Run) Job(id string) (RunJob, bool) {
	at := slices.IndexFunc(r.Jobs, func(j RunJob) bool { return j.ID == id && id != "" })
	if at < 0 {
		return RunJob{}, false
	}
	return r.Jobs[at], true
}

// AfterIDs returns the ids of the jobs that j waits for, without those that were never submitted.
func (r Run) AfterIDs(j RunJob) (ids []string) {
	for _, e := range j.After {
		if id := r.idOf(e); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// idOf returns the id of the job at the other end of an edge; "" if it was not submitted.
func (r Run) idOf(e RunEdge) string {
	if e.Job >= 0 && e.Job < len(r.Jobs) {
		return r.Jobs[e.Job].ID
	}
	return e.ID
}

// runsPath returns the file with the dependencies of closed runs.
func (l *Ledger) runsPath() string { return filepath.Join(l.Dir, "runs.jsonl") }

// closedRecords reads runs.jsonl. After a crash a run may be in it twice; the later line counts. It
// skips damaged lines.
func (l *Ledger) closedRecords() (all []Run, err error) {
	at := map[string]int{}
	err = readRecords(l.runsPath(), func(r Run) bool {
		if r.ID == "" {
			return false
		}
		if i, again := at[r.ID]; again {
			all[i] = r
			return true
		}
		at[r.ID], all = len(all), append(all, r)
		return true
	})
	return all, l.passDamage(err)
}

// keepRecord writes the record of a run, unless the ledger's entry of its only job has the same
// content.
func (l *Ledger) keepRecord(record Run) error {
	if len(record.Jobs) == 0 || len(record.Jobs) == 1 && record.Name == "" && record.Jobs[0].When == "" {
		return nil
	}
	text, err := jsonLines([]Run{record})
	if err != nil {
		return err
	}
	if err := makeDir(l.Dir); err != nil {
		return err
	}
	_, err = os.Stat(l.runsPath())
	created := errors.Is(err, fs.ErrNotExist)
	if err := jsonlines.Append(l.runsPath(), text); err != nil || !created {
		return err
	}
	return syncDir(l.Dir)
}
