package once

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Submitted is a job that the service accepted. With an empty ID it is a job definition that was
// registered without a job, or with Skipped a job that is not needed.
type Submitted struct {
	Name, ID, Queue string
	// Definition is the ARN with revision that the job runs.
	Definition string
	// ArraySize is 0 for a job that is not an array.
	ArraySize int
	// Skipped is why a job was not and will not be submitted: its condition did not hold, or a job
	// before it FAILED. It is "" for all others.
	Skipped string
	// Again is the id of the failed job that this one runs again. Healed means that the job FAILED, and that the jobs
	// that run it again SUCCEEDED.
	Again  string
	Healed bool
	// At is the name of the target that a rung moved the job to; "" for the target of the submission.
	At string
}

// intent is what a run means to send for a job. It is fixed before the job is sent, and is what the intent's line in
// the log has.
type intent struct {
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
	// when is the plan's condition; such a job waits in the client.
	when string
	// rungs are what the client does if the job fails. again is the failed job of the run that this
	// one runs again, and step is what it changes.
	rungs ladder.Ladder
	again *plannedJob
	step  *ladder.Step
	// at is the name of the target that a rung moved the job to, and target its account and Region,
	// as in the ledger; "" for the target of the run.
	at, target string
	// retryOf is the id of the job that this one of a plan by Retry runs again. file is the absolute path of the job's
	// file; "" if it has none.
	retryOf, file string
	// notify are the receivers of a message about the end of the job.
	notify []string
	// resource is shared by maxParallel concurrent children; "" means no limit.
	resource    string
	maxParallel int
}

// plannedJob is one job of a run. While it is sent, only one goroutine uses its fields.
type plannedJob struct {
	intent
	state
	duplicates
	climb
	patience
}

// phase is where a job of a run stands. It is never ahead of the log: another process that reads the log finds the
// same phase, or one from which it asks the service.
//
//	phase        the log has                           next
//	jobWaiting   an intent, no line "due"              jobDue, jobSkipped, jobDropped
//	jobDue       an intent; "due" if the job waited    jobAccepted, jobDropped
//	jobAccepted  "accepted"
//	jobSkipped   "skipped"
//	jobDropped   "dropped"
//
// An accepted job stays accepted, whatever follows: no transition can lose its id.
type phase int

const (
	jobDue      phase = iota // it can be sent, or was sent without a clear answer (state.sent)
	jobWaiting               // it waits in the client until other jobs have ended
	jobAccepted              // it has an id, or is a registered definition
	jobSkipped               // it is not needed
	jobDropped               // it is given up
)

// state is what has become of a job. The log's lines are its transitions, so that replaying them gives the state that
// the job had. For example, an answer is lost, the job is found, it fails, and a step of it moves to another target:
//
//	jobDue                intent     the intent is on disk
//	jobDue, sent          unclear    no answer: duplicates may appear (duplicates)
//	jobAccepted           accepted   the search found it, now or in another process
//	jobAccepted           checked    a minute later no duplicate can appear any more
//	jobAccepted, FAILED   moved      the decision on its failure has the step as an intent (climb)
//	                                 the step begins as jobDue, with its own target in its intent
//
// Another process that continues the run begins with each intent as jobDue and sent, since it cannot know better, and
// so searches for the job before it sends it.
type state struct {
	phase phase
	// sent means that a SubmitJob for the job may have been accepted. It is false again after a rejection, unless the
	// answer to an earlier request was missing. It outlasts the phase: what a dropped job needs may still be in use.
	sent bool
	// since is from when on a due job may have been sent, and when an accepted job was recorded.
	since time.Time
	// result is the job's outcome, with the reason for a job that is not needed; zero for others.
	result Submitted
}

// open reports whether the job has no outcome yet.
func (s *state) open() bool { return s.phase == jobDue || s.phase == jobWaiting }

// held reports whether the job has to wait before it is sent.
func (s *state) held() bool { return s.phase == jobWaiting }

// isAccepted reports whether the job was accepted. It has no id if it is a definition alone.
func (s *state) isAccepted() bool { return s.phase == jobAccepted }

// release lets a job be sent from a time on.
func (s *state) release(at time.Time) {
	if s.open() {
		s.phase, s.since = jobDue, at
	}
}

// accept records the job's id, or its definition.
func (s *state) accept(result Submitted, at time.Time) {
	s.phase, s.result, s.since = jobAccepted, result, at
}

// drop gives the job up, unless it has an outcome.
func (s *state) drop() {
	if s.open() {
		s.phase = jobDropped
	}
}

