//go:build unix

package image

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInspectRegularFilesAlone checks that a pipe without a writer is rejected: opening it would
// block indefinitely, and ignore signals.
func TestInspectRegularFilesAlone(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink(folder, filepath.Join(folder, "folder.png")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.png"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder.png", "pipe.png"} {
		if _, err := inspect(filepath.Join(folder, name)); err == nil || !strings.Contains(err.Error(), name+": it is not a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
