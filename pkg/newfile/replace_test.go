package newfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReplaceKeepsNews: what was written after the file was read is not overwritten, and
// the attempt leaves nothing behind.
func TestReplaceKeepsNews(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "job.json")
	if err := os.WriteFile(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Replace(path, "old", "fixed"); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v, want %v", err, ErrChanged)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := Replace(path, "new", "fixed"); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "fixed" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
