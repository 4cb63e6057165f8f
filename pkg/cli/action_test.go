package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestActionPaths runs the validation step of the GitHub action with a go and a
// batchctl that print their arguments.
func TestActionPaths(t *testing.T) {
	testtool.Need(t, "bash")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, step, _ := strings.Cut(string(text), "- name: validate\n")
	_, script, found := strings.Cut(step, "run: |\n")
	script, _, ended := strings.Cut(script, "    - name: ")
	if !found || !ended {
		t.Fatal("action.yml has no step that validates")
	}
	dir := t.TempDir()
	for name, body := range map[string]string{"go": "echo " + dir, "bin/batchctl": `printf '%s\n' "$@"`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!"+bash+"\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for input, want := range map[string][]string{
		".":                           {"."},
		"a.json jobs/*.json":          {"a.json", "jobs/*.json"},
		"a.json\nb.json\n":            {"a.json", "b.json"}, // path: |
		"\n  a.json\n":                {"a.json"},
		"a.json --write-baseline=x.y": {"a.json", "--write-baseline=x.y"}, // a file of a pull request
	} {
		step := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script) // as GitHub runs it
		step.Dir = dir
		step.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "INPUT="+input, "FAIL_ON=error", "FORMAT=github", "PLATFORM=")
		out, err := step.Output()
		if err != nil {
			t.Fatalf("%q: %v", input, err)
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		if want = append([]string{"validate", "--fail-on", "error", "--output", "github", "--"}, want...); !slices.Equal(got, want) {
			t.Errorf("%q: batchctl is called with %q, want %q", input, got, want)
		}
	}
}

// A tag of an action can be moved to other code; a commit cannot.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^[\s-]*uses:\s*(\S+)`)
	pinned := regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)
	found := 0
	for _, name := range append(files, "../../action.yml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			found++
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, which is not pinned by commit", name, m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d actions found", found)
	}
}
