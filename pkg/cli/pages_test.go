package cli_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// pages are README.md and everything below docs that people write.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) < 10 {
		t.Fatalf("found %d pages in docs, %v", len(names), err)
	}
	return append(names, "../../README.md")
}

// TestPages does what README.md and each page of docs say, from the top to the bottom, in one copy of the jobs and
// schemas for each page: it writes the blocks after a comment with a file's name, runs the console blocks, and
// compares what they print. `...` on a page stands for any text; figures that differ from run to run are compared as
// figures. A page with a comment such as "needs: python3" is left out on a machine without that program.
func TestPages(t *testing.T) {
	steps := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps += strings.Count(string(text), "\n$ ")
		t.Run(filepath.Base(page), func(t *testing.T) {
			for _, m := range regexp.MustCompile(`(?m)^<!-- needs: (\S+) -->$`).FindAllStringSubmatch(string(text), -1) {
				testtool.Need(t, m[1])
			}
			dir := readmeDir(t)
			for _, block := range pageBlocks(string(text)) {
				if block.file != "" {
					if err := os.WriteFile(filepath.Join(dir, block.file), []byte(block.text), 0o644); err != nil {
						t.Fatal(err)
					}
					continue
				}
				for _, step := range consoleSteps(block.text) {
					if got := runShell(t, dir, step.command); !matches(step.want, got) {
						t.Errorf("$ %s\n%s says:\n%s\nit prints:\n%s", step.command, page, step.want, got)
					}
				}
			}
		})
	}
	if steps < 15 {
		t.Errorf("found %d commands in the console blocks, so most of them went untested", steps)
	}
}

// TestPageLinks follows the links of all Markdown files to files and headlines of this
// repository.
func TestPageLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "templates/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, names...)
	}
	headlines := map[string][]string{}
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile("(?ms)^(`{3,}).*?^`{3,}").ReplaceAllString(string(text), "")
	}
	for _, file := range files {
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(read(file), -1) {
			headlines[file] = append(headlines[file], anchorOf(m[1]))
		}
	}
	links := 0
	for _, file := range files {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(file), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			path, own := strings.CutPrefix(path, "https://github.com/batchctl/batchctl/blob/main/")
			if strings.Contains(path, "://") {
				continue
			}
			links++
			to := file
			if own {
				path = relativeTo(t, filepath.Dir(file), filepath.Join(root, path))
			} else if docs := filepath.Join(root, "docs") + string(filepath.Separator); path != "" && strings.HasPrefix(file, docs) && !strings.HasPrefix(filepath.Join(filepath.Dir(file), path), docs) {
				t.Errorf("%s: %s leads out of the site; link to the file on GitHub", file, m[1])
			}
			if path != "" {
				to = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere: %v", file, m[1], err)
			} else if anchor != "" && !slices.Contains(headlines[to], anchor) {
				t.Errorf("%s: %s: the page has no such headline", file, m[1])
			}
		}
	}
	if links < 500 {
		t.Errorf("found %d links, so most of them went untested", links)
	}
}

// TestSite builds the site of docs with Jekyll and follows the links of its pages. It finds
// Markdown that GitHub renders and a site generator does not.
func TestSite(t *testing.T) {
	testtool.Need(t, "jekyll")
	testtool.Works(t, "ruby", "-e", "gem 'minima'; %w[default-layout optional-front-matter readme-index relative-links titles-from-headings].each { |p| require 'jekyll-' + p }")
	site := t.TempDir()
	out, err := exec.Command("jekyll", "build", "--disable-disk-cache", "--source", filepath.Join("..", "..", "docs"), "--destination", site).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages := map[string]string{}
	if err := filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".html" {
			var text []byte
			text, err = os.ReadFile(path)
			pages[path] = string(text)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(pages) < 30 {
		t.Fatalf("the site has %d pages:\n%s", len(pages), out)
	}
	link := regexp.MustCompile(`(?:href|src)="([^":]*)"`)
	for path, text := range pages {
		if strings.Contains(regexp.MustCompile(`(?s)<pre.*?</pre>`).ReplaceAllString(text, ""), "```") {
			t.Errorf("%s: a block of code is not rendered as one", path)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			name, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if strings.HasPrefix(name, "/") {
				to = filepath.Join(site, name)
			} else if name != "" {
				to = filepath.Join(filepath.Dir(path), name)
			}
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				to = filepath.Join(to, "index.html")
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", path, m[1])
			} else if anchor != "" && !strings.Contains(pages[to], `id="`+anchor+`"`) {
				t.Errorf("%s: %s: the page has no such headline", path, m[1])
			}
		}
	}
	if !strings.Contains(pages[filepath.Join(site, "sweeps-and-workflows.html")], "${{ matrix.lr }}") {
		t.Error("a matrix reference was read as a tag of the generator")
	}
}

