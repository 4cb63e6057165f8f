// Package clitest runs the scripts of the commands. The test program acts as batchctl, so that a script needs no other
// build. Only tests import it.
package clitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// Main runs the tests of a package with scripts, and exits. If the test program was started under the name batchctl, it
// runs that command instead.
func Main(m *testing.M) {
	testscript.Main(testtool.M{Tests: tests{m}}, map[string]func(){"batchctl": batchctl})
}

// tests runs two tests for each processor, because scripts mostly wait for other programs.
type tests struct{ *testing.M }

// Run runs the tests.
func (t tests) Run() int {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return t.M.Run()
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

// Scripts runs the scripts in testdata/script. Each has its own state directory, and thus its own engine.
func Scripts(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong-output")
	t.Cleanup(func() { // after the scripts, which run in parallel
		if text, err := os.ReadFile(wrong); err == nil {
			t.Errorf("JSON output that does not match its schema:\n%s", text)
		}
	})
	Run(t, "testdata/script", func(e *testscript.Env) {
		e.Setenv("REPO", testtool.ModuleRoot(t))
		e.Setenv(wrongOutput, wrong)
		if cache, err := os.UserCacheDir(); err == nil { // for go build; HOME is another one here
			e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
		}
		e.Setenv("GORACE", os.Getenv("GORACE")) // how long each program waits for races at its exit
		e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		e.Setenv("AWS_CONFIG_FILE", filepath.Join(e.WorkDir, "no-config"))
		e.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(e.WorkDir, "no-credentials"))
	})
}

// Run runs the scripts in a folder. setup adds variables to the environment of each.
func Run(t *testing.T, folder string, setup func(*testscript.Env)) {
	t.Helper()
	requireReports(t, folder)
	testscript.Run(t, testscript.Params{
		Dir:                 folder,
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"await": await},
		Deadline:            time.Now().Add(1000 * time.Hour), // package testtool ends the package, and not each script
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, testtool.Mark())
			e.Setenv("BATCHCTL_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			if t, ok := e.T().(testing.TB); ok {
				testtool.Running(t)
			}
			setup(e)
			return nil
		},
	})
}

// await waits until a condition of the shell is true:
//
//	await 'CONDITION'
//
// It fails after five minutes, so that a script whose condition never becomes true ends with its line, and not with the
// time of all tests.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await 'CONDITION'")
	}
	if err := ts.Exec("sh", "-c",
		"n=0; until "+args[0]+"\ndo n=$((n+1)); [ $n -lt 6000 ] || exit 1; sleep 0.05; done"); err != nil {
		ts.Fatalf("not within five minutes: %s", args[0])
	}
}

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

var unreported = regexp.MustCompile(`(?m)^\[!exec:(\w+)\] skip`)

// requireReports checks that every script that skips without a program uses need.
func requireReports(t *testing.T, folder string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if m := unreported.FindSubmatch(text); m != nil {
			t.Errorf("%s: write [!need:%s] skip, so that the skipped script is reported", script, m[1])
		}
	}
}
