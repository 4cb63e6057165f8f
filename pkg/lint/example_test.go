package lint

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// The page and the examples in the binary are what testdata and the rules say now.
func TestExamples(t *testing.T) {
	now := map[string]Example{}
	for _, r := range Documented() {
		now[r.Name] = exampleOf(t, r)
	}
	if *update {
		write(t, "examples.json.gz", pack(t, now))
		examples = func() map[string]Example { return now }
		for _, file := range pages {
			write(t, file, []byte(pageOfFile(file)))
		}
	}
	packed, err := unpack(readBytes(t, "examples.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if d := cmp.Diff(now[name], packed[name]); d != "" {
			t.Errorf("examples.json.gz is stale, run go generate ./pkg/lint: %s (-want +got):\n%s", name, d)
		}
	}
	if len(packed) != len(now) {
		t.Errorf("examples.json.gz is stale, run go generate ./pkg/lint: %d rules, want %d", len(packed), len(now))
	}
	examples = func() map[string]Example { return now }
	for _, file := range pages {
		if pageOfFile(file) != string(readBytes(t, file)) {
			t.Errorf("%s is stale, run go generate ./pkg/lint", file)
		}
	}
}

var pages = []string{rulesPage, hostsPage}

func pack(t *testing.T, all map[string]Example) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(w).Encode(all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readBytes(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// exampleWidth is the width to which the files of examples are laid out.
const exampleWidth = 120

// exampleOf makes the example of a rule from its pair.
func exampleOf(t *testing.T, r Rule) Example {
	t.Helper()
	bad, good := pairFiles(t, "err", r.Name), pairFiles(t, "ok", r.Name)
	planned := slices.Contains([]string{"no-queue", "request-shape", "stage-command", "stage-no-place"}, r.Name) // which plan reports
	found := byRule(problemsOf(bad, planned), r.Name)
	if len(found) == 0 {
		t.Fatalf("%s: not found in its bad example", r.Name)
	}
	if left := problemsOf(good, planned); left.HasErrors() || len(byRule(left, r.Name)) > 0 {
		t.Fatalf("%s: wrong in its good example: %v", r.Name, left)
	}
	found.Sort()
	if len(found) > 3 {
		found = found[:3]
	}
	e := Example{Found: text(t, found)}
	const most = 3
	for i, f := range bad {
		if i >= most && len(bad) > most+1 && !stands(found, f.Name) {
			e.BadMore++
			continue
		}
		e.Bad = append(e.Bad, cut(f, places(found, f.Name)...))
	}
	for _, f := range good {
		switch {
		case slices.Contains(bad, f):
			e.GoodSame++
		case len(e.Good) < most:
			e.Good = append(e.Good, cut(f, changes(bad, f)...))
		default:
			e.GoodSame++
		}
	}
	e.GoodFewer = max(0, len(bad)-len(good))
	return e
}

func stands(l diag.List, name string) bool {
	return slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Source != nil && d.Source.Name == name })
}