// relativeTo returns a path as seen from a directory.
func relativeTo(t *testing.T, dir, path string) string {
	t.Helper()
	name, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// anchorOf is the name that GitHub gives a headline.
func anchorOf(headline string) string {
	headline = regexp.MustCompile(`\]\([^)]*\)|[\[\]`+"`"+`]`).ReplaceAllString(headline, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
			return r
		}
		return -1
	}, strings.ToLower(headline))
}

// pageBlock is a block of a page: the contents of a file, or commands with what they print.
type pageBlock struct{ file, text string }

// pageBlocks returns the named files and the console blocks of a page in their order.
func pageBlocks(text string) (blocks []pageBlock) {
	for _, m := range regexp.MustCompile("(?ms)^(?:<!-- file: (\\S+) -->\n```[a-z]+|```console)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, pageBlock{file: m[1], text: m[2]})
	}
	return blocks
}

// pageStep is a command of a console block, and what it prints.
type pageStep struct{ command, want string }

func consoleSteps(text string) (steps []pageStep) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, pageStep{command: strings.TrimSpace(command)})
		} else if len(steps) > 0 {
			steps[len(steps)-1].want += line
		}
	}
	return steps
}

// readmeDir is a checkout for the README's commands, with batchctl on PATH.
func readmeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"jobs", "schemas"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../..", name))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runShell runs a command as a reader would. `go run ./cmd/batchctl` is the
// program under test, already built.
func runShell(t *testing.T, dir, command string) string {
	t.Helper()
	command = strings.ReplaceAll(command, "go run ./cmd/batchctl", "batchctl")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, ".state"), "PATH="+batchctlOnPath(t)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("$ %s: %v", command, err) // the exit code may be part of the lesson
	}
	return asRoot.ReplaceAllString(string(out), "")
}

// asRoot is the line that only root gets; the README shows a user's output.
var asRoot = regexp.MustCompile(`(?m)^note: you are root, .*\n`)

// batchctlOnPath links the test binary as batchctl, as testscript does.
func batchctlOnPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "batchctl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// matches compares output with the README's, where any figure equals any other
// and ids equal ids. `...` within a line is any text. A line of its own says
// that lines are left out: then the others must come in this order, with more
// between them, since the job's output and batchctl's messages mix.
func matches(want, got string) bool {
	lines, printed := strings.Split(normal(want), "\n"), strings.Split(normal(got), "\n")
	if !slices.Contains(lines, "...") {
		return slices.EqualFunc(lines, printed, matchesLine)
	}
	for _, line := range lines {
		if line == "..." {
			continue
		}
		at := slices.IndexFunc(printed, func(p string) bool { return matchesLine(line, p) })
		if at < 0 {
			return false
		}
		printed = printed[at+1:]
	}
	return true
}

func matchesLine(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), regexp.QuoteMeta("..."), ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

var (
	IDs     = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ms|s|m|h)?\b`)
	blanks  = regexp.MustCompile(`[ \t]+`)
	// busy is how the workloads mark what they measured on a machine with other work, as
	// the machine of this test may have.
	busy = regexp.MustCompile(`(?m)( \([0-9]+ of [0-9]+ rows\))?: machine busy, not a measurement$`)
)

func normal(s string) string {
	s = busy.ReplaceAllString(s, "")
	s = IDs.ReplaceAllString(s, "ID")
	s = figures.ReplaceAllString(s, "N")
	s = blanks.ReplaceAllString(s, " ")
	return strings.TrimSpace(s)
}

// The README shows what an idle machine prints, and the test machine may be a busy one.
func TestReadmeIgnoresBusy(t *testing.T) {
	want := "...\nA 1x1: 2 seconds (median of 3, verified)\nTotal: 2 seconds"
	got := "target: local\nA 1x1: 3 seconds (median of 3, verified): machine busy, not a measurement\nTotal: 3 seconds (1 of 1 rows): machine busy, not a measurement"
	if !matches(want, got) || matches(want, strings.ReplaceAll(got, "busy", "idle")) {
		t.Error("only the mark of a busy machine may be missing from the README")
	}
}
