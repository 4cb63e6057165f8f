package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// found is a file to be checked.
type found struct {
	path string
	// asked is true when the user named the file itself. What a walk comes across
	// is checked only if it is one of our documents.
	asked bool
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
		some, err := expandWord(word, include, endings)
		if err != nil {
			failed = append(failed, err)
		}
		files = append(files, some...)
	}
	return files, failed
}

func expandWord(word string, include, endings []string) ([]found, error) {
	_, err := os.Lstat(word)
	switch {
	case word == "-":
		return []found{{word, true}}, nil
	case isDirectory(word):
		return walkDirectory(word, include, endings)
	case err != nil && strings.ContainsAny(word, "*?[{"):
		return matchPattern(word)
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
// those whose path below it matches a pattern.
func walkDirectory(root string, include, endings []string) ([]found, error) {
	ignored := newIgnores(root)
	var files []found
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return cannotRead(path, err, makeJob)
		}
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || ignored.match(path, true)):
			return filepath.SkipDir
		case entry.IsDir():
			return ignored.enter(path)
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
	return files, err
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
