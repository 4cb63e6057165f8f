package model

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// State is the status of a job. The zero state is that of a job that does not exist yet.
type State uint8

// The states of a job.
const (
	NoState State = iota
	Submitted
	Pending
	Runnable
	Scheduled // only service jobs
	Starting
	Running
	Succeeded
	Failed
)

// States are the seven statuses of Batch in the order of a job's life. Service jobs have SCHEDULED too.
var States = [...]State{Submitted, Pending, Runnable, Starting, Running, Succeeded, Failed}

// moves is every move that a job may make:
//
//	              dependencies            place found           container started
//	SUBMITTED ──▶ PENDING ──▶ RUNNABLE ──▶ STARTING ──▶ RUNNING ──▶ SUCCEEDED
//	    │            │ ╲       ▲  │  ▲        │            │
//	    └────────────┼──╲──────┘  │  └────────┴── retry ───┤
//	                 │   ╲        │           │            │
//	                 ▼    ▼       ▼           ▼            ▼
//	              FAILED  SUCCEEDED (parent of an array)  FAILED
//
// A job without dependencies skips PENDING. The parent of an array goes to
// PENDING in any case, stays there while its children run, and ends from there.
// Cancel, terminate and a failed dependency lead from any waiting state to
// FAILED. SUCCEEDED and FAILED are final.
//
// A service job is SCHEDULED between RUNNABLE and STARTING: it was given to SageMaker, which has not
// begun to prepare it (user guide, "Mapping AWS Batch service job status to SageMaker AI status").
var moves = map[State][]State{
	NoState:   {Submitted},
	Submitted: {Pending, Runnable, Failed},
	Pending:   {Runnable, Succeeded, Failed},
	Runnable:  {Scheduled, Starting, Failed},
	Scheduled: {Starting, Runnable, Failed},
	Starting:  {Running, Runnable, Failed},
	Running:   {Succeeded, Runnable, Failed},
}

// mayBecome reports whether moves allows the change to a state.
func (s State) mayBecome(to State) bool { return slices.Contains(moves[s], to) }

// Ended reports whether s is final.
func (s State) Ended() bool { return s == Succeeded || s == Failed }

// Waits reports whether no attempt has started in s.
func (s State) Waits() bool { return s == Submitted || s == Pending || s == Runnable }

// Status returns the state's name in the API.
func (s State) Status() types.JobStatus {
	switch s {
	case Submitted:
		return types.JobStatusSubmitted
	case Pending:
		return types.JobStatusPending
	case Runnable:
		return types.JobStatusRunnable
	case Scheduled:
		return types.JobStatus(types.ServiceJobStatusScheduled)
	case Starting:
		return types.JobStatusStarting
	case Running:
		return types.JobStatusRunning
	case Succeeded:
		return types.JobStatusSucceeded
	case Failed:
		return types.JobStatusFailed
	}
	return ""
}

// ParseState returns the state with a name in the API; ok is false for an unknown name.
func ParseState(status types.JobStatus) (State, bool) {
	for _, s := range States {
		if s.Status() == status {
			return s, true
		}
	}
	return NoState, false
}

// String returns the name in the API.
func (s State) String() string { return string(s.Status()) }

// MarshalText encodes the state as its name in the API.
func (s State) MarshalText() ([]byte, error) { return []byte(s.Status()), nil }

// ParseServiceState returns the state with a name in the API of service jobs; ok is false for an
// unknown name.
func ParseServiceState(status types.ServiceJobStatus) (State, bool) {
	if status == types.ServiceJobStatusScheduled {
		return Scheduled, true
	}
	return ParseState(types.JobStatus(status))
}

// UnmarshalText decodes a name in the API; an unknown one is an error.
func (s *State) UnmarshalText(text []byte) error {
	v, ok := ParseServiceState(types.ServiceJobStatus(text))
	if !ok {
		return fmt.Errorf("unknown job status %q", text)
	}
	*s = v
	return nil
}