// skip marks a job as not needed.
func (t *plannedJob) skip(why string) {
	if !t.open() {
		return
	}
	t.phase, t.since, t.result = jobSkipped, time.Time{}, Submitted{Name: t.name, Skipped: why}
	if t.submit != nil {
		t.result.Queue, t.result.ArraySize = aws.ToString(t.submit.JobQueue), arraySize(t.submit)
	}
}

// doubt is what is known about duplicates of a job.
type doubt int

const (
	noDoubt   doubt = iota // every answer was clear, so only a repeated request can have created one
	inDoubt                // they may appear until lateCheck has passed since the last request
	pastDoubt              // no duplicate can appear any more
)

// duplicates is what a run knows about the duplicates of a job. It matters once the job is accepted; a job that was
// sent without a clear answer has it before, since the log has "unclear" before the search for the job begins.
type duplicates struct {
	doubt doubt
	// unclear is when an answer was last missing; zero if none was. It stays after the check.
	unclear time.Time
	// last is when the request that created the job ended.
	last time.Time
	// hidden means that another process may have sent the job so recently that the listing need not
	// show it yet.
	hidden bool
	// ended are the duplicates that were stopped or had ended; ending those that another process
	// stopped or was about to stop.
	ended, ending map[string]bool
}

// suspect records that duplicates may appear until a while after a time. Without a time it clears the doubt: a run
// that this process began was never taken over from another.
func (d *duplicates) suspect(since time.Time) {
	if d.unclear, d.doubt = since, inDoubt; since.IsZero() {
		d.doubt = noDoubt
	}
}

// markEnded records that a duplicate was stopped or had ended.
func (d *duplicates) markEnded(id string) {
	if d.ended == nil {
		d.ended = map[string]bool{}
	}
	d.ended[id] = true
}

// markEnding records that a duplicate is about to be stopped.
func (d *duplicates) markEnding(id string) {
	if d.ending == nil {
		d.ending = map[string]bool{}
	}
	d.ending[id] = true
}

// lateCheck is the time from the last request for a job to the last check for its duplicates.
// It covers listings that lag a minute behind, with a margin of two seconds.
const lateCheck = time.Minute + 2*time.Second

// doubtful reports whether duplicates of an accepted job may appear.
func (t *plannedJob) doubtful() bool { return t.isAccepted() && t.doubt == inDoubt }

// lastRequest returns the latest time at which a request for an accepted job may have been on its
// way.
func (d *duplicates) lastRequest() time.Time {
	if d.last.After(d.unclear) {
		return d.last
	}
	return d.unclear
}

// lost reports whether a job was sent without any clear answer, and was not found since.
func (t *plannedJob) lost() bool { return t.open() && t.submit != nil && !t.unclear.IsZero() }

// climb is what follows the end of an accepted job.
type climb struct {
	// end is "" until it is decided what follows. After SUCCEEDED nothing does. After FAILED the log has the decision:
	// steps are the jobs of the run that run the job again, and why is the reason why it, or a part of it, does not run
	// again.
	end   types.JobStatus
	steps []*plannedJob
	why   string
	// notified are the receivers that have the message about the end of the job.
	notified []string
	// left means that the run was given up: nothing is done after the job any more.
	left bool
}

// decided reports whether it is known what follows the job.
func (c *climb) decided() bool { return c.end != "" }

// climbed reports whether the log has the decision on a failure.
func (c *climb) climbed() bool { return c.end == types.JobStatusFailed }

// followed reports whether the client still has to wait for the end of an accepted job: to execute
// its rungs, or to send a message about it.
func (t *plannedJob) followed() bool {
	switch {
	case !t.isAccepted() || t.result.ID == "" || t.left:
		return false
	case t.laddered() && !t.decided():
		return true
	}
	return len(t.notify) > len(t.notified)
}

// patience is what this process has seen of an accepted job that waits for capacity. No other process needs it: a line
// "cancel" in the log does not tell whether CancelJob was sent.
type patience struct {
	// seen is when the job was first seen without capacity, and cancelled when it was cancelled.
	seen, cancelled time.Time
	// stays is the last reason why the job was not cancelled, and asked when batchctl last asked why it waits.
	stays string
	asked time.Time
}

