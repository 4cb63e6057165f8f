package testtool

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

const skipped = "pkg/testtool/testdata/skips: skipped 2 tests: cannot find no-such-program, no-such-tool in PATH; false --probe: exit status 1; " +
	"skipped 1 long test: set BATCHCTL_LONG_TESTS=1 to run them\n"

// goTest runs the tests of testdata/skips without the variables that change what they skip.
func goTest(t *testing.T, environ ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./testdata/skips")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, RequireTools) && !strings.HasPrefix(v, LongTests) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, environ...)
	return cmd
}

// TestReport wants the report without -v, although the go command hides what passing
// packages print.
func TestReport(t *testing.T) {
	if runtime.GOOS != "linux" {
		Unsupported(t, "only Linux can write to the standard error of the go command")
	}
	var out, report bytes.Buffer
	cmd := goTest(t)
	cmd.Stdout, cmd.Stderr = &out, &report
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &report)
	}
	if report.String() != skipped || !strings.HasPrefix(out.String(), "ok") {
		t.Errorf("go test prints\n%s\nand to standard error\n%s\nwant\n%s", &out, &report, skipped)
	}
}

// TestReportInFile redirects both streams to one file, where two writers with an offset
// each would overwrite each other.
func TestReportInFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("first\n"); err != nil {
		t.Fatal(err)
	}
	cmd := goTest(t)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	// Without the right to trace the go command there is no report, but everything else is there.
	rest := strings.Replace(string(text), skipped, "", 1)
	if !strings.HasPrefix(rest, "first\nok ") || strings.Count(rest, "\n") != 2 {
		t.Errorf("the file holds\n%s", text)
	}
}

func TestRequired(t *testing.T) {
	out, err := goTest(t, RequireTools+"=1", LongTests+"=1").CombinedOutput()
	if err == nil {
		t.Error("the tests pass without tools that are required")
	}
	for _, want := range []string{
		"skips_test.go:13: cannot find no-such-program, no-such-tool in PATH, and BATCHCTL_REQUIRE_TOOLS is set\n",
		"skips_test.go:18: false --probe: exit status 1, and BATCHCTL_REQUIRE_TOOLS is set\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "TestLong") {
		t.Errorf("the long test does not run:\n%s", out)
	}
}

func TestProgram(t *testing.T) {
	const pkg = "../../cmd/batchctl-workloads"
	first := Program(t, pkg)
	if second := Program(t, pkg); second != first {
		t.Errorf("the same program is built twice: %s and %s", first, second)
	}
	if tagged := Program(t, pkg, "-tags", "static"); tagged == first {
		t.Errorf("%s is built once for two sets of flags", first)
	}
	if out, err := exec.Command(first, "--help").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBuildError(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, test := range []struct {
		out  string
		err  error
		want string
	}{
		{"", exec.ErrNotFound, "build ./x: cannot find go in PATH"},
		{"go: creating work dir: mkdir /tmp/go-build1: no space left on device\n", failed,
			"build ./x: the disk is full: free space in " + os.TempDir() + " and in your caches (`go env GOCACHE`)"},
		{"", &os.PathError{Op: "mkdir", Path: "/tmp/x", Err: syscall.ENOSPC},
			"build ./x: the disk is full: free space in " + os.TempDir() + " and in your caches (`go env GOCACHE`)"},
		{"x.go:1: no such package\n", failed, "build ./x: exit status 1\nx.go:1: no such package\n"},
	} {
		if err := BuildError("./x", test.out, test.err); err.Error() != test.want {
			t.Errorf("got %q, want %q", err, test.want)
		}
	}
}
