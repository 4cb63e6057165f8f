package once

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

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
	// sent means that a SubmitJob for the job may have been accepted. After the last answer was clear it is false.
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
