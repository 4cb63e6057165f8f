package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheLastDefinitionCounts checks that of two definitions with the same name, the one
// in the later file is used, in whichever order they are read.
func TestTheLastDefinitionCounts(t *testing.T) {
	dir := t.TempDir()
	definition := func(tags, command string) string {
		return fmt.Sprintf(`{"jobDefinitionName": "train", "type": "container", "timeout": {"attemptDurationSeconds": 60}, "tags": {%s},
			"containerProperties": {"image": "busybox:1", "command": ["%s"], "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}}`, tags, command)
	}
	var tags []string
	for i := range 40 { // takes longer to read than the others
		tags = append(tags, fmt.Sprintf(`"tag%d": "%s"`, i, strings.Repeat("x", 200)))
	}
	var paths []string
	for _, f := range []struct{ name, text string }{
		{"a.json", definition(strings.Join(tags, ","), "true")},
		{"b.json", definition("", "Ref::x")},
		{"s.json", `{"jobName": "train", "jobQueue": "cpu", "jobDefinition": "train"}`},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for range 100 {
		result := New(Options{}).Check(Named(paths...))
		if errors, _ := result.Problems.Count(); errors == 0 {
			t.Fatal("parameter x has no value, and no problem reports it")
		}
	}
}
