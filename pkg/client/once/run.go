package once

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/wire"
)

// run is a submission in progress: the jobs of a plan as intents, with their outcomes.
type run struct {
	name     string
	title    string // the workflow's name; "" for a single job
	target   string
	attached bool
	began    time.Time
	tasks    []*plannedJob
	log      *runLog // nil without a ledger
	broken   bool    // the log was never complete, so nothing was sent
	// resumed means that another process began the run.
	resumed bool
	taken   time.Time // when this process locked it
	// stopping means that a job was rejected and the accepted jobs are being stopped.
	stopping bool

	stopOnFailure bool   // the client's StopOnFailure when the run began
	unsealed      bool   // lines of the log have no checksums
	damaged       string // the outcomes in the log that cannot be read; "" for none

	mu        sync.Mutex      // of resources and others
	resources map[string]bool // that may have been created
	twice     []Duplicate     // duplicates that ran until they finished
	// others are the clients of other targets that jobs of the run have moved to, by name.
	others map[string]*Client
}

// plannedJob is one job of a run. While it is sent, only one goroutine uses its fields.
type plannedJob struct {
	name       string
	submission string
	register   *awsbatch.RegisterJobDefinitionInput
	// submit is the whole request, except for the ids of other jobs of this run and the revision of
	// a definition of this run. It is nil for a definition alone.
	submit  *awsbatch.SubmitJobInput
	after   []edge
	earlier []earlier
	// definer is the index of the job that registers the definition; -1 if none of this run does.
	definer int
	staged  []staged

	// when is the plan's condition; such a job waits in the client. deferred also covers the jobs
	// after one with a condition. due is when the job no longer had to wait.
	when     string
	deferred bool
	due      time.Time
	skipped  string // why the job is not needed

	// rungs are what the client does if the job fails; again is the failed job of the run that this
	// one runs again, and step is what it changes. climbed means that the log has the decision on a
	// failure: steps are the jobs of the run that follow, and why is the reason why the job, or a part
	// of it, does not run again.
	rungs   ladder.Ladder
	again   *plannedJob
	step    *ladder.Step
	climbed bool
	steps   []*plannedJob
	why     string
	// at is the name of the target that a rung moved the job to, and target its account and Region,
	// as in the ledger; "" for the target of the run.
	at, target string
	// stays is the last reason why a waiting job was not cancelled, and asked when batchctl last asked
	// why it waits.
	stays string
	asked time.Time
	// seen is when the job was first seen without capacity, and cancelled when it was cancelled.
	seen, cancelled time.Time
	// end is SUCCEEDED once a followed job has. left means that nothing is to be done after its end.
	end  types.JobStatus
	left bool
	// notify are the receivers of a message about the end of the job, and notified those that have it.
	notify, notified []string

	// resource is shared by maxParallel concurrent children; "" means no limit.
	resource    string
	maxParallel int

	result   Submitted
	accepted time.Time // when result was recorded
	done     bool
	dropped  bool
	// sent means that a SubmitJob for the task may have been accepted.
	sent bool
	// unclear is when an answer was last missing; zero if none was.
	unclear time.Time
	// last is when the request that created the job ended.
	last time.Time
	// checked means that no duplicate can appear any more.
	checked bool
	// hidden means that another process may have sent the job so recently that the listing need not
	// show it yet.
	hidden bool
	// ended are the duplicates that were stopped or had ended; ending those that another process
	// stopped or was about to stop.
	ended, ending map[string]bool
}

// open writes the intents to the ledger.
func (r *run) open(l *Ledger) (err error) {
	if l == nil {
		return nil
	}
	r.target = l.Target
	first := worker(lineRun)
	first.Run, first.Name, first.Target, first.Jobs, first.Attached = r.name, r.title, r.target, len(r.tasks), r.attached
	first.Format, first.StopOnFailure = LogFormat, r.stopOnFailure
	lines := []line{first}
	var texts []staged
	for _, t := range r.tasks {
		intent, err := t.intent()
		if err != nil {
			return err
		}
		lines, texts = append(lines, intent), append(texts, t.staged...)
	}
	if r.log, err = l.begin(r.name, texts, lines); err != nil {
		return fmt.Errorf("write the ledger, before anything is sent: %w", err)
	}
	return nil
}

