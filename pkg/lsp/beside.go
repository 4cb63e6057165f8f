package lsp

import (
	"os"
	"path/filepath"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/spec"
)

// beside is a file that a document names, such as the table of an array, as it was
// when the document was read.
type beside struct {
	path string
	// open is its text in the editor; nil if it was read from disk, or could not be.
	open *diag.Source
	size int64
	time time.Time
}

// readBeside returns what reads the files that a document names: in the editor if
// they are open there, else on disk. A text that was never saved has no place.
func (s *server) readBeside(d *document) func(path string) (*diag.Source, error) {
	if !d.saved {
		return nil
	}
	fromDisk := spec.Beside(d.path)
	return func(path string) (*diag.Source, error) {
		full := filepath.FromSlash(path)
		if !filepath.IsAbs(full) {
			full = filepath.Join(filepath.Dir(d.path), full)
		}
		b := s.stateOf(filepath.Clean(full))
		d.beside = append(d.beside, b)
		if b.open != nil {
			return b.open, nil
		}
		return fromDisk(path)
	}
}

// findBeside returns what finds the files and directories that inputs of a document name.
func (s *server) findBeside(d *document) func(document, path string) (spec.Found, error) {
	if !d.saved {
		return nil
	}
	return func(document, path string) (spec.Found, error) {
		if document == d.src.Name {
			document = d.path // else it is the platform file, which is named by its path
		}
		full := filepath.FromSlash(path)
		if !filepath.IsAbs(full) {
			full = filepath.Join(filepath.Dir(document), full)
		}
		d.beside = append(d.beside, s.stateOf(filepath.Clean(full)))
		return spec.FindBeside(document, path)
	}
}

// stateOf is the file as it is now; without size and time if it is not there.
func (s *server) stateOf(path string) beside {
	b := beside{path: path, open: s.openSource(path)}
	if info, err := os.Stat(path); err == nil && b.open == nil {
		b.size, b.time = info.Size(), info.ModTime()
	}
	return b
}

// unchanged reports whether the files are still as they were read.
func (s *server) unchanged(files []beside) bool {
	for _, b := range files {
		if now := s.stateOf(b.path); now.open != b.open || now.size != b.size || !now.time.Equal(b.time) {
			return false
		}
	}
	return true
}
