// Package golden compares the results of tests with the files that a test's archive expects. An archive in
// txtar format holds the inputs and the expected outputs of one case, or of a few that belong together.
// Only tests import it; -update rewrites what they expect.
package golden

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// update is the flag -update of every test program that imports this package.
var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// Updating reports whether expected files are rewritten.
func Updating() bool { return *update }

// File compares got with the text of a file, or writes the file.
func File(t testing.TB, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// Archive is an archive of a test.
type Archive struct {
	// Path is the file, Name its base name without the ending.
	Path, Name string

	file    string // the absolute path, because a test may change the directory
	archive *txtar.Archive
	// within is the directory of the archive to which the case belongs, with a slash; "" for the whole archive.
	within string
}

// Read reads an archive.
func Read(t testing.TB, file string) *Archive {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return &Archive{Path: file, Name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: absolute, archive: a}
}

// Glob reads the archives that match a pattern. It fails the test if there are none.
func Glob(t testing.TB, pattern string) (all []*Archive) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d archives, %v", pattern, len(files), err)
	}
	for _, file := range files {
		all = append(all, Read(t, file))
	}
	return all
}

// Cases returns the cases of an archive of many: the directories in it, each as an Archive of its own. They share the
// file, so tests must not run them in parallel with -update.
func Cases(t testing.TB, file string) (all []*Archive) {
	t.Helper()
	whole := Read(t, file)
	seen := map[string]bool{}
	for _, f := range whole.archive.Files {
		name, _, ok := strings.Cut(f.Name, "/")
		if !ok {
			t.Fatalf("%s: %s is in no directory", file, f.Name)
		}
		if !seen[name] {
			seen[name] = true
			all = append(all, &Archive{Path: file, Name: name, file: whole.file, archive: whole.archive,
				within: name + "/"})
		}
	}
	return all
}

// Names returns the names in the archive that match a pattern, in the archive's order.
func (a *Archive) Names(pattern string) (names []string) {
	for _, f := range a.archive.Files {
		name, ok := strings.CutPrefix(f.Name, a.within)
		if matches, err := path.Match(pattern, name); ok && err == nil && matches {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether the archive has a file of that name.
func (a *Archive) Has(name string) bool { return a.index(name) >= 0 }

// Text returns a file of the archive. It fails the test if the archive has no such file.
func (a *Archive) Text(t testing.TB, name string) string {
	t.Helper()
	i := a.index(name)
	if i < 0 {
		t.Fatalf("%s has no %s", a.Path, name)
	}
	return string(a.archive.Files[i].Data)
}

// Want compares got with a file of the archive, or writes it there. It has to end in a newline, as every file of
// an archive does.
func (a *Archive) Want(t testing.TB, name, got string) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		t.Errorf("%s, %s: no newline at the end of %q", a.Path, name, got)
		return
	}
	if *update {
		a.set(name, got)
		if err := os.WriteFile(a.file, txtar.Format(a.archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(a.Text(t, name), got); d != "" {
		t.Errorf("%s, %s (-want +got):\n%s", a.Path, name, d)
	}
}

// Extract writes the files of the archive below a directory.
func (a *Archive) Extract(t testing.TB, dir string) {
	t.Helper()
	for _, f := range a.archive.Files {
		name, ok := strings.CutPrefix(f.Name, a.within)
		if !ok {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// set replaces or adds a file.
func (a *Archive) set(name, text string) {
	if i := a.index(name); i >= 0 {
		a.archive.Files[i].Data = []byte(text)
		return
	}
	at := len(a.archive.Files)
	for i, f := range a.archive.Files {
		if strings.HasPrefix(f.Name, a.within) {
			at = i + 1 // after the last file of the case
		}
	}
	a.archive.Files = slices.Insert(a.archive.Files, at, txtar.File{Name: a.within + name, Data: []byte(text)})
}

// index returns the position of a file, or -1.
func (a *Archive) index(name string) int {
	return slices.IndexFunc(a.archive.Files, func(f txtar.File) bool { return f.Name == a.within+name })
}
