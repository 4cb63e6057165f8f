package model

import (
	"testing"
)

// TestForgettingKeepsWhatIsUsedUp checks that the used part of a non-replenishable resource stays
// used after old jobs are forgotten, and that their tags disappear.
func TestForgettingKeepsWhatIsUsedUp(t *testing.T) {
	m := New([]QueueSpec{{Name: "q"}})
	m.Consumables["credit"] = &Consumable{Name: "credit", Kind: NonReplenishable}
	m.Consumables["licence"] = &Consumable{Name: "licence", Kind: Replenishable}
	for name, want := range map[string]bool{"credit": false, "licence": true} {
		j := &Job{ID: name, Work: Work{Consumes: []Requirement{{name, 1}}}}
		j.Task = Task{Job: j, Index: -1, State: Succeeded, StoppedAt: 1}
		m.BySubmission = append(m.BySubmission, j)
		if got := m.Forgettable(2)[name]; got != want {
			t.Errorf("a job that took a %s is forgotten: %v, want %v", name, got, want)
		}
	}
	tagged := Event{Tagged: &Tagging{Resource: ResourceOf(KindJob, "old"), Tags: map[string]string{"a": "1"}}}
	if kept := (Record{Events: []Event{tagged}}).Without(map[string]bool{"old": true}); len(kept.Events) != 0 {
		t.Errorf("the tags of a forgotten job stay: %+v", kept)
	}
	for _, v := range []Event{{ServiceSubmitted: &ServiceSubmission{ID: "old"}}, {Prioritized: &Prioritization{Job: "old"}}, {Preempted: &Preemption{Job: "old"}},
		{Tagged: &Tagging{Resource: ResourceOf(KindServiceJob, "old")}}} {
		if kept := (Record{Events: []Event{v}}).Without(map[string]bool{"old": true}); len(kept.Events) != 0 {
			t.Errorf("an event of a forgotten service job stays: %+v", kept)
		}
	}
}
