// Package testtool checks for the programs that tests need, builds the programs
// that tests run, and reports what a package's tests skipped. Only tests import it.
package testtool

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/batchctl/batchctl/pkg/text"
)

const (
	// RequireTools is the environment variable that turns a missing tool into a failure.
	RequireTools = "BATCHCTL_REQUIRE_TOOLS"
	// LongTests is the environment variable that also runs the tests that take long.
	LongTests = "BATCHCTL_LONG_TESTS"
)

// M runs the tests of one package. After the tests it prints one line about the tests
// that were skipped, removes the programs that Program built, and ends the processes that
// the tests left.
type M struct{ Tests interface{ Run() int } }

// Main runs the tests of a package and exits. Each package that uses testtool calls it
// in TestMain.
func Main(m *testing.M) { os.Exit(M{m}.Run()) }

// Run runs the tests and returns the exit status.
func (m M) Run() int {
	current.start()
	defer current.removeFolder()
	if err := errors.Join(current.findShell(), setMark()); err != nil {
		fmt.Fprintf(os.Stderr, "testtool: %v\n", err)
		return 1
	}
	flag.Parse()
	watch()
	defer endProcesses()
	status := m.Tests.Run()
	if line := current.report(); line != "" {
		printReport(line + "\n")
	}
	return status
}

// Need skips the test unless every program is in PATH. With BATCHCTL_REQUIRE_TOOLS set
// it fails the test. Call Need before the test builds or starts anything.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	var missing []string
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		skip(t, current.addPrograms(t.Name(), missing))
	}
}

// Missing skips the test because this machine lacks something other than a program: a
// Python module, a processor feature, a usable daemon. The reason names it. With
// BATCHCTL_REQUIRE_TOOLS set Missing fails the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	first, _, _ := strings.Cut(reason, "\n") // the report has one line
	current.addReason(t.Name(), first)
	skip(t, reason)
}

// Module skips the test, like Missing, unless a module that go.mod requires is in the module cache.
func Module(t testing.TB, path string) {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil || strings.TrimSpace(string(folder)) == "" {
		Missing(t, "the module %s is not in the module cache: run go mod download", path)
	}
}

// Unsupported skips the test because this machine can never run it, such as a test of
// another operating system. Unlike Missing it does not fail the test when tools are required.
func Unsupported(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	first, _, _ := strings.Cut(reason, "\n")
	current.addReason(t.Name(), first)
	t.Skip(reason)
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(RequireTools) != "" {
		t.Fatalf("%s, and %s is set", reason, RequireTools)
	}
	t.Skipf("%s; set %s=1 to fail instead", reason, RequireTools)
}

// Has reports whether a program is in PATH, for the conditions of scripts. If the program
// is missing, Has counts one more skipped test, or returns an error if tools are required.
func Has(program string) (bool, error) {
	if _, err := exec.LookPath(program); err == nil {
		return true, nil
	}
	reason := current.addPrograms("", []string{program})
	if os.Getenv(RequireTools) != "" {
		return false, fmt.Errorf("%s, and %s is set", reason, RequireTools)
	}
	return false, nil
}

// IsLong reports whether BATCHCTL_LONG_TESTS is set. A test that can run with fewer cases
// calls it, or Count; see Long for the others.
func IsLong() bool { return os.Getenv(LongTests) != "" }

// Count returns how often a test repeats its story: long if BATCHCTL_LONG_TESTS is set,
// else short.
func Count(long, short int) int {
	if IsLong() {
		return long
	}
	return short
}

// LongCondition is IsLong for the conditions of scripts. It counts one more skipped long
// test if it returns false.
func LongCondition() bool {
	if IsLong() {
		return true
	}
	current.addLong("")
	return false
}

// Long skips a test that takes long unless BATCHCTL_LONG_TESTS is set.
func Long(t testing.TB) {
	t.Helper()
	if IsLong() {
		return
	}
	current.addLong(t.Name())
	t.Skipf("this test takes long; set %s=1 to run it", LongTests)
}

// record is what the tests of this process skipped and built.
type record struct {
	mu       sync.Mutex
	started  bool
	tests    map[string]bool // names of skipped tests
	programs map[string]bool
	reasons  map[string]bool
	long     map[string]bool
	running  map[string]bool
	folder   string // of built programs; made by the first build
	built    map[string]func() (string, error)
	probes   map[string]func() error
}

