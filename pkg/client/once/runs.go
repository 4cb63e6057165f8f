package once

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
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

// record returns the part of the run that is kept after its log is removed.
func (r *run) record() Run {
	record := Run{ID: r.name, Target: r.target, Name: r.title}
	index := make([]int, len(r.tasks)) // in the record, which leaves out definitions without a job
	for i, t := range r.tasks {
		index[i] = len(record.Jobs)
		if t.submit == nil {
			continue
		}
		j := RunJob{Name: t.name, ID: t.result.ID, Queue: aws.ToString(t.submit.JobQueue),
			ArraySize: arraySize(t.submit), When: t.when, Skipped: t.result.Skipped,
			Pending: t.open(), At: t.at, Target: t.target}
		if j.Why = t.why; t.again != nil {
			j.Again, j.Cause, j.MemoryMiB, j.Saw = t.again.result.ID, string(t.step.Cause), t.step.MemoryMiB, t.step.Saw
		}
		for _, e := range t.after {
			j.After = append(j.After, RunEdge{Job: index[e.Job], Type: e.Type})
		}
		for _, e := range t.earlier {
			j.After = append(j.After, RunEdge{Job: -1, ID: e.ID, Type: e.Type})
		}
		record.Jobs = append(record.Jobs, j)
	}
	return record
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
