package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/client/once"
)

// TestStagedAges checks that a staged text is kept while it is submitted, and removed long after.
func TestStagedAges(t *testing.T) {
	dir := t.TempDir()
	to := &Target{Name: Local, Submissions: &once.Ledger{Dir: dir}}
	path := filepath.Join(dir, "staged", "a.txt")
	if err := to.stage(context.Background(), path, "text"); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-stagedFor - time.Hour)
	if err := os.Chtimes(path, time.Time{}, old); err != nil {
		t.Fatal(err)
	}
	if err := to.stage(context.Background(), path, "text"); err != nil { // again
		t.Fatal(err)
	}
	for _, c := range []struct {
		now    time.Time
		dryRun bool
		rows   int
		there  bool
	}{
		{time.Now(), false, 0, true},
		{time.Now().Add(stagedFor + time.Hour), true, 1, true},
		{time.Now().Add(stagedFor + time.Hour), false, 1, false},
	} {
		rows, err := to.DropStaged(c.dryRun, c.now)
		_, statErr := os.Stat(path)
		if err != nil || len(rows) != c.rows || (statErr == nil) != c.there {
			t.Errorf("%+v: %+v, %v, %v", c, rows, err, statErr)
		}
	}
}

// TestStagedTreesAge checks that the files of a tree, however old, are kept with its list,
// and that old outputs of jobs are removed.
func TestStagedTreesAge(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * stagedFor)
	hash := func(letter string) string { return strings.Repeat(letter, 64) }
	for _, f := range []struct {
		name, text string
		old        bool
	}{
		{hash("a"), "", true}, {hash("b"), "", true}, {hash("c"), "", false},
		{hash("d") + ".tree", "batchctl tree 1\n" + hash("a") + " 0 - \"x\"\nend\n", false},
		{hash("e") + ".tree", "batchctl tree 1\n" + hash("b") + " 0 - \"x\"\nend\n", true},
		{"outputs/old/0/f", "", true}, {"outputs/new/0/f", "", false},
	} {
		path := filepath.Join(dir, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(f.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if f.old {
			at := path
			if strings.HasPrefix(f.name, "outputs/") {
				at = filepath.Join(dir, "outputs", "old")
			}
			if err := os.Chtimes(at, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := oldStaged(dir, time.Now().Add(-stagedFor))
	if want := []string{hash("b"), hash("e") + ".tree", "outputs/old"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
