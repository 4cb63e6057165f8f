package once

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// TestRunsOf reads runs.jsonl as a crash may have left it. A run that was closed twice counts
// once, by its later line, and a torn line is skipped.
func TestRunsOf(t *testing.T) {
	l := &Ledger{Dir: t.TempDir(), Target: "local"}
	if runs, err := l.RunsOf("1"); len(runs) > 0 || err != nil {
		t.Fatalf("without a file: %v %v", runs, err)
	}
	text := `{"run":"r1","target":"local","name":"old","jobs":[{"name":"a","id":"1"}]}
{"run":"r2","target":"local","jobs":[{"name":"z","id":"9"}]}
{"run":"r1","target":"local","name":"flow","new":1,"jobs":[{"name":"a","id":"1"},{"name":"b","skipped":"no failure of a"},{"name":"c","id":"3","when":"always","after":[{"job":0},{"job":1},{"job":-1,"id":"0"},{"job":7}]}]}
{"run":"r3","target":"lo`
	if err := os.WriteFile(l.runsPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := Run{ID: "r1", Target: "local", Name: "flow", Jobs: []RunJob{{Name: "a", ID: "1"}, {Name: "b", Skipped: "no failure of a"},
		{Name: "c", ID: "3", When: "always", After: []RunEdge{{Job: 0}, {Job: 1}, {Job: -1, ID: "0"}, {Job: 7}}}}}
	runs, err := l.RunsOf("3", "1:5")
	if diff := cmp.Diff([]Run{want}, runs); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	c, ok := runs[0].Job("3")
	if after := strings.Join(runs[0].AfterIDs(c), " "); after != "1 0" || !ok {
		t.Errorf("c waits for %q", after)
	}
}

// TestRecord checks that a run's record is kept after its log, unless the ledger's entries have
// the same content.
func TestRecord(t *testing.T) {
	tests := []struct {
		title string
		tasks []*plannedJob
		kept  bool
	}{
		{"", []*plannedJob{{intent: intent{name: "a"}}}, false},
		{"flow", []*plannedJob{{intent: intent{name: "a"}}}, true},
		{"", []*plannedJob{{intent: intent{name: "a", when: "always"}}}, true},
		{"", []*plannedJob{{intent: intent{name: "a"}}, {intent: intent{name: "b", after: []edge{{Job: 0}}}}}, true},
	}
	for _, test := range tests {
		r := &run{name: "r", title: test.title, tasks: test.tasks}
		for i, t := range r.tasks {
			t.submit, t.definer = command(t.name, "work").Submit, -1
			t.accept(Submitted{ID: clienttest.TestID(i + 1)}, time.Time{})
		}
		l := &Ledger{Dir: t.TempDir()}
		if err := l.keepRecord(r.record()); err != nil {
			t.Fatal(err)
		}
		runs, err := l.RunsOf(clienttest.TestID(1))
		if err != nil || len(runs) == 1 != test.kept {
			t.Errorf("%+v: %v %v", test, runs, err)
		}
	}
}
