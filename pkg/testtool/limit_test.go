//go:build unix

package testtool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLimit checks that a package that reaches its limit ends with one sentence and leaves no process.
func TestLimit(t *testing.T) {
	Need(t, "sleep")
	for limit := 3 * time.Second; ; limit *= 2 {
		file := filepath.Join(t.TempDir(), "sleeper")
		test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout", limit.String(), "./testdata/hangs")
		test.Env = append(os.Environ(), "BATCHCTL_TEST_SLEEPER="+file)
		out, err := test.CombinedOutput()
		if err == nil {
			t.Fatalf("the tests end: %s", out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the limit came before the process, on a busy machine
		}
		want := fmt.Sprintf("pkg/testtool/testdata/hangs: the tests did not finish in %v (unfinished: TestHangs/subtest, TestHangs); "+
			"on a busy machine, run go test -timeout 30m ./pkg/testtool/testdata/hangs\nFAIL\t", limit)
		if !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 3 {
			t.Errorf("got\n%swant\n%s", out, want)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(processes(Mark()), func(p process) bool { return p.pid == pid }) {
			t.Errorf("process %d still runs", pid)
		}
		return
	}
}

// TestParseProcess checks lines of ps, and of /proc.
func TestParseProcess(t *testing.T) {
	for line, want := range map[string]process{
		"  12   1 S+ sleep 9 HOME=/ RUN=5 A=b": {12, 1, true},
		"12 7 S HOME=/\x00RUN=5\x00":           {12, 7, true},
		"12 7 S HOME=/\x00RUN=6\x00":           {12, 7, false},
		"12 7 Z+ RUN=5":                        {},
		"PID PPID STATE":                       {},
		"":                                     {},
	} {
		if got, ok := parseProcess(line, "RUN=5"); ok != (want.pid > 0) || ok && got != want {
			t.Errorf("%q: %+v %v, want %+v", line, got, ok, want)
		}
	}
}