func text(t *testing.T, l diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, l, diag.TextOptions{Width: exampleWidth}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pairFiles returns the files of a pair: the first one, those beside it, and the
// platform file. What parses is laid out as `batchctl fmt` does it.
func pairFiles(t *testing.T, dir, rule string) (files []ExampleFile) {
	t.Helper()
	base := filepath.Join("testdata", dir, rule)
	used := map[string]int{}
	add := func(path, name string) {
		text := string(readBytes(t, path))
		root, problems := jsontree.Parse(diag.NewSource("", text))
		if strings.HasSuffix(path, ".yaml") {
			name = "template.yaml"
		} else if len(problems) == 0 {
			text = jsontree.Format(root, exampleWidth)
		}
		if name == "" {
			name = fileName(text)
		}
		if used[name]++; used[name] > 1 {
			name = strings.Replace(name, ".json", fmt.Sprintf("-%d.json", used[name]), 1)
		}
		files = append(files, ExampleFile{Name: name, Text: text})
	}
	add(firstFile(base), "")
	for i := 1; exists(fmt.Sprintf("%s.%d.json", base, i)); i++ {
		add(fmt.Sprintf("%s.%d.json", base, i), "")
	}
	for _, name := range []string{"runs.csv", "commands.txt", "config.toml"} { // as job files name them
		if path := base + filepath.Ext(name); exists(path) {
			add(path, name)
		}
	}
	if exists(base + ".platform.json") {
		add(base+".platform.json", document.PlatformFile)
	}
	return files
}

// fileName names a file by what it holds.
func fileName(text string) string {
	f, _ := loadSource(diag.NewSource("", text), nil, nil)
	if f == nil {
		return "job.json"
	}
	switch f.Kind {
	case document.KindWorkflow:
		return "workflow.json"
	case document.KindPlatform:
		return document.PlatformFile
	case document.KindJobList:
		return "jobs.json"
	case document.KindJobDefinition:
		return "definition.json"
	case document.KindSubmitJob:
		return "submit.json"
	case document.KindComputeEnvironment:
		return "environment.json"
	case document.KindJobQueue:
		return "queue.json"
	case document.KindSchedulingPolicy:
		return "policy.json"
	case document.KindConsumableResource:
		return "resource.json"
	case document.KindTemplate:
		return "template.json"
	case document.KindLaunchTemplate:
		return "launch-template.json"
	case cancelJob, terminateJob, describeJobs:
		return "request.json"
	}
	return "job.json"
}

// problemsOf checks files as one command line, and plans them if that is asked for.
func problemsOf(files []ExampleFile, planned bool) diag.List {
	var problems diag.List
	var docs []*document.File
	var platform *document.Platform
	for _, f := range slices.Backward(files) {
		src := diag.NewSource(f.Name, f.Text)
		if f.Name == document.PlatformFile {
			doc, found := document.Load(src, document.Options{Kind: document.KindPlatform})
			platform = doc.Platform
			problems = append(append(problems, found...), Check([]*document.File{doc}, platform, Rules())...)
			continue
		}
		if ext := filepath.Ext(f.Name); ext != ".json" && ext != ".yaml" {
			continue // which a job file names
		}
		doc, found := loadSource(src, platform, func(path string) (*diag.Source, error) {
			for _, f := range files {
				if f.Name == path {
					return diag.NewSource(path, f.Text), nil
				}
			}
			return nil, errors.New("there is no such file")
		})
		problems = append(problems, found...)
		if doc != nil {
			docs = append([]*document.File{doc}, docs...)
		}
	}
	problems = Settle(append(problems, Check(docs, platform, Rules())...))
	if planned && !problems.HasErrors() {
		_, more := plan.Build(docs, platform, plan.Options{})
		problems = append(problems, more...)
	}
	return problems
}

// The most lines and columns of a file in an example that is not cut.
const (
	mostLines   = 60
	mostColumns = 120
)

// places returns the lines of a file, from 1, where problems begin.
func places(found diag.List, file string) (lines []int) {
	for _, d := range found {
		if d.Source != nil && d.Source.Name == file {
			n, _ := d.Source.Position(d.Span.Start)
			lines = append(lines, n)
		}
	}
	return lines
}

// changes returns the first line, from 1, in which a good file differs from its bad
// twin.
func changes(bad []ExampleFile, good ExampleFile) []int {
	for _, f := range bad {
		if f.Name == good.Name {
			before, after := strings.Split(f.Text, "\n"), strings.Split(good.Text, "\n")
			n := 0
			for n < min(len(before), len(after)) && before[n] == after[n] {
				n++
			}
			return []int{n + 1}
		}
	}
	return nil
}

// cut shortens a file that is about its size: what stands before and behind a long
// middle is kept, and what stands around the lines.
func cut(f ExampleFile, around ...int) ExampleFile {
	near := map[int]bool{}
	for _, n := range around {
		near[n-2], near[n-1], near[n] = true, true, true
	}
	lines := strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")
	var out []string
	for i, line := range lines {
		if len(lines) > mostLines && i >= 10 && i < len(lines)-4 && !near[i] {
			if last := out[len(out)-1]; strings.TrimSpace(last) != "…" {
				out = append(out, line[:len(line)-len(strings.TrimLeft(line, " "))]+"…")
			}
			f.Cut = true
			continue
		}
		if r := []rune(line); len(r) > mostColumns {
			line = string(r[:mostColumns-1]) + "…"
			f.Cut = true
		}
		out = append(out, line)
	}
	f.Text = strings.Join(out, "\n") + "\n"
	return f
}

// Every reader finds each rule once, and every link on the page leads somewhere on
// it.
func TestPageLinks(t *testing.T) {
	for _, file := range pages {
		t.Run(file, func(t *testing.T) { holdPage(t, file) })
	}
}

func holdPage(t *testing.T, file string) {
	page := pageOfFile(file)
	if !utf8.ValidString(page) || len(page) > 512<<10 {
		t.Errorf("the page has %d bytes, and GitHub lays out no more than 512 KiB: shorten the examples, or lower longExample", len(page))
	}
	anchors := map[string]bool{}
	for line := range strings.SplitSeq(page, "\n") {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			if a := anchor(h[1:]); anchors[a] {
				t.Errorf("two headlines have the anchor %s", a)
			} else {
				anchors[a] = true
			}
		}
	}
	for _, part := range strings.Split(page, "](#")[1:] {
		if a, _, _ := strings.Cut(part, ")"); !anchors[a] {
			t.Errorf("nothing has the anchor %s", a)
		}
	}
	for _, r := range Documented() {
		if at, ours := strings.CutPrefix(r.URL(), strings.TrimSuffix(PageURL, rulesPage)+file+"#"); ours && !anchors[at] {
			t.Errorf("%s is not on the page", r.Name)
		}
	}
}
