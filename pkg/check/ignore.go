package check

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignores holds the rules of .gitignore files, with the meaning of gitignore(5).
type ignores struct {
	base  string // the repository's root, absolute; paths are matched below it
	rules []ignoreRule
}

// ignoreRule is a line of a .gitignore file as a pattern of paths below the base.
type ignoreRule struct {
	glob string
	// keep is true for a rule with "!", which reverses an earlier line. directories is
	// true for a rule that does not match files.
	keep, directories bool
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

// above reads the .gitignore files of the directories from the base to a directory.
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

// below returns a path relative to the base, with slashes; "" for the base itself.
func (i *ignores) below(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(i.base, abs)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// enter reads the .gitignore of a directory.
func (i *ignores) enter(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // git reads only regular files
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return readError(path, err)
	}
	defer f.Close()
	below := i.below(dir)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if r, ok := parseIgnore(lines.Text(), below); ok {
			i.rules = append(i.rules, r)
		}
	}
	return nil
}

// parseIgnore parses a line of the .gitignore file in dir, which is relative to the base.
func parseIgnore(line, dir string) (r ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimBlanks(strings.TrimSuffix(line, "\r"))
	if rest, found := strings.CutPrefix(line, "!"); found {
		r.keep, line = true, rest
	}
	if rest, found := strings.CutSuffix(line, "/"); found {
		r.directories, line = true, rest
	}
	if line == "" {
		return r, false
	}
	// In git, braces are literal, and "dir/**" matches only what is in dir.
	line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	if !strings.Contains(line, "/") {
		line = "**/" + line // a name, at any depth
	}
	r.glob = strings.TrimPrefix(line, "/")
	if dir != "" {
		r.glob = quoteGlob(dir) + "/" + r.glob
	}
	return r, true
}

// trimBlanks removes the blanks at the end of a line, except one after a backslash.
func trimBlanks(line string) string {
	short := strings.TrimRight(line, " ")
	slashes := len(short) - len(strings.TrimRight(short, `\`))
	if len(short) < len(line) && slashes%2 == 1 {
		return short + " "
	}
	return short
}

// quoteGlob escapes a path so that it matches only itself.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(path)
}

// match reports whether git ignores a path whose directory it does not ignore:
// the last line that matches decides.
func (i *ignores) match(path string, isDir bool) bool {
	if len(i.rules) == 0 {
		return false
	}
	below := i.below(path)
	for n := len(i.rules) - 1; n >= 0; n-- {
		r := i.rules[n]
		if (isDir || !r.directories) && doublestar.MatchUnvalidated(r.glob, below) {
			return !r.keep
		}
	}
	return false
}
