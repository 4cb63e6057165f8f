package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A job has its own waivers and then those of its workflow, which all jobs share.
func TestWaivers(t *testing.T) {
	f := load(t, `{ "name": "w", "defaults": { "image": "i:1", "waivers": [{ "rule": "r", "reason": "agreed" }] }, "jobs": [
	  { "name": "a" }, { "name": "b", "waivers": [{ "rule": "s", "reason": "agreed too", "until": "2027-01-31" }] } ] }`, Options{})
	shared := Waiver{Rule: "r", Reason: "agreed"}
	for i, want := range [][]Waiver{{shared}, {{Rule: "s", Reason: "agreed too", Until: "2027-01-31"}, shared}} {
		if d := cmp.Diff(want, f.Jobs[i].Waivers, cmpopts.IgnoreFields(Waiver{}, "Node")); d != "" {
			t.Errorf("%s (-want +got):\n%s", f.Jobs[i].Name, d)
		}
		for _, w := range f.Jobs[i].Waivers {
			if textOf(w.Node.Get("rule")) != `"`+w.Rule+`"` {
				t.Errorf("%s: the waiver of %s is at %s", f.Jobs[i].Name, w.Rule, textOf(w.Node))
			}
		}
	}
	if f.Jobs[0].Waivers[0].Node != f.Jobs[1].Waivers[1].Node {
		t.Error("the jobs do not share the waiver of the defaults")
	}
	if text := requests(t, f); strings.Contains(text, "agreed") {
		t.Errorf("a request contains a waiver:\n%s", text)
	}
}

// A variable without a name keeps its place under defaults in the other form, so that a rule can report it.
func TestVariableWithoutName(t *testing.T) {
	f := load(t, `{ "name": "w", "defaults": { "image": "i:1", "environment": { "A": "1" } }, "jobs": [
	  { "name": "a", "environment": [{ "value": "x" }] } ] }`, Options{})
	entry := f.Jobs[0].Register.At("containerProperties", "environment").Index(1)
	if name := entry.Get("name"); name == nil || name.Str() != "" || textOf(entry.Get("value")) != `"x"` {
		t.Errorf("the second variable is %s", entry.AppendJSON(nil))
	}
}