// current is the record of this process.
var current record

func (r *record) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = true
	r.tests, r.programs, r.reasons, r.long, r.running = map[string]bool{}, map[string]bool{}, map[string]bool{},
		map[string]bool{}, map[string]bool{}
	r.built, r.probes = map[string]func() (string, error){}, map[string]func() error{}
}

// lock panics in a package whose TestMain does not call Main: its report would be lost.
func (r *record) lock() {
	r.mu.Lock()
	if !r.started {
		r.mu.Unlock()
		panic("testtool: call testtool.Main in TestMain")
	}
}

func (r *record) addPrograms(test string, programs []string) (reason string) {
	r.lock()
	defer r.mu.Unlock()
	r.tests[scriptName(test, r.tests)] = true
	for _, p := range programs {
		r.programs[p] = true
	}
	return notFound(programs)
}

// scriptName is the name of a test, or a new name for a script, whose conditions do not
// know its name.
func scriptName(test string, others map[string]bool) string {
	if test == "" {
		return fmt.Sprint("script ", len(others))
	}
	return test
}

func (r *record) addReason(test, reason string) {
	r.lock()
	defer r.mu.Unlock()
	r.tests[test], r.reasons[reason] = true, true
}

func (r *record) addLong(test string) {
	r.lock()
	defer r.mu.Unlock()
	r.long[scriptName(test, r.long)] = true
}

func notFound(programs []string) string {
	return "cannot find " + strings.Join(programs, ", ") + " in PATH"
}

// report is one line about the skipped tests, or empty.
func (r *record) report() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	if len(r.tests) > 0 {
		var why []string
		if len(r.programs) > 0 {
			why = append(why, notFound(sorted(r.programs)))
		}
		why = append(why, sorted(r.reasons)...)
		parts = append(parts, fmt.Sprintf("skipped %s: %s", text.Count(len(r.tests), "test"), strings.Join(why, "; ")))
	}
	if len(r.long) > 0 {
		parts = append(parts, fmt.Sprintf("skipped %s: set %s=1 to run them", text.Count(len(r.long), "long test"),
			LongTests))
	}
	if len(parts) == 0 {
		return ""
	}
	return packageName() + ": " + strings.Join(parts, "; ")
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// packageName is the package's folder below go.mod. The go command runs tests in that folder.
func packageName() string {
	at, err := os.Getwd()
	if err != nil {
		return filepath.Base(os.Args[0])
	}
	if root := moduleRoot(at); root != "" {
		if name, err := filepath.Rel(root, at); err == nil {
			return filepath.ToSlash(name)
		}
	}
	return filepath.Base(at)
}

// ModuleRoot returns the folder of go.mod.
func ModuleRoot(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return moduleRoot(at)
}

// moduleRoot returns the folder of go.mod at or above a folder, or "".
func moduleRoot(at string) string {
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			return ""
		}
		at = filepath.Dir(at)
	}
}

// Works skips the test like Need unless the program is in PATH and exits with status 0 for
// the arguments of the probe. It runs each probe once.
func Works(t testing.TB, program string, probe ...string) {
	t.Helper()
	Need(t, program)
	if err := current.probe(program, probe)(); err != nil {
		Missing(t, "%s %s: %v", program, strings.Join(probe, " "), err)
	}
}

// probe returns the function that runs a probe at its first call.
func (r *record) probe(program string, args []string) func() error {
	r.lock()
	defer r.mu.Unlock()
	key := strings.Join(append([]string{program}, args...), "\x00")
	if r.probes[key] == nil {
		r.probes[key] = sync.OnceValue(func() error { return exec.Command(program, args...).Run() })
	}
	return r.probes[key]
}

// ShortChecks makes properties of package rapid draw n times during the test, unless
// BATCHCTL_LONG_TESTS or -rapid.checks is set. The test must not run in parallel with others.
func ShortChecks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if IsLong() || checks == nil {
		return
	}
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == checks.Name })
	if chosen {
		return
	}
	before := checks.Value.String()
	// Value.Set and not flag.Set, after which Visit could not tell our choice from the user's.
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(before) })
}
