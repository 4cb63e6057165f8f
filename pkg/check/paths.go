package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// Document is a document to check.
type Document struct {
	// Path is the file, or "-" for standard input.
	Path string
	// Named reports whether the user named the file itself. Other files are checked
	// only if they are recognized as documents of batchctl.
	Named bool
	// Source is the text; nil: it is read from Path.
	Source *diag.Source
	// Directory is where the search for the platform file begins; "": the directory of Path.
	Directory string
	// Alone reports whether the text is in no directory: it is checked without others, without a
	// platform file and without the files that it names.
	Alone bool
}

// Named returns the documents that the user named one by one.
func Named(paths ...string) []Document {
	documents := make([]Document, len(paths))
	for i, path := range paths {
		documents[i] = Document{Path: path, Named: true}
	}
	return documents
}

// The extensions of the files that Find collects below a directory.
var (
	// JobFiles are the extensions of job files.
	JobFiles = []string{".json"}
	// AllFiles are the extensions of job files, CloudFormation templates, state machines and scripts.
	AllFiles = []string{".json", ".yaml", ".yml", ".template", ".asl", ".sh"}
)

// ErrNoMatch is the cause of a PatternError for a pattern that matches no file.
var ErrNoMatch = errors.New("no file matches")

// PatternError reports a pattern that leads to no file.
type PatternError struct {
	// Pattern is the pattern as it was written.
	Pattern string
	// Err is the cause: ErrNoMatch, or an error of the syntax.
	Err error
}

// Error names the pattern and the cause.
func (e *PatternError) Error() string {
	if e.Err == ErrNoMatch {
		return "no file matches " + e.Pattern
	}
	return fmt.Sprintf("pattern %s: %v", e.Pattern, e.Err)
}

// Unwrap returns the cause.
func (e *PatternError) Unwrap() error { return e.Err }

// Find turns command line arguments into documents. A file is a document. A directory
// means every file below it that git does not ignore and that has one of the endings, or,
// with include, a path below it that matches one of these patterns. A pattern (** for any
// depth) means the files that it matches. Find returns an error for each unreadable
// argument or directory, and still searches the others.
func Find(args, include, endings []string) (documents []Document, failed []error) {
	for _, arg := range args {
		some, errs := find(arg, include, endings)
		failed = append(failed, errs...)
		if documents == nil {
			documents = some
		} else {
			documents = append(documents, some...)
		}
	}
	return documents, failed
}

// find is Find for one argument. An existing file with characters of a pattern in its name
// is that file.
func find(arg string, include, endings []string) ([]Document, []error) {
	_, err := os.Lstat(arg)
	switch {
	case arg == "-":
	case isDirectory(arg):
		return findBelow(arg, include, endings)
	case err != nil && strings.ContainsAny(arg, "*?[{"):
		documents, err := findMatches(arg)
		if err != nil {
			return nil, []error{err}
		}
		return documents, nil
	}
	return Named(arg), nil
}

// isDirectory reports whether a path is a directory, or a link to one.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// findMatches returns the files that match a pattern, sorted. It does not follow links to
// directories.
func findMatches(pattern string) ([]Document, error) {
	paths, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err == nil && len(paths) == 0 {
		err = ErrNoMatch
	}
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	slices.Sort(paths)
	documents := make([]Document, len(paths))
	for i, path := range paths {
		documents[i].Path = path
	}
	return documents, nil
}

// findBelow collects the files below a directory, or below a link to one. It follows no other links. A directory or
// .gitignore that it cannot read is an error of its own, and the search continues after it.
func findBelow(root string, include, endings []string) ([]Document, []error) {
	w := &walk{root: root, include: include, endings: endings, ignored: newIgnores(root)}
	w.directory(root)
	return w.documents, w.failed
}

// walk is a search through a directory. filepath.WalkDir finds nothing below a link, and does not tell how many files
// a directory has: with room for all, the list takes a fifth of the memory.
type walk struct {
	root             string
	include, endings []string
	ignored          *ignores

	documents []Document
	failed    []error
}

// directory searches a directory.
func (w *walk) directory(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		w.failed = append(w.failed, readError(path, err))
	}
	if err := w.ignored.enter(path); err != nil && isReadable(path) { // otherwise the directory itself has failed
		w.failed = append(w.failed, err)
	}
	w.documents = slices.Grow(w.documents, len(entries))
	for _, entry := range entries {
		below := filepath.Join(path, entry.Name())
		switch {
		case w.ignored.match(below, entry.IsDir()):
		case !entry.IsDir():
			w.file(path, below, entry)
		case !strings.HasPrefix(entry.Name(), "."):
			w.directory(below)
		}
	}
}

// file adds a file of a directory if it is wanted.
func (w *walk) file(directory, path string, entry fs.DirEntry) {
	if !entry.Type().IsRegular() {
		return
	}
	below := path // without patterns, only the extension matters
	if len(w.include) > 0 {
		rel, err := filepath.Rel(w.root, path)
		if err != nil {
			w.failed = append(w.failed, err)
			return
		}
		below = rel
	}
	if named, ok := isWanted(filepath.ToSlash(below), w.include, w.endings); ok {
		w.documents = append(w.documents, Document{Path: path, Directory: directory, Named: named})
	}
}

// isReadable reports whether a directory can be listed.
func isReadable(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// isWanted reports whether Find returns a file below a directory, and whether a pattern
// named it.
func isWanted(below string, include, endings []string) (named, ok bool) {
	if len(include) == 0 {
		return false, slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(below, e) })
	}
	for _, pattern := range include {
		if doublestar.MatchUnvalidated(pattern, below) {
			return true, true
		}
	}
	return false, false
}

// Skipped lists the documents that are not checked. Foreign and Unclear are .json files in directories.
type Skipped struct {
	// Foreign are documents of other tools.
	Foreign []string
	// Unclear are files that may be documents of batchctl.
	Unclear []string
	// Unchecked are documents of AWS Batch that batchctl recognizes and does not check, even if you name them.
	Unchecked []Unchecked
}

// Unchecked is a document with the name of what it is, such as "CancelJobs".
type Unchecked struct{ Path, What string }

// Add adds a file that is not recognized. YAML files are not listed, because few of them
// are for batchctl.
func (s *Skipped) Add(path string, r document.Recognition) {
	switch {
	case !strings.HasSuffix(path, ".json"):
	case r == document.Unclear:
		s.Unclear = append(s.Unclear, path)
	default:
		s.Foreign = append(s.Foreign, path)
	}
}
