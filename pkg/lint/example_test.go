package lint

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// example returns the files of a rule.
func example(t testing.TB, rule string) examples.Example {
	t.Helper()
	e, ok := examples.Of(rule)
	if !ok || len(e.Bad) == 0 || len(e.Good) == 0 {
		t.Fatalf("%s has no example", rule)
	}
	return e
}

// exampleTexts returns the text of every document and platform file of the examples.
func exampleTexts() (texts []string) {
	seen := map[string]bool{}
	for _, e := range examples.All() {
		for _, f := range slices.Concat(e.Bad, e.Good) {
			if filepath.Ext(f.Name) == ".json" && !seen[f.Text] {
				seen[f.Text] = true
				texts = append(texts, f.Text)
			}
		}
	}
	return texts
}

// isSingle reports whether the files are one document without others.
func isSingle(l examples.Files) bool {
	_, platform := l.Platform()
	return len(l.Documents()) == 1 && !platform
}

// fileIn reads a file that a document names.
func fileIn(l examples.Files) func(path string) (*diag.Source, error) {
	return func(path string) (*diag.Source, error) {
		if f, ok := l.File(path); ok {
			return diag.NewSource(path, f.Text), nil
		}
		return nil, errors.New("no such file")
	}
}

// loadRun loads the files of one run.
func loadRun(t *testing.T, l examples.Files) (docs []*document.File, platform *document.Platform, problems diag.List) {
	t.Helper()
	if f, ok := l.Platform(); ok {
		doc, found := document.Load(diag.NewSource(f.Name, f.Text), document.Options{Kind: document.KindPlatform})
		platform = doc.Platform
		problems = append(found, Check([]*document.File{doc}, platform, Rules())...)
	}
	for _, f := range l.Documents() {
		doc, found := loadSource(diag.NewSource(f.Name, f.Text), platform, fileIn(l))
		problems = append(problems, found...)
		if doc != nil {
			docs = append(docs, doc)
		}
	}
	return docs, platform, problems
}

// loadSource loads a file of any kind, including operations that no file contains. It loads templates as with --kind,
// which their pages name.
func loadSource(src *diag.Source, p *document.Platform, read func(string) (*diag.Source, error)) (*document.File, diag.List) {
	root, _ := jsontree.Parse(src)
	if kind := operation(root); kind != "" && !document.IsYAML(src) {
		return &document.File{Source: src, Root: root, Kind: kind, Requests: []document.Request{{Kind: kind, Node: root}}}, nil
	}
	f, problems := document.Load(src, document.Options{Platform: p, Read: read, Find: findingBy(read), Hosts: true})
	if f != nil {
		f.Forced = f.Kind == document.KindTemplate || f.Kind == document.KindLaunchTemplate
	}
	return f, problems
}

// findingBy finds the inputs that can be read.
func findingBy(read func(string) (*diag.Source, error)) func(document, path string) (document.Found, error) {
	if read == nil {
		return nil
	}
	return func(_, path string) (document.Found, error) {
		src, err := read(path)
		if err != nil {
			return document.Found{}, err
		}
		return document.Found{Path: path, Bytes: int64(len(src.Text))}, nil
	}
}

// operation returns the operation of a request that no file contains.
func operation(root *jsontree.Node) document.Kind {
	switch {
	case root.Get("jobId") != nil && root.Get("reason") != nil:
		return cancelJob
	case root.Get("jobs").Index(0).Is(jsontree.String):
		return describeJobs
	}
	return ""
}

func byRule(l diag.List, rule string) (of diag.List) {
	for _, d := range l {
		if d.Rule == rule {
			of = append(of, d)
		}
	}
	return of
}

// problemsIn checks the files of a run as one command line, for some rules with a plan.
func problemsIn(t *testing.T, l examples.Files, rule string) diag.List {
	t.Helper()
	docs, platform, problems := loadRun(t, l)
	problems = Settle(append(problems, Check(docs, platform, Rules())...))
	if slices.Contains([]string{"no-queue", "request-shape", "stage-command", "stage-no-place"}, rule) && !problems.HasErrors() {
		_, more := plan.Build(docs, platform, plan.Options{})
		problems = append(problems, more...)
	}
	problems.Sort()
	return problems
}

func TestBadExamples(t *testing.T) {
	checked := map[string]bool{}
	for _, r := range Rules() {
		checked[r.Name] = true
	}
	for _, r := range Documented() {
		t.Run(r.Name, func(t *testing.T) {
			e := example(t, r.Name)
			found := problemsIn(t, e.Bad, r.Name)
			for _, d := range found {
				if checked[r.Name] && generic(d) && r.Name != "jobdef-unknown-member" {
					t.Errorf("the schema speaks beside the rule: %v", d)
				}
			}
			if len(byRule(found, r.Name)) == 0 {
				t.Errorf("not found; found are %v", found)
			}
			var b strings.Builder
			if err := diag.WriteText(&b, found, diag.TextOptions{Width: mostColumns}); err != nil {
				t.Fatal(err)
			}
			golden.Read(t, filepath.Join("examples", e.Path())).Want(t, "want", b.String())
		})
	}
}

func TestGoodExamples(t *testing.T) {
	for _, r := range Documented() {
		t.Run(r.Name, func(t *testing.T) {
			if found := problemsIn(t, example(t, r.Name).Good, r.Name); len(byRule(found, r.Name)) > 0 || found.HasErrors() {
				t.Errorf("found %v", found)
			}
		})
	}
}

// Examples have the format of `batchctl fmt`.
func TestExamplesAreFormatted(t *testing.T) {
	for _, e := range examples.All() {
		archive := golden.Read(t, filepath.Join("examples", e.Path()))
		for _, pattern := range []string{"*.json", "*/*.json"} {
			for _, name := range archive.Names(pattern) {
				if root, problems := jsontree.Parse(diag.NewSource(name, archive.Text(t, name))); len(problems) == 0 {
					archive.Want(t, name, jsontree.Format(root, mostColumns))
				}
			}
		}
	}
}

// An archive without a rule would never be read.
func TestEveryExampleBelongsToARule(t *testing.T) {
	for _, e := range examples.All() {
		if r, ok := Lookup(e.Rule); !ok || r.Scope != e.Topic {
			t.Errorf("%s: no such rule in this topic", e.Path())
		}
	}
}

func TestRulesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		seen[r.Name] = true
		if !strings.HasSuffix(r.Doc, ".") || r.Source == "" || r.Run == nil || r.Confidence == "" || r.Scope == "" || r.Confidence == Low && r.Severity == diag.Error {
			t.Errorf("%s: doc %q, source %q, confidence %q, scope %q", r.Name, r.Doc, r.Source, r.Confidence, r.Scope)
		}
	}
	if len(seen) < 480 {
		t.Errorf("only %d rules", len(seen))
	}
}
