package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// failures notes what a test would report.
type failures struct {
	testing.TB
	lines []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

func example(t *testing.T) *Archive {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.txtar")
	if err := os.WriteFile(file, []byte("-- job.json --\n{}\n-- sub/b.csv --\na,b\n-- want --\nold\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read(t, file)
}

func TestWant(t *testing.T) {
	if Updating() {
		t.Skip("with -update nothing differs")
	}
	for got, fails := range map[string]bool{"old\n": false, "new\n": true, "old": true} {
		f := &failures{TB: t}
		if example(t).Want(f, "want", got); len(f.lines) > 0 != fails {
			t.Errorf("%q: %q", got, f.lines)
		}
	}
}

func TestUpdate(t *testing.T) {
	before := *update
	*update = true
	defer func() { *update = before }()
	a := example(t)
	t.Chdir(t.TempDir())
	a.Want(t, "want", "new\n")
	a.Want(t, "more", "x\n")
	again := Read(t, a.file)
	if got := again.Text(t, "want") + again.Text(t, "more") + again.Text(t, "job.json"); got != "new\nx\n{}\n" {
		t.Errorf("the archive has %q", got)
	}
}

func TestNames(t *testing.T) {
	a := example(t)
	for pattern, want := range map[string]string{"*": "job.json want", "*.json": "job.json", "sub/*": "sub/b.csv", "x": ""} {
		if got := strings.Join(a.Names(pattern), " "); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if !a.Has("want") || a.Has("b.csv") {
		t.Error("Has is wrong about a name")
	}
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	example(t).Extract(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "sub", "b.csv"))
	if err != nil || string(text) != "a,b\n" {
		t.Errorf("%q, %v", text, err)
	}
	if names := Glob(t, filepath.Join("testdata", "..", "*.go")); !slices.ContainsFunc(names, func(a *Archive) bool { return a.Name == "golden.go" }) {
		t.Error("Glob does not find this package")
	}
}

// TestCases checks that the cases of an archive have only their own files, and that an update of one keeps the others.
func TestCases(t *testing.T) {
	before := *update
	*update = true
	defer func() { *update = before }()
	file := filepath.Join(t.TempDir(), "cases.txtar")
	if err := os.WriteFile(file, []byte("-- a/job.json --\n1\n-- a/want --\nold\n-- ab/job.json --\n2\n-- ab/sub/b.csv --\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := Cases(t, file)
	if len(cases) != 2 || cases[0].Name != "a" || cases[1].Name != "ab" || !slices.Equal(cases[0].Names("*"), []string{"job.json", "want"}) || cases[1].Has("want") {
		t.Fatalf("%+v", cases)
	}
	cases[0].Want(t, "want", "new\n")
	cases[0].Want(t, "more", "x\n")
	dir := t.TempDir()
	cases[1].Extract(t, dir)
	if text, err := os.ReadFile(filepath.Join(dir, "sub", "b.csv")); err != nil || string(text) != "x\n" {
		t.Errorf("%q %v", text, err)
	}
	text, err := os.ReadFile(file)
	if want := "-- a/job.json --\n1\n-- a/want --\nnew\n-- a/more --\nx\n-- ab/job.json --\n2\n-- ab/sub/b.csv --\nx\n"; err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}
