package local

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// state is the status of a job. The zero state is that of a job that does not
// exist yet.
type state uint8

const (
	none state = iota
	submitted
	pending
	runnable
	starting
	running
	succeeded
	failed
)

// states are the seven statuses of Batch in the order of a job's life.
var states = [...]state{submitted, pending, runnable, starting, running, succeeded, failed}

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
var moves = map[state][]state{
	none:      {submitted},
	submitted: {pending, runnable, failed},
	pending:   {runnable, succeeded, failed},
	runnable:  {starting, failed},
	starting:  {running, runnable, failed},
	running:   {succeeded, runnable, failed},
}

func (s state) mayBecome(to state) bool { return slices.Contains(moves[s], to) }

// ended reports whether s is final.
func (s state) ended() bool { return s == succeeded || s == failed }

// waits reports whether nothing has been started in s yet.
func (s state) waits() bool { return s == submitted || s == pending || s == runnable }

// status is the state's name in the API.
func (s state) status() types.JobStatus {
	switch s {
	case submitted:
		return types.JobStatusSubmitted
	case pending:
		return types.JobStatusPending
	case runnable:
		return types.JobStatusRunnable
	case starting:
		return types.JobStatusStarting
	case running:
		return types.JobStatusRunning
	case succeeded:
		return types.JobStatusSucceeded
	case failed:
		return types.JobStatusFailed
	}
	return ""
}

func parseState(status types.JobStatus) (state, bool) {
	for _, s := range states {
		if s.status() == status {
			return s, true
		}
	}
	return none, false
}

func (s state) String() string { return string(s.status()) }

func (s state) MarshalText() ([]byte, error) { return []byte(s.status()), nil }

func (s *state) UnmarshalText(text []byte) error {
	v, ok := parseState(types.JobStatus(text))
	if !ok {
		return fmt.Errorf("unknown job status %q", text)
	}
	*s = v
	return nil
}
