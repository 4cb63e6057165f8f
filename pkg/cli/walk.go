package cli

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// found is a file to be checked.
type found struct {
	path string
	// asked is true when the user named the file itself. What a walk comes across
	// is checked only if it is one of our documents.
	asked bool
}

// walk turns the words of a command line into files: a file is itself, a
// directory every .json below it that git would not ignore, a pattern (quoted
// from the shell, ** for any depth) what it matches. Words that lead nowhere are
// returned as errors, and do not stop the others.
func walk(words, include []string) (files []found, failed []error) {
	for _, word := range words {
		some, err := expandWord(word, include)
		if err != nil {
			failed = append(failed, err)
		}
		files = append(files, some...)
	}
	return files, failed
}

func expandWord(word string, include []string) ([]found, error) {
	_, err := os.Lstat(word)
	switch {
	case word == "-":
		return []found{{word, true}}, nil
	case isDirectory(word):
		return walkDirectory(word, include)
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

// walkDirectory collects the .json files below a directory, or with include
// those whose path below it matches a pattern.
func walkDirectory(root string, include []string) ([]found, error) {
	ignored := newIgnores(root)
	var files []found
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return cannotRead(path, err)
		}
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || ignored.match(path, true)):
			return filepath.SkipDir
		case entry.IsDir():
			return ignored.enter(path)
		case !entry.Type().IsRegular() || ignored.match(path, false):
			return nil
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if asked, ok := wanted(filepath.ToSlash(below), include); ok {
			files = append(files, found{path, asked})
		}
		return nil
	})
	return files, err
}

// wanted reports whether a file of a walk is to be looked at, and whether it was
// asked for by a pattern.
func wanted(below string, include []string) (asked, ok bool) {
	if len(include) == 0 {
		return false, strings.HasSuffix(below, ".json")
	}
	for _, pattern := range include {
		if doublestar.MatchUnvalidated(pattern, below) {
			return true, true
		}
	}
	return false, false
}

// ignores is what the .gitignore files on the way say.
type ignores struct {
	base     string // the repository's root, to which the patterns' domains are relative
	patterns []gitignore.Pattern
}

// newIgnores reads the .gitignore files above root, up to the repository's root.
// Outside a repository there are none above.
func newIgnores(root string) *ignores {
	abs, err := filepath.Abs(root)
	if err != nil {
		return &ignores{base: root}
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			i := &ignores{base: dir}
			i.above(abs)
			return i
		}
		if dir == filepath.Dir(dir) {
			return &ignores{base: abs}
		}
	}
}

func (i *ignores) above(abs string) {
	rel, err := filepath.Rel(i.base, abs)
	if err != nil || rel == "." {
		return
	}
	dir := i.base
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		_ = i.enter(dir) // one that cannot be read ignores nothing
		dir = filepath.Join(dir, part)
	}
}

// domain is a path in the form that patterns are matched in.
func (i *ignores) domain(path string) []string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	rel, err := filepath.Rel(i.base, abs)
	if err != nil || rel == "." {
		return nil
	}
	return strings.Split(filepath.ToSlash(rel), "/")
}

// enter reads the .gitignore of a directory.
func (i *ignores) enter(dir string) error {
	f, err := os.Open(filepath.Join(dir, ".gitignore"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotRead(filepath.Join(dir, ".gitignore"), err)
	}
	defer f.Close()
	domain := i.domain(dir)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			i.patterns = append(i.patterns, gitignore.ParsePattern(line, domain))
		}
	}
	return nil
}

func (i *ignores) match(path string, isDir bool) bool {
	return len(i.patterns) > 0 && gitignore.NewMatcher(i.patterns).Match(i.domain(path), isDir)
}
