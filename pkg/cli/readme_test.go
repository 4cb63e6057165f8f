package cli_test

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

// TestReadme runs the console blocks of README.md, in order and in one copy of
// the jobs and schemas, and compares what they print. `...` in the README stands
// for any text; figures that differ from run to run are compared as figures.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := readmeDir(t)
	writeNamedBlocks(t, dir, string(text))
	steps := 0
	_, noAWK := exec.LookPath("awk")
	for _, block := range consoleBlocks(string(text)) {
		for _, step := range block {
			steps++
			got := runShell(t, dir, step.command)
			if noAWK != nil && strings.Contains(step.command, "array-pi") {
				continue // the job runs awk; the engine that it starts is still needed
			}
			if !matches(step.want, got) {
				t.Errorf("$ %s\nREADME.md says:\n%s\nit prints:\n%s", step.command, step.want, got)
			}
		}
	}
	if steps < 5 {
		t.Errorf("found %d commands in README.md's console blocks, so most of it went untested", steps)
	}
	testtool.Need(t, "awk")
}

// writeNamedBlocks writes the blocks that carry a file's name, as their reader
// would.
func writeNamedBlocks(t *testing.T, dir, text string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```json (\\S+)\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type readmeStep struct{ command, want string }

func consoleBlocks(text string) [][]readmeStep {
	var blocks [][]readmeStep
	for _, m := range regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		var block []readmeStep
		for line := range strings.Lines(m[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				block = append(block, readmeStep{command: strings.TrimSpace(command)})
			} else if len(block) > 0 {
				block[len(block)-1].want += line
			}
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// readmeDir is a checkout as the README's reader has it, with batchctl on PATH.
func readmeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"jobs", "schemas"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../..", name))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runShell runs a command as a reader would. `go run ./cmd/batchctl` is the
// program under test, already built.
func runShell(t *testing.T, dir, command string) string {
	t.Helper()
	command = strings.ReplaceAll(command, "go run ./cmd/batchctl", "batchctl")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, ".state"), "PATH="+batchctlOnPath(t)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("$ %s: %v", command, err) // the exit code may be part of the lesson
	}
	return asRoot.ReplaceAllString(string(out), "")
}

// asRoot is the line that only root gets, and the README's reader is not root.
var asRoot = regexp.MustCompile(`(?m)^note: you are root, .*\n`)

// batchctlOnPath links the test binary as batchctl, as testscript does.
func batchctlOnPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "batchctl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// matches compares output with the README's, where any figure equals any other
// and ids equal ids. `...` within a line is any text. A line of its own says
// that lines are left out: then the others must come in this order, with more
// between them, since the job's output and the story mix as they come.
func matches(want, got string) bool {
	lines, printed := strings.Split(normal(want), "\n"), strings.Split(normal(got), "\n")
	if !slices.Contains(lines, "...") {
		return slices.EqualFunc(lines, printed, matchesLine)
	}
	for _, line := range lines {
		if line == "..." {
			continue
		}
		at := slices.IndexFunc(printed, func(p string) bool { return matchesLine(line, p) })
		if at < 0 {
			return false
		}
		printed = printed[at+1:]
	}
	return true
}

func matchesLine(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), regexp.QuoteMeta("..."), ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

var (
	IDs     = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ms|s|m|h)?\b`)
	blanks  = regexp.MustCompile(`[ \t]+`)
	// busy is how the workloads mark what they measured on a machine with other work, as
	// the machine of this test may have.
	busy = regexp.MustCompile(`(?m)( \([0-9]+ of [0-9]+ rows\))?: machine busy, not a measurement$`)
)

func normal(s string) string {
	s = busy.ReplaceAllString(s, "")
	s = IDs.ReplaceAllString(s, "ID")
	s = figures.ReplaceAllString(s, "N")
	s = blanks.ReplaceAllString(s, " ")
	return strings.TrimSpace(s)
}

// The README shows what an idle machine prints, and the test machine may be a busy one.
func TestReadmeIgnoresBusy(t *testing.T) {
	want := "...\nA 1x1: 2 seconds (median of 3, verified)\nTotal: 2 seconds"
	got := "target: local\nA 1x1: 3 seconds (median of 3, verified): machine busy, not a measurement\nTotal: 3 seconds (1 of 1 rows): machine busy, not a measurement"
	if !matches(want, got) || matches(want, strings.ReplaceAll(got, "busy", "idle")) {
		t.Error("only the mark of a busy machine may be missing from the README")
	}
}