// worker returns a log line about this process.
func worker(what string) line {
	host, _ := os.Hostname() // for people; "" is harmless
	return line{Time: stamp(), What: what, Host: host, PID: os.Getpid(), Batchctl: buildinfo.Own().String()}
}

// stamp returns the time in the form of the ledger.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// intent returns the job's line in the log.
func (t *plannedJob) intent() (line, error) {
	l := line{Time: stamp(), What: lineIntent, Name: t.name, Submission: t.submission, After: t.after, Earlier: t.earlier,
		When: t.when, Staged: t.staged, Resource: t.resource, Step: t.step, Notify: t.notify,
		At: t.at, Target: t.target}
	if t.resource != "" {
		l.MaxParallel = t.maxParallel
	}
	if t.definer >= 0 {
		l.Definer = &t.definer
	}
	var err error
	if t.register != nil {
		if l.Register, err = wire.Marshal(t.register); err != nil {
			return l, err
		}
	}
	if t.submit != nil {
		l.Queue = aws.ToString(t.submit.JobQueue)
		if l.Submit, err = wire.Marshal(t.submit); err != nil {
			return l, err
		}
		sum := sha256.Sum256(l.Submit)
		l.SHA256 = hex.EncodeToString(sum[:])
	}
	return l, nil
}

// runOf reads a run from the text of its log. It returns a *RunDamageError if the first lines are
// damaged, or if a newer version wrote what this one does not know.
func runOf(name string, log *runLog, text *logText) (*run, error) {
	r := &run{name: name, log: log, resumed: true, taken: time.Now()}
	if text.isNew() {
		r.broken = true
		return r, nil
	}
	if err := text.checkKnown(); err != nil {
		return nil, err
	}
	if err := text.checkIntents(); err != nil {
		return nil, err
	}
	byID := map[string]*plannedJob{}
	for i, l := range text.lines {
		switch l.What {
		case lineRun:
			r.title, r.target, r.attached, r.began, r.stopOnFailure = l.Name, l.Target, l.Attached, l.Time, l.StopOnFailure
		case lineIntent:
			t, err := taskOf(l)
			if err != nil {
				return nil, text.damage(text.numbers[i], "%v", err)
			}
			r.tasks = append(r.tasks, t)
			byID[l.Submission] = t
		case lineResumed:
		case lineResource:
			if r.resources == nil {
				r.resources = map[string]bool{}
			}
			r.resources[l.Resource] = true
		case lineStopping:
			r.stopping = true
		case lineNotified:
			for _, receiver := range l.Notify {
				r.markNotified(receiver)
			}
		case lineClimbed, lineMoved:
			if t := byID[l.Submission]; t != nil {
				if err := r.replayClimb(t, l, byID); err != nil {
					return nil, text.damage(text.numbers[i], "%v", err)
				}
			}
		default:
			if t := byID[l.Submission]; t != nil {
				t.replay(l)
			}
		}
	}
	if err := r.checkEdges(text); err != nil {
		return nil, err
	}
	r.unsealed = len(text.unsealed) > 0
	if r.stopOnFailure && text.torn { // count it as damaged: it may have been the stopping line
		text.damaged = append(text.damaged, text.size+1)
	}
	if len(text.damaged) > 0 {
		if r.stopOnFailure {
			return nil, text.damage(text.damaged[0], "the line is damaged: the jobs of the run were submitted with --on-failure stop, and whether they are to be stopped is lost")
		}
		if slices.ContainsFunc(r.tasks, (*plannedJob).laddered) {
			return nil, text.damage(text.damaged[0], "the line is damaged: a job of the run has onFailure, and which of its steps were submitted is lost")
		}
		r.damaged = text.where()
		r.doubtAll()
	}
	r.markDeferred()
	n := r.tally()
	r.stopping = r.stopping && n.unknown+n.unsent+n.waiting > 0 // otherwise the stop is complete
	return r, nil
}

