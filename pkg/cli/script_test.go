package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestMain makes the test binary act as batchctl: the scripts, the background engine and the
// reference workloads all start it again.
func TestMain(m *testing.M) {
	testscript.Main(testtool.M{Tests: m}, map[string]func(){"batchctl": batchctl})
}

func batchctl() {
	s := term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	check := checkedOutput(os.Args[1:])
	if check != nil {
		s.Out = check
	}
	code := cli.Main(cmdline.UntilSignal(), os.Args, s)
	if check != nil {
		code = check.end(code)
	}
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong-output")
	t.Cleanup(func() { // after the scripts, which run in parallel
		if text, err := os.ReadFile(wrong); err == nil {
			t.Errorf("JSON output that does not match its schema:\n%s", text)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds:                scriptCommands,
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs("../..")
			e.Setenv("REPO", root)
			e.Setenv(wrongOutput, wrong)
			if cache, err := os.UserCacheDir(); err == nil { // for go build; HOME is another one here
				e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
			}
			e.Setenv("GORACE", os.Getenv("GORACE")) // how long each program waits for races at its exit
			e.Setenv("BATCHCTL_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Setenv("AWS_CONFIG_FILE", filepath.Join(e.WorkDir, "no-config"))
			e.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(e.WorkDir, "no-credentials"))
			return err
		},
	})
}

// scriptCommands are the commands of scripts besides those of testscript.
//
//	await 'CONDITION'
//
// waits until a condition of the shell is true. It fails after five minutes, so that a script whose condition never
// comes ends with its line, and not with the time of all tests.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){"await": func(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await 'CONDITION'")
	}
	if err := ts.Exec("sh", "-c", "n=0; until "+args[0]+"\ndo n=$((n+1)); [ $n -lt 6000 ] || exit 1; sleep 0.05; done"); err != nil {
		ts.Fatalf("not within five minutes: %s", args[0])
	}
}}

// condition is what scripts may ask for in addition to testscript's own conditions: root;
// terminal, for what a container without devices cannot do; long, for scripts that take
// long; and need:PROGRAM, which unlike exec:PROGRAM reports the skipped script after the
// tests.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "terminal":
		f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err == nil {
			err = f.Close()
		}
		return err == nil, nil
	case "long":
		return testtool.LongCondition(), nil
	}
	if program, ok := strings.CutPrefix(name, "need:"); ok {
		return testtool.Has(program)
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// TestScriptsReportTools checks that every script that skips without a program uses need.
func TestScriptsReportTools(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`(?m)^\[!exec:(\w+)\] skip`).FindSubmatch(text); m != nil {
			t.Errorf("%s: write [!need:%s] skip, so that the skipped script is reported", script, m[1])
		}
	}
}
