package author

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestReplaceTextKeepsNews: what was written after the file was read is not overwritten, and
// the attempt leaves nothing behind.
func TestReplaceTextKeepsNews(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "job.json")
	if err := os.WriteFile(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := replaceText(diag.NewSource(path, "old"), "fixed"); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want %v", err, errChanged)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := replaceText(diag.NewSource(path, "new"), "fixed"); err != nil {
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
