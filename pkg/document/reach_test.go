package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestNoMemberIsDropped adds every member that a job can have, with every example of it,
// to a small job, and checks that the requests change.
func TestNoMemberIsDropped(t *testing.T) {
	top, _ := rawOf(KindJob.location())
	bases := []string{
		`{"name": "a", "image": "i"}`,
		`{"name": "a", "definition": "d"}`,
	}
	files := func(path string) (*diag.Source, error) {
		return diag.NewSource(path, "lr,seed\n0.1,1\n0.1,2\n"), nil
	}
	reached := 0
	for name, schema := range top.members() {
		if slices.Contains([]string{"$schema", "$comment", "name", "image", "definition", "waivers"}, name) {
			continue
		}
		examples, _ := schema.m["examples"].([]any)
		for i, base := range bases {
			if i == 1 && slices.Contains(byName.foreign(), name) {
				continue
			}
			before := requests(t, load(t, base, Options{}))
			for _, example := range examples {
				base := base
				if name == "inputs" || name == "outputs" || name == "checkpoint" || name == "measure" {
					base = with(t, base, "command", []string{"c"})
					before = requests(t, load(t, base, Options{}))
				}
				if m, ok := example.(map[string]any); ok && name == "array" && m["size"] == nil {
					base = with(t, base, "command", []string{"c"})
					before = requests(t, load(t, base, Options{}))
				}
				after := requests(t, load(t, with(t, base, name, example), Options{Read: files}))
				if before == after {
					t.Errorf("%s with %s: %v reaches no request", base, name, example)
				}
				reached++
			}
		}
	}
	if reached < 50 {
		t.Errorf("only %d examples were tried", reached)
	}
}

// TestNoResourceIsDropped does the same for the members of resources.
func TestNoResourceIsDropped(t *testing.T) {
	top, _ := rawOf(KindJob.location())
	const base = `{"name": "a", "image": "i"}`
	before := requests(t, load(t, base, Options{}))
	for name, schema := range top.members()["resources"].members() {
		examples, _ := schema.m["examples"].([]any)
		for _, example := range examples {
			after := requests(t, load(t, with(t, base, "resources", map[string]any{name: example}), Options{}))
			if before == after {
				t.Errorf("%s: %v reaches no request", name, example)
			}
		}
	}
}

// with adds a member to a job.
func with(t *testing.T, job, name string, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, %q: %s}", job[:len(job)-1], name, text)
}

// TestMembersOfSchema checks that the table has the members of the schema.
func TestMembersOfSchema(t *testing.T) {
	top, _ := rawOf(KindJob.location())
	want := slices.DeleteFunc(names(top.members()), func(name string) bool { return strings.HasPrefix(name, "$") })
	got := namesOf(func(*member) bool { return true })
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the table has %v, and the schema %v", got, want)
	}
}
