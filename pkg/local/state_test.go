package local

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
			a, okA := parseState(from)
			b, okB := parseState(to)
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

func TestModelRefusesForbiddenMoves(t *testing.T) {
	for _, from := range states {
		for _, to := range states {
			m := newModel(nil)
			task := &task{job: testJob(m, amount{}), index: -1, state: from}
			err := m.moveOne(1, task, to, "")
			if (err == nil) != from.mayBecome(to) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && task.state != from {
				t.Errorf("%s to %s was refused and done", from, to)
			}
		}
	}
}

func TestStateText(t *testing.T) {
	for _, s := range states {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back state
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s came back as %s, %v", s, back, err)
		}
	}
	var s state
	if err := s.UnmarshalText([]byte("LOST")); err == nil {
		t.Error("LOST was taken for a status")
	}
}