// submitted returns the task's job with its id.
func (t *plannedJob) submitted(id, definition string) Submitted {
	s := Submitted{Name: t.name, ID: id, Queue: aws.ToString(t.submit.JobQueue), Definition: definition,
		ArraySize: arraySize(t.submit), At: t.at}
	s.Again = t.runsAgain()
	return s
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

// dependsOn returns the dependencies to send to Batch. Jobs with a When have none: the jobs that
// they wait for have ended. id returns nil for a job that has ended, too.
func (t *plannedJob) dependsOn(id func(edge) *string) (all []types.JobDependency) {
	if t.when != "" {
		return nil
	}
	for _, e := range t.earlier {
		all = append(all, types.JobDependency{JobId: aws.String(cmp.Or(e.ID, t.submission)),
			Type: types.ArrayJobDependency(e.Type)})
	}
	for _, e := range t.after {
		if id := id(e); id != nil {
			all = append(all, types.JobDependency{JobId: id, Type: types.ArrayJobDependency(e.Type)})
		}
	}
	return all
}

// laddered reports whether the job has rungs that this client executes.
func (t *plannedJob) laddered() bool { return len(t.rungs) > 0 }

// taken returns the steps that led to a job, oldest first.
func (t *plannedJob) taken() (steps []ladder.Step) {
	for ; t.again != nil; t = t.again {
		steps = append(steps, *t.step)
	}
	slices.Reverse(steps)
	return steps
}

// runsAgain returns the id of the job that this one runs again; "" for a job of a file.
func (t *plannedJob) runsAgain() string {
	if t.again != nil {
		return t.again.result.ID
	}
	return t.retryOf
}

// cells returns the cells that a job runs, as sweep.CellsVariable has them; "" for those of its indexes.
func (t *intent) cells() string {
	if t.submit == nil || t.submit.ContainerOverrides == nil {
		return ""
	}
	for _, v := range t.submit.ContainerOverrides.Environment {
		if aws.ToString(v.Name) == sweep.CellsVariable {
			return aws.ToString(v.Value)
		}
	}
	return ""
}

// root returns the job of the plan that a job runs again; a job of the plan itself.
func (t *plannedJob) root() *plannedJob {
	for t.again != nil {
		t = t.again
	}
	return t
}

// need returns what a job requests, as its rungs change it.
func (t *plannedJob) need(job *types.JobDetail) ladder.Need {
	n := ladder.NeedOf(job)
	n.Target = t.at
	return n
}

// describe names a job that runs another again, with what it requests.
func (t *plannedJob) describe() string {
	text := t.name
	if t.step.MemoryMiB > 0 {
		text += fmt.Sprintf(", %d MiB", t.step.MemoryMiB)
	}
	text += ", queue " + t.step.Queue
	if t.at != "" {
		text += ", target " + t.at
	}
	return text
}

// line returns the intent's line in the log.
func (t *intent) line() (line, error) {
	l := line{Time: stamp(), What: lineIntent, Name: t.name, Submission: t.submission, After: t.after,
		Earlier: t.earlier,
		When:    t.when, Staged: t.staged, Resource: t.resource, Step: t.step, Notify: t.notify,
		At: t.at, Target: t.target, Again: t.retryOf, File: t.file, Cells: t.cells()}
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

// taskOf returns the job of an intent. It verifies the request with its hash.
func taskOf(l line) (*plannedJob, error) {
	t := &plannedJob{state: state{sent: l.Submit != nil}, intent: intent{
		name: l.Name, submission: l.Submission, after: l.After,
		earlier: l.Earlier, definer: -1, staged: l.Staged, when: l.When, step: l.Step, resource: l.Resource,
		maxParallel: l.MaxParallel, notify: l.Notify, retryOf: l.Again, file: l.File}}
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
		return nil, errors.New("the request was changed: its sha256 does not match")
	}
	t.submit = &awsbatch.SubmitJobInput{}
	if err := wire.Unmarshal(l.Submit, t.submit); err != nil {
		return nil, err
	}
	// The sha256 does not cover the id that batchctl searches for the job with.
	if tag, tagged := t.submit.Tags[client.SubmissionTag]; tagged && tag != l.Submission {
		return nil, fmt.Errorf("the submission id was changed: the request's tag has %s", tag)
	}
	t.rungs = rungsOf(t.submit)
	return t, nil
}

// replay applies an outcome from the log.
func (t *plannedJob) replay(l line) {
	switch l.What {
	case lineAccepted:
		s := Submitted{Name: t.name, ID: l.ID, Definition: l.Definition, ArraySize: l.ArraySize,
			Again: t.runsAgain(), At: t.at}
		if t.submit != nil {
			s.Queue = aws.ToString(t.submit.JobQueue)
		}
		t.accept(s, l.Time)
		t.last = l.Time
	case lineRefused:
		t.sent = !t.unclear.IsZero() // an earlier request may still have been accepted
	case lineUnclear:
		t.sent = true
		t.suspect(l.Time)
	case lineChecked:
		t.doubt = pastDoubt
	case lineDropped:
		t.drop()
	case lineDue:
		t.release(l.Time)
	case lineSkipped:
		t.skip(l.Reason)
	case lineDuplicate:
		t.markEnding(l.ID)
	}
}
