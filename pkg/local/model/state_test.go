package model

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestMoves tries all 49 pairs of statuses against the list of those that Batch
// knows.
func TestMoves(t *testing.T) {
	allowed := map[[2]types.JobStatus]bool{
		{"SUBMITTED", "PENDING"}:  true,
		{"SUBMITTED", "RUNNABLE"}: true,
		{"SUBMITTED", "FAILED"}:   true,
		{"PENDING", "RUNNABLE"}:   true,
		{"PENDING", "SUCCEEDED"}:  true, // parent of an array
		{"PENDING", "FAILED"}:     true,
		{"RUNNABLE", "STARTING"}:  true,
		{"RUNNABLE", "FAILED"}:    true,
		{"STARTING", "RUNNING"}:   true,
		{"STARTING", "RUNNABLE"}:  true,
		{"STARTING", "FAILED"}:    true,
		{"RUNNING", "SUCCEEDED"}:  true,
		{"RUNNING", "RUNNABLE"}:   true,
		{"RUNNING", "FAILED"}:     true,
	}
	pairs := 0
	for _, from := range types.JobStatus("").Values() {
		for _, to := range types.JobStatus("").Values() {
			a, okA := ParseState(from)
			b, okB := ParseState(to)
			if !okA || !okB {
				t.Fatalf("%s or %s is no state here", from, to)
			}
			pairs++
			if got, want := a.mayBecome(b), allowed[[2]types.JobStatus{from, to}]; got != want {
				t.Errorf("%s to %s: %v, want %v", from, to, got, want)
			}
		}
	}
	if pairs != 49 {
		t.Errorf("tried %d pairs, want 49", pairs)
	}
}

// TestServiceMoves tries all pairs with SCHEDULED, which only service jobs have.
func TestServiceMoves(t *testing.T) {
	allowed := map[[2]State]bool{{Runnable, Scheduled}: true, {Scheduled, Starting}: true, {Scheduled, Runnable}: true, {Scheduled, Failed}: true}
	for _, other := range append(States[:], Scheduled) {
		for _, pair := range [][2]State{{Scheduled, other}, {other, Scheduled}} {
			if got := pair[0].mayBecome(pair[1]); got != allowed[pair] {
				t.Errorf("%s to %s: %v, want %v", pair[0], pair[1], got, allowed[pair])
			}
		}
	}
	if _, ok := ParseState("SCHEDULED"); ok {
		t.Error("SCHEDULED is taken for the status of other jobs")
	}
	var s State
	if err := s.UnmarshalText([]byte("SCHEDULED")); err != nil || s != Scheduled || Scheduled.Waits() || Scheduled.Ended() {
		t.Errorf("%s, %v", s, err)
	}
}

func TestModelRefusesForbiddenMoves(t *testing.T) {
	for _, from := range States {
		for _, to := range States {
			m := New(nil)
			task := &Task{Job: testJob(m, Amount{}), Index: -1, State: from}
			err := m.moveOne(1, task, to, "")
			if (err == nil) != from.mayBecome(to) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && task.State != from {
				t.Errorf("%s to %s was refused and done", from, to)
			}
		}
	}
}

func TestStateText(t *testing.T) {
	for _, s := range States {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s came back as %s, %v", s, back, err)
		}
	}
	var s State
	if err := s.UnmarshalText([]byte("LOST")); err == nil {
		t.Error("LOST was taken for a status")
	}
}
