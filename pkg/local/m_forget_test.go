package local

import (
	"testing"
)

// TestForgettingKeepsWhatIsUsedUp: what jobs took of a resource that does not come
// back stays taken when old jobs are forgotten, and tags of forgotten jobs go.
func TestForgettingKeepsWhatIsUsedUp(t *testing.T) {
	m := newModel([]Queue{{Name: "q"}})
	m.consumables["credit"] = &consumable{name: "credit", kind: nonReplenishable}
	m.consumables["licence"] = &consumable{name: "licence", kind: replenishable}
	for name, want := range map[string]bool{"credit": false, "licence": true} {
		j := &job{id: name, work: work{consumes: []requirement{{name, 1}}}}
		j.task = task{job: j, index: -1, state: succeeded, stoppedAt: 1}
		m.order = append(m.order, j)
		if got := m.forgettable(2)[name]; got != want {
			t.Errorf("a job that took a %s is forgotten: %v, want %v", name, got, want)
		}
	}
	tagged := event{Tagged: &tagging{Resource: resourceOf(kindJob, "old"), Tags: map[string]string{"a": "1"}}}
	if kept := (record{Events: []event{tagged}}).without(map[string]bool{"old": true}); len(kept.Events) != 0 {
		t.Errorf("the tags of a forgotten job stay: %+v", kept)
	}
}
