package lint

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// A pair is testdata/err/<rule>.json, which breaks the rule, and
// testdata/ok/<rule>.json, its good twin. Beside them may stand
// <rule>.platform.json and further files of the same command line,
// <rule>.1.json and so on, and what the job file names: <rule>.csv. err/<rule>.out
// holds what is found.
func find(t *testing.T, dir, rule string) (found, problems diag.List) {
	t.Helper()
	base := filepath.Join("testdata", dir, rule)
	var platform *document.Platform
	if exists(base + ".platform.json") {
		f, diags := load(t, base+".platform.json", nil)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		platform = f.Platform
	}
	f, problems := load(t, firstFile(base), platform)
	files := []*document.File{f}
	for i := 1; exists(fmt.Sprintf("%s.%d.json", base, i)); i++ {
		f, more := load(t, fmt.Sprintf("%s.%d.json", base, i), platform)
		files, problems = append(files, f), append(problems, more...)
	}
	found = Check(files, platform, Rules())
	found.Sort()
	return found, problems
}

// firstFile is the first file of a pair: JSON, or, of a rule about templates, YAML.
func firstFile(base string) string {
	if exists(base + ".yaml") {
		return base + ".yaml"
	}
	return base + ".json"
}

func load(t *testing.T, file string, p *document.Platform) (*document.File, diag.List) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return loadSource(diag.NewSource(filepath.Base(file), string(text)), p, beside(file))
}

// beside reads what a document of testdata names: a file of that name beside it, or
// the one that is called as the document is, with the ending of the path. So the
// examples name runs.csv.
func beside(file string) func(path string) (*diag.Source, error) {
	read := document.Beside(file)
	return func(path string) (*diag.Source, error) {
		if src, err := read(path); err == nil {
			return src, nil
		}
		own := strings.TrimSuffix(filepath.Base(file), ".json") + filepath.Ext(path)
		src, err := read(own)
		if err != nil {
			return nil, errors.New("there is no such file")
		}
		return diag.NewSource(path, src.Text), nil
	}
}

// loadSource loads a file of any kind, those of operations that no file holds too.
func loadSource(src *diag.Source, p *document.Platform, read func(string) (*diag.Source, error)) (*document.File, diag.List) {
	root, _ := jsontree.Parse(src)
	if kind := operation(root); kind != "" && !document.IsYAML(src) {
		return &document.File{Source: src, Root: root, Kind: kind, Requests: []*jsontree.Node{root}}, nil
	}
	return document.Load(src, document.Options{Platform: p, Read: read, Find: findingBy(read), Hosts: true})
}

// findingBy finds what can be read.
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

// operation knows a request of an operation that no file holds.
func operation(root *jsontree.Node) document.Kind {
	switch {
	case root.Get("jobId") != nil && root.Get("reason") != nil:
		return cancelJob
	case root.Get("jobs").Index(0).Is(jsontree.String):
		return describeJobs
	}
	return ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func byRule(l diag.List, rule string) (of diag.List) {
	for _, d := range l {
		if d.Rule == rule {
			of = append(of, d)
		}
	}
	return of
}

func TestEveryRuleFindsItsBadExample(t *testing.T) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			found, problems := find(t, "err", r.Name)
			found = Settle(append(found, problems...))
			found.Sort()
			for _, d := range found {
				if generic(d) && r.Name != "jobdef-unknown-member" {
					t.Errorf("the schema speaks beside the rule: %v", d)
				}
			}
			if len(byRule(found, r.Name)) == 0 {
				t.Errorf("not found; found are %v", found)
			}
			var b strings.Builder
			for _, d := range found {
				b.WriteString(d.Error() + "\n")
				if d.Hint != "" {
					b.WriteString("  hint: " + d.Hint + "\n")
				}
			}
			golden(t, filepath.Join("testdata", "err", r.Name+".out"), b.String())
		})
	}
}

func TestNoRuleFindsItsGoodTwin(t *testing.T) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			found, problems := find(t, "ok", r.Name)
			if len(byRule(found, r.Name)) > 0 || found.HasErrors() || len(problems) > 0 {
				t.Errorf("found %v %v", found, problems)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// A file in testdata that belongs to no rule would never be looked at.
func TestEveryExampleBelongsToARule(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Documented() {
		known[r.Name] = true
	}
	for _, dir := range []string{"err", "ok"} {
		entries, err := os.ReadDir(filepath.Join("testdata", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if rule, _, _ := strings.Cut(e.Name(), "."); !known[rule] {
				t.Errorf("%s/%s: no such rule", dir, e.Name())
			}
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
