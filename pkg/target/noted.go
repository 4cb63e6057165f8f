package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notedFile has the notes that are printed only once per state directory, one per line.
const notedFile = "noted"

// firstNote reports whether no earlier command with the state directory printed a note, and records it. A note that
// cannot be recorded is printed again.
func firstNote(dir, note string) bool {
	path := filepath.Join(dir, notedFile)
	text, _ := os.ReadFile(path)
	if slices.Contains(strings.Split(string(text), "\n"), note) {
		return false
	}
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		_, _ = f.WriteString(note + "\n")
		_ = f.Close()
	}
	return true
}

// FirstNote reports whether a note is to be printed: no earlier command with this state directory printed it.
func (t *Target) FirstNote(note string) bool { return firstNote(t.Submissions.Dir, note) }
