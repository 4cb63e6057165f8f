package check

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestIgnoresAsGit compares the walk with git on random lines and files.
func TestIgnoresAsGit(t *testing.T) {
	testtool.Need(t, "git")
	testtool.ShortChecks(t, 25) // each starts git twice
	names := rapid.SampledFrom([]string{"a", "b", "ab", "a b", "a{b}", "[a]", "x.json", "y.json", "#a", "!b", "a\\b"})
	parts := rapid.SampledFrom([]string{"a", "b", "*", "**", "?", "a*", "*b", "a**b", "[ab]", "[!a]", "*.json", "x.json", "a b", "a{b}", "{a,b}", `\#a`, `\!b`, `a\ `, `\[a]`, "#a", "a ", `a\\b`})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "ignore")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		run := func(args ...string) string {
			cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.excludesFile=/dev/null"}, args...)...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("git %s: %v", args, err)
			}
			return string(out)
		}
		run("init", "-q")
		directories := []string{"."}
		for i := range rapid.IntRange(1, 8).Draw(t, "files") {
			in := rapid.SampledFrom(directories).Draw(t, "in")
			name := filepath.Join(in, names.Draw(t, "name"))
			if rapid.Bool().Draw(t, "directory") {
				if os.Mkdir(filepath.Join(dir, name), 0o755) == nil {
					directories = append(directories, name)
				}
				name = filepath.Join(name, fmt.Sprintf("f%d", i))
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				_ = os.WriteFile(filepath.Join(dir, name), nil, 0o644)
			}
		}
		for _, d := range directories {
			var lines []string
			for range rapid.IntRange(0, 3).Draw(t, "lines") {
				line := strings.Join(rapid.SliceOfN(parts, 1, 3).Draw(t, "parts"), "/")
				line = rapid.SampledFrom([]string{"", "!", "/", "!/"}).Draw(t, "before") + line + rapid.SampledFrom([]string{"", "/", " ", "\r"}).Draw(t, "after")
				lines = append(lines, line)
			}
			if err := os.WriteFile(filepath.Join(dir, d, ".gitignore"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		var want []string
		for name := range strings.SplitSeq(run("ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
			if name != "" && filepath.Base(name) != ".gitignore" {
				want = append(want, name)
			}
		}
		got := unignored(t, dir)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("we keep %q, git %q", got, want)
		}
	})
}

// unignored returns the files that a walk through the directory keeps.
func unignored(t *rapid.T, dir string) (kept []string) {
	ignored := newIgnores(dir)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			return filepath.SkipDir
		case entry.IsDir() && path != dir && ignored.match(path, true):
			return filepath.SkipDir
		case entry.IsDir():
			return ignored.enter(path)
		case entry.Name() != ".gitignore" && !ignored.match(path, false):
			kept = append(kept, ignored.below(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(kept)
	return kept
}
