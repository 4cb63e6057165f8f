package sweep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// lineTexts are lines of command lists: what they print goes to stdout and stderr,
// and some fail. What the shell itself says is not printed: busybox runs lines in a shell
// of its own, whatever sh is in PATH.
var lineTexts = []string{"", " ", "# a comment", "exit 3", "exit 200", "false", `echo "it's" 'a "line"' \\ $((1+1)) *.nothing`, "printf '%s\\n' \"$BATCHCTL_CELL/$ARRAY_SIZE\" é",
	"-x 2>/dev/null", "echo a; echo b >&2", "cat; echo \"${IFS}\"", "for i in 1 2; do echo $i; done", "nosuchprogram 2>/dev/null", "(exit 9) || exit 7", "echo `echo x` | cat", "end 2>/dev/null", "+ 2>/dev/null", "echo '${{ matrix.lr }}'",
	"trap - TERM; kill -KILL $$", "echo x\ry | od -c"}

// linesInGo runs the lines of a child in Go, with both outputs in one file.
func linesInGo(t require, dir string, env []string) (string, int) {
	out, err := os.CreateTemp(dir, "out")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	c := Child{Environ: env, Stdout: out, Stderr: out, Open: openIn(dir)}
	exit, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), exit
}

// require is what tests and drawn cases fail with.
type require interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// withoutNotices removes bash's message about a process that a signal ended.
func withoutNotices(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "Killed") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestLinesInShells compares the output and exit codes of command lists under every shell with Child's:
// lists in the document, in files and in S3, with fewer lines than children, and with failing lines.
func TestLinesInShells(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		dir := t.TempDir()
		aws(t, dir)
		rapid.Check(t, func(t *rapid.T) {
			lines := rapid.SliceOfN(rapid.SampledFrom(lineTexts), 0, 9).Draw(t, "lines")
			s := &Sweep{Kind: Commands, Size: rapid.IntRange(1, 4).Draw(t, "size"), KeepGoing: rapid.Bool().Draw(t, "keepGoing")}
			env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), fmt.Sprintf("%s=%d", SizeVariable, s.Size)}
			place := rapid.SampledFrom([]string{"", "s3://bucket/list", filepath.Join(dir, "list")}).Draw(t, "place")
			list := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end"))
			if len(lines) > 0 && lines[len(lines)-1] == "" || rapid.Bool().Draw(t, "last line ends") && len(lines) > 0 {
				list += "\n"
			}
			if place == "" {
				s.Lines = lines
			} else if err := os.WriteFile(filepath.Join(dir, "list"), []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "in the document") {
				s.List = place
			} else if place != "" {
				env = append(env, ListVariable+"="+place)
			}
			if rapid.Bool().Draw(t, "keep going") {
				env = append(env, KeepGoingVariable+"=1")
			}
			env = append(env, DocumentVariable+"="+s.Document())
			ran := 0
			for cell := range s.Size {
				env := append(env[:len(env):len(env)], fmt.Sprintf("%s=%d", indexVariable, cell))
				cmd := sh.command("-c", LinesProgram, "sh")
				cmd.Env = env
				cmd.Stdin = strings.NewReader("the lines do not see this\n")
				out, _ := cmd.CombinedOutput()
				want, exit := linesInGo(t, dir, env)
				if got := withoutNotices(string(out)); got != want || cmd.ProcessState.ExitCode() != exit {
					t.Fatalf("%q, child %d of %d: exit %d\n%s\nGo: exit %d\n%s", list, cell, s.Size, cmd.ProcessState.ExitCode(), got, exit, want)
				}
				for i := range lines {
					ran += strings.Count(want, fmt.Sprintf("batchctl: line %d of %d\n", i+1, len(lines)))
				}
			}
			if all := s.KeepGoing || strings.Contains(strings.Join(env, " "), KeepGoingVariable+"=1"); all && ran != len(lines) {
				t.Fatalf("%d of %d lines ran", ran, len(lines))
			}
		})
	})
}

func TestLines(t *testing.T) {
	lines := []string{"echo one", "echo two; exit 5", "echo three; exit 6", "echo four"}
	for name, tt := range map[string]struct {
		lines []string
		env   []string
		want  string
		exit  int
	}{
		"stops": {lines, nil, "batchctl: line 1 of 4\none\nbatchctl: line 2 of 4\ntwo\nbatchctl: line 2 of 4 failed with exit code 5\n", 5},
		"keeps going": {lines, []string{KeepGoingVariable + "=1"}, "batchctl: line 1 of 4\none\nbatchctl: line 2 of 4\ntwo\nbatchctl: line 2 of 4 failed with exit code 5\n" +
			"batchctl: line 3 of 4\nthree\nbatchctl: line 3 of 4 failed with exit code 6\nbatchctl: line 4 of 4\nfour\n", 5},
		"nothing to do": {nil, nil, "batchctl: no lines for child 0: the list has 0\n", 0},
	} {
		env := append([]string{path(), DocumentVariable + "=" + (&Sweep{Kind: Commands, Size: 1, Lines: tt.lines}).Document()}, tt.env...)
		if got, exit := linesInGo(t, t.TempDir(), env); got != tt.want || exit != tt.exit {
			t.Errorf("%s: exit %d\n%s", name, exit, got)
		}
	}
}

// goChild makes this test's program a child of its own, so that it can be sent
// signals: see TestMain.
const goChild = "SWEEP_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(goChild) == "" {
		testtool.Main(m)
	}
	os.Exit(runAsChild())
}