// checkEdges returns an error if an intent refers to a job that the run does not have, which can
// happen in a log without checksums.
func (r *run) checkEdges(text *logText) error {
	for i, t := range r.tasks {
		wrong := t.definer >= len(r.tasks) || t.definer >= 0 && r.tasks[t.definer].register == nil
		for _, e := range t.after {
			wrong = wrong || e.Job < 0 || e.Job >= i
		}
		if wrong {
			return text.damage(2+i, "the intent refers to a job that is not before it")
		}
	}
	return nil
}

// doubtAll records that outcomes are missing: every job may have a duplicate.
func (r *run) doubtAll() {
	for _, t := range r.tasks {
		if t.done && t.submit != nil {
			t.unclear, t.checked = r.taken, false
		}
		if !t.done && !t.dropped && t.skipped == "" {
			t.sent = true
		}
	}
}

// taskOf returns the job of an intent. It verifies the request with its hash.
func taskOf(l line) (*plannedJob, error) {
	t := &plannedJob{name: l.Name, submission: l.Submission, after: l.After, earlier: l.Earlier, definer: -1, sent: true,
		staged: l.Staged, when: l.When, resource: l.Resource, maxParallel: l.MaxParallel, notify: l.Notify}
	if l.At != "" {
		t.at, t.target = l.At, l.Target
	}
	if l.Definer != nil {
		t.definer = *l.Definer
	}
	if l.Register != nil {
		t.register = &awsbatch.RegisterJobDefinitionInput{}
		if err := wire.Unmarshal(l.Register, t.register); err != nil {
			return nil, err
		}
	}
	if l.Submit == nil {
		return t, nil
	}
	if sum := sha256.Sum256(l.Submit); hex.EncodeToString(sum[:]) != l.SHA256 {
		return nil, errors.New("the request has changed: its sha256 does not match")
	}
	t.submit = &awsbatch.SubmitJobInput{}
	if err := wire.Unmarshal(l.Submit, t.submit); err != nil {
		return nil, err
	}
	// The sha256 does not cover the id that batchctl searches for the job with.
	if tag, tagged := t.submit.Tags[client.SubmissionTag]; tagged && tag != l.Submission {
		return nil, fmt.Errorf("the submission id has been changed: the request's tag has %s", tag)
	}
	t.rungs = rungsOf(t.submit)
	return t, nil
}

// replay applies an outcome from the log.
func (t *plannedJob) replay(l line) {
	switch l.What {
	case lineAccepted:
		t.done, t.accepted, t.last, t.result = true, l.Time, l.Time, Submitted{Name: t.name, ID: l.ID, Definition: l.Definition, ArraySize: l.ArraySize}
		if t.submit != nil {
			t.result.Queue = aws.ToString(t.submit.JobQueue)
		}
		if t.again != nil {
			t.result.Again = t.again.result.ID
		}
		t.result.At = t.at
	case lineRefused:
		t.sent = !t.unclear.IsZero() // an earlier request may still have been accepted
	case lineUnclear:
		t.sent, t.unclear, t.checked = true, l.Time, false
	case lineChecked:
		t.checked = true
	case lineDropped:
		t.dropped = true
	case lineDue:
		t.due = l.Time
	case lineSkipped:
		t.skip(l.Reason)
	case lineCancelled:
		t.cancelled = time.Time{} // CancelJob may not have been sent
	case lineDuplicate:
		if t.ending == nil {
			t.ending = map[string]bool{}
		}
		t.ending[l.ID] = true
	}
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
	t.result, t.accepted, t.last, t.done = s, time.Now(), time.Now(), true
	if err := r.note(t, line{What: lineAccepted, ID: s.ID, Definition: s.Definition, ArraySize: s.ArraySize}); err != nil {
		return fmt.Errorf("job %s was accepted as %s, but batchctl could not record it: %w", s.Name, s.ID, err)
	}
	return nil
}

