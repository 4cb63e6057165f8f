package once

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// run is a submission in progress: the jobs of a plan as intents, with their outcomes.
type run struct {
	name     string
	title    string // the workflow's name; "" for a single job
	target   string
	attached bool
	began    time.Time
	tasks    []*plannedJob
	log      *runLog   // nil without a ledger
	taken    time.Time // when this process took the run over from another; zero if it began the run
	progress progress

	stopOnFailure bool   // the client's StopOnFailure when the run began
	damaged       string // the outcomes in the log that cannot be read; "" for none

	mu        sync.Mutex      // of resources
	resources map[string]bool // that may have been created
	twice     []Duplicate     // duplicates that ran until they finished
}

// progress is how far a run can be carried out.
type progress int

const (
	runGoing    progress = iota // its jobs are sent
	runStopping                 // a job was rejected, and the accepted jobs are being stopped
	runBroken                   // its intents were never complete in the log, so nothing was sent
)

// resumed reports whether another process began the run.
func (r *run) resumed() bool { return !r.taken.IsZero() }

// stopping reports whether a job was rejected and the accepted jobs are being stopped.
func (r *run) stopping() bool { return r.progress == runStopping }

// broken reports whether the intents were never complete in the log.
func (r *run) broken() bool { return r.progress == runBroken }

// open writes the intents to the ledger.
func (r *run) open(l *Ledger) (err error) {
	if l == nil {
		return nil
	}
	r.target = l.Target
	first := worker(lineRun)
	first.Run, first.Name, first.Target, first.Jobs, first.Attached = r.name, r.title, r.target, len(r.tasks),
		r.attached
	first.Format, first.StopOnFailure = LogFormat, r.stopOnFailure
	lines := []line{first}
	var texts []staged
	for _, t := range r.tasks {
		intent, err := t.line()
		if err != nil {
			return err
		}
		lines, texts = append(lines, intent), append(texts, t.staged...)
	}
	if r.log, err = l.logs().begin(r.name, texts, lines); err != nil {
		return fmt.Errorf("write the ledger, before anything is sent: %w", err)
	}
	return nil
}

// note records an outcome of a task.
func (r *run) note(t *plannedJob, l line) error {
	if r.log == nil {
		return nil
	}
	l.Time, l.Name, l.Submission = stamp(), t.name, t.submission
	return r.log.write(l)
}

// accepted records that a job has an id, or that a definition alone is registered.
func (r *run) accepted(t *plannedJob, s Submitted) error {
	t.accept(s, time.Now())
	t.last = time.Now()
	if err := r.note(t, line{What: lineAccepted, ID: s.ID, Definition: s.Definition,
		ArraySize: s.ArraySize}); err != nil {
		return fmt.Errorf("job %s was accepted as %s, but batchctl could not record it: %w", s.Name, s.ID, err)
	}
	return nil
}

// recordDue records that jobs are about to be sent. The record is on disk when recordDue returns, so a job
// without it was certainly not sent.
func (r *run) recordDue(due []*plannedJob) error {
	if len(due) == 0 {
		return nil
	}
	var lines []line
	for _, t := range due {
		t.release(time.Now())
		lines = append(lines, line{Time: stamp(), What: lineDue, Name: t.name, Submission: t.submission})
	}
	if r.log == nil {
		return nil
	}
	return errors.Join(r.log.write(lines...), r.log.sync())
}

// skip records that a job is not needed.
func (r *run) skip(t *plannedJob, why string) error {
	t.skip(why)
	return r.note(t, line{What: lineSkipped, Reason: why})
}

// doubt records that duplicates of an accepted job may appear until a while after since.
func (r *run) doubt(t *plannedJob, since time.Time, why string) error {
	t.suspect(since)
	return r.note(t, line{What: lineUnclear, Reason: why})
}

// noteResource records that a resource is about to be created.
func (r *run) noteResource(name string, quantity int) error {
	r.mu.Lock()
	if r.resources == nil {
		r.resources = map[string]bool{}
	}
	known := r.resources[name]
	r.resources[name] = true
	r.mu.Unlock()
	if known || r.log == nil {
		return nil
	}
	return r.log.write(line{Time: stamp(), What: lineResource, Resource: name, MaxParallel: quantity})
}

// markNotified records that no message is left to send to a receiver.
func (r *run) markNotified(receiver string) {
	for _, t := range r.tasks {
		if slices.Contains(t.notify, receiver) {
			t.notified = append(t.notified, receiver)
		}
	}
}

