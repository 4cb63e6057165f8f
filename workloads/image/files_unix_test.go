//go:build unix

package image

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that no one writes to would hold the program indefinitely, signals included.
func TestInspectRegularFilesAlone(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink(folder, filepath.Join(folder, "folder.png")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.png"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder.png", "pipe.png"} {
		if _, err := inspect(filepath.Join(folder, name)); err == nil || !strings.Contains(err.Error(), name+": it is no regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