// results returns the accepted and the skipped jobs in the order of the plan.
func (r *run) results() (all []Submitted) {
	for _, t := range r.tasks {
		if t.done || t.skipped != "" {
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
		switch {
		case t.done:
			n.accepted++
			if t.doubtful() {
				n.unchecked++
			}
			if t.followed() {
				n.followed++
			}
		case t.skipped != "":
			n.skipped++
		case t.dropped:
			n.dropped++
		case t.held():
			n.waiting++
		case t.sent && t.submit != nil:
			n.unknown++
		default:
			n.unsent++
		}
	}
	return n
}

// settled reports whether nothing is left to do. A run without an accepted job keeps no log: its
// user submits it again.
func (r *run) settled() bool {
	n := r.tally()
	switch {
	case r.stopping || n.unknown+n.unchecked > 0:
		return false
	case n.unsent > 0:
		return n.accepted+n.dropped == 0
	}
	return n.waiting+n.followed == 0
}

// giveUp drops the rest of the run.
func (r *run) giveUp() {
	for _, t := range r.tasks {
		t.dropped, t.checked = !t.done && t.skipped == "", t.done
	}
	r.leaveFollowed()
	r.stopping = false
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
	if err := cmp.Or(l.keepRecord(r), l.keep(r)); err != nil {
		return errors.Join(err, r.log.release())
	}
	return r.log.remove()
}

// keep writes the run's accepted jobs to submissions.jsonl, except those that an earlier process
// has written before it crashed.
func (l *Ledger) keep(r *run) error {
	known, err := l.knownOf(r)
	if err != nil {
		return err
	}
	var entries []Entry
	for _, t := range r.tasks {
		if s := t.result; t.done && s.ID != "" && !known[s.ID] {
			entries = append(entries, Entry{t.accepted, cmp.Or(t.target, r.target), s.Queue, s.Name, s.ID, s.Definition, s.ArraySize, t.submission, r.name, r.title})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return l.Append(entries...)
}

// knownOf returns the ids that the ledger has already, if another process may have written some
// of the run's entries.
func (l *Ledger) knownOf(r *run) (map[string]bool, error) {
	if !r.resumed {
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

// each processes the jobs, n concurrently, each after the jobs that it needs and otherwise in the
// order of the plan. After an error, or when ctx ends, it starts no further job and waits for
// those in progress.
func (r *run) each(ctx context.Context, n int, do func(*plannedJob) error, needs func(*plannedJob, int) []int) (first error) {
	waits, dependents := make([]int, len(r.tasks)), make([][]int, len(r.tasks))
	var ready []int
	for i, t := range r.tasks {
		for _, on := range needs(t, i) {
			waits[i]++
			dependents[on] = append(dependents[on], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	type outcome struct {
		task int
		err  error
	}
	outcomes := make(chan outcome)
	for running := 0; ; {
		for running < n && len(ready) > 0 && first == nil {
			if ctx.Err() != nil {
				first = context.Cause(ctx)
				break
			}
			i := ready[0]
			ready = ready[1:]
			running++
			go func() { outcomes <- outcome{i, do(r.tasks[i])} }()
		}
		if running == 0 {
			return first
		}
		o := <-outcomes
		running--
		first = cmp.Or(first, o.err)
		for _, i := range dependents[o.task] {
			if waits[i]--; waits[i] == 0 {
				at, _ := slices.BinarySearch(ready, i)
				ready = slices.Insert(ready, at, i)
			}
		}
	}
}

// needs returns the jobs that come before this one, which is number i.
func (t *plannedJob) needs(i int) (before []int) {
	for _, e := range t.after {
		before = append(before, e.Job)
	}
	if t.definer >= 0 && t.definer != i {
		before = append(before, t.definer)
	}
	return before
}