// hold marks the jobs that wait in the client: those with a condition or after a job with rungs, and the jobs after
// them. It is called once, after the lines "due" are known. All other jobs may have been sent since the run began.
func (r *run) hold() {
	deferred := make([]bool, len(r.tasks))
	for i, t := range r.tasks {
		deferred[i] = t.when != "" ||
			slices.ContainsFunc(t.after, func(e edge) bool { return deferred[e.Job] || r.tasks[e.Job].laddered() })
		switch {
		case t.phase != jobDue || !t.since.IsZero():
		case deferred[i]:
			t.phase = jobWaiting
		default:
			t.since = r.began
		}
	}
}

// holds reports whether a job of the run waits in the client.
func (r *run) holds() bool { return slices.ContainsFunc(r.tasks, (*plannedJob).held) }

// follows reports whether the client still has to wait for jobs of the run.
func (r *run) follows() bool { return slices.ContainsFunc(r.tasks, (*plannedJob).followed) }

// addSteps adds the jobs that run a failed one again.
func (r *run) addSteps(t *plannedJob, why string, steps []*plannedJob) {
	t.end, t.why = types.JobStatusFailed, why
	t.steps, r.tasks = append(t.steps, steps...), append(r.tasks, steps...)
}

// leaveFollowed gives up what is left to do after the jobs of the run.
func (r *run) leaveFollowed() {
	for _, t := range r.tasks {
		t.left = true
	}
}

// dueAt returns when the last check for duplicates of the selected jobs is due; zero if none is
// selected.
func (r *run) dueAt(selects func(*plannedJob) bool) (due time.Time) {
	for _, t := range r.tasks {
		if at := t.lastRequest().Add(lateCheck); selects(t) && at.After(due) {
			due = at
		}
	}
	return due
}

// logName returns the run's id in the ledger; "" without a log.
func (r *run) logName() string {
	if r.log == nil {
		return ""
	}
	return r.name
}

// results returns the accepted and the skipped jobs in the order of the plan.
func (r *run) results() (all []Submitted) {
	for _, t := range r.tasks {
		if t.phase == jobAccepted || t.phase == jobSkipped {
			all = append(all, t.result)
		}
	}
	return all
}

// tally counts the jobs of a run.
type tally struct {
	// accepted jobs have an id, or are a registered definition. skipped ones are not needed, and
	// dropped ones are given up.
	accepted, skipped, dropped int
	// unknown jobs may or may not have been accepted. unsent ones certainly were not, and waiting
	// ones wait for other jobs.
	unknown, unsent, waiting int
	// unchecked is how many accepted jobs may have duplicates. followed is how many the client waits
	// for, to execute their rungs or to send a message.
	unchecked, followed int
}

// tally counts the jobs by what is known about them.
func (r *run) tally() (n tally) {
	for _, t := range r.tasks {
		switch t.phase {
		case jobAccepted:
			n.accepted++
			if t.doubtful() {
				n.unchecked++
			}
			if t.followed() {
				n.followed++
			}
		case jobSkipped:
			n.skipped++
		case jobDropped:
			n.dropped++
		case jobWaiting:
			n.waiting++
		case jobDue:
			if t.sent {
				n.unknown++
			} else {
				n.unsent++
			}
		}
	}
	return n
}

// settled reports whether nothing is left to do. A run without an accepted job keeps no log: its
// user submits it again.
func (r *run) settled() bool {
	n := r.tally()
	switch {
	case r.stopping() || n.unknown+n.unchecked > 0:
		return false
	case n.unsent > 0:
		return n.accepted+n.dropped == 0
	}
	return n.waiting+n.followed == 0
}

// giveUp drops the rest of the run.
func (r *run) giveUp() {
	for _, t := range r.tasks {
		t.drop()
		t.doubt = pastDoubt
	}
	r.leaveFollowed()
	r.progress = runGoing
}

// Duplicate is a second job for the same intent.
type Duplicate struct {
	// Job is the user's name for the job, ID the job that counts.
	Job, ID string
	// Duplicate is the id of the duplicate, which ended with Status.
	Duplicate, Status string
}

// TwiceError names jobs that ran twice until they finished. Nothing can undo that.
type TwiceError struct{ Duplicates []Duplicate }

// Error names each job with its duplicate.
func (e *TwiceError) Error() string {
	var all []string
	for _, t := range e.Duplicates {
		all = append(all, fmt.Sprintf("job %s ran twice: %s counts; its duplicate %s ended as %s", t.Job, t.ID,
			t.Duplicate, t.Status))
	}
	return strings.Join(all, "; ")
}
