package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/spec"
)

// found is a file to be checked.
type found struct {
	path string
	// asked is true when the user named the file itself. What a walk comes across
	// is checked only if it is one of our documents.
	asked bool
}

// skips is the .json files that a walk found and that no command read as documents.
type skips struct {
	// foreign are the files of other tools, and unclear those that may be ours.
	foreign, unclear []string
}

// add notes a file that was not recognized. YAML is not expected to be ours.
func (s *skips) add(path string, r spec.Recognition) {
	switch {
	case !strings.HasSuffix(path, ".json"):
	case r == spec.Unclear:
		s.unclear = append(s.unclear, path)
	default:
		s.foreign = append(s.foreign, path)
	}
}

// mostNamed bounds how many files a message names.
const mostNamed = 5

// reportSkips counts the skipped files on stderr, so that a mistake in one of them does
// not look like a clean check. It lists the foreign ones only with verbose.
func (p *program) reportSkips(s skips, verbose bool) {
	if verbose {
		for _, path := range s.foreign {
			fmt.Fprintf(p.Err, "skipped: %s\n", diag.Printable(path))
		}
	}
	if n := len(s.foreign); n > 0 {
		how := " (--verbose lists them)"
		if verbose {
			how = ""
		}
		fmt.Fprintf(p.Err, "%s skipped: not batchctl documents%s\n", plural(n, ".json file"), how)
	}
	for i, path := range s.unclear {
		if i == mostNamed && !verbose {
			fmt.Fprintf(p.Err, "not checked: %s more that may be batchctl documents\n", plural(len(s.unclear)-i, "file"))
			break
		}
		fmt.Fprintf(p.Err, "not checked: %s may be a batchctl document; add \"$schema\", or name the file to check it\n", diag.Printable(path))
	}
}

// The endings of the files that a walk looks at: job files, and, of what validate reads,
// templates of CloudFormation too.
var (
	jobFiles = []string{".json"}
	allFiles = []string{".json", ".yaml", ".yml", ".template"}
)

// walk turns the words of a command line into files: a file is itself, a
// directory every file below it with one of the endings that git would not ignore, a
// pattern (quoted from the shell, ** for any depth) what it matches. Words that lead nowhere are
// returned as errors, and do not stop the others.
func walk(words, include, endings []string) (files []found, failed []error) {
	for _, word := range words {
		some, errs := expandWord(word, include, endings)
		failed = append(failed, errs...)
		files = append(files, some...)
	}
	return files, failed
}

func expandWord(word string, include, endings []string) ([]found, []error) {
	_, err := os.Lstat(word)
	switch {
	case word == "-":
		return []found{{word, true}}, nil
	case isDirectory(word):
		return walkDirectory(word, include, endings)
	case err != nil && strings.ContainsAny(word, "*?[{"):
		files, err := matchPattern(word)
		if err != nil {
			return nil, []error{err}
		}
		return files, nil
	}
	return []found{{word, true}}, nil
}

func matchPattern(pattern string) ([]found, error) {
	paths, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return nil, usage("pattern %s: %v", pattern, err)
	}
	if len(paths) == 0 {
		return nil, fail(ExitNotDone, "no file matches %s", pattern).try("** stands for any depth: 'jobs/**/*.json'")
	}
	slices.Sort(paths)
	files := make([]found, len(paths))
	for i, path := range paths {
		files[i].path = path
	}
	return files, nil
}

// walkDirectory collects the files of the endings below a directory, or with include
// those whose path below it matches a pattern. A directory or .gitignore that it cannot
// read is an error of its own, and the walk continues behind it.
func walkDirectory(root string, include, endings []string) (files []found, failed []error) {
	ignored := newIgnores(root)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			failed = append(failed, cannotRead(path, err, makeJob))
			return nil
		}
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || ignored.match(path, true)):
			return filepath.SkipDir
		case entry.IsDir():
			if err := ignored.enter(path); err != nil && isReadable(path) { // of others WalkDir reports the directory
				failed = append(failed, err)
			}
			return nil
		case !entry.Type().IsRegular() || ignored.match(path, false):
			return nil
		}
		below := path // its end is all that counts without patterns
		if len(include) > 0 {
			if below, err = filepath.Rel(root, path); err != nil {
				return err
			}
		}
		if asked, ok := wanted(filepath.ToSlash(below), include, endings); ok {
			files = append(files, found{path, asked})
		}
		return nil
	})
	if err != nil {
		failed = append(failed, err)
	}
	return files, failed
}

func isReadable(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// wanted reports whether a file of a walk is to be looked at, and whether it was
// asked for by a pattern.
func wanted(below string, include, endings []string) (asked, ok bool) {
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
