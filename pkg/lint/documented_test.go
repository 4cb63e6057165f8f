package lint

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/schemas"
)

func TestDocumentRulesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Documented() {
		if seen[r.Name] || !strings.HasSuffix(r.Doc, ".") || r.Source == "" || r.Confidence == "" || r.Scope == "" {
			t.Errorf("%s: doc %q, source %q, confidence %q, scope %q", r.Name, r.Doc, r.Source, r.Confidence, r.Scope)
		}
		seen[r.Name] = true
		if of, ok := Lookup(r.Name); !ok || of.Name != r.Name {
			t.Errorf("Lookup(%s) finds %s", r.Name, of.Name)
		}
	}
	if _, ok := Lookup("no-such-rule"); ok {
		t.Error("a rule that is not there is found")
	}
}

// A former name leads to a rule that exists, and is the name of no other.
func TestFormerNames(t *testing.T) {
	for former, current := range formerNames {
		if r, ok := Lookup(former); !ok || r.Name != current || !slices.Contains(FormerNames(r.Name), former) {
			t.Errorf("%s leads to %q, want %s", former, r.Name, current)
		}
		if i, taken := byName()[former]; taken {
			t.Errorf("%s is also the rule %v", former, documented()[i].Name)
		}
	}
}

// Every problem of the test files of the lower packages has an entry.
func TestEveryProblemIsOfADocumentedRule(t *testing.T) {
	rules := map[string]bool{}
	hold := func(name, text string, read func(string) (*diag.Source, error)) {
		f, problems := document.Load(diag.NewSource(name, text), document.Options{Read: read, Find: findingBy(read), Hosts: true})
		if f != nil {
			problems = append(problems, Check([]*document.File{f}, f.Platform, Rules())...)
		}
		if f != nil && !problems.HasErrors() {
			_, more := plan.Build([]*document.File{f}, nil, plan.Options{})
			problems = append(problems, more...)
		}
		for _, d := range problems {
			if _, ok := Lookup(d.Rule); !ok {
				t.Errorf("%s: %s has no entry", name, d.Rule)
			}
			rules[d.Rule] = true
		}
	}
	for _, e := range examples.All() {
		for _, f := range e.Bad.Documents() {
			hold(f.Name, f.Text, fileIn(e.Bad))
		}
	}
	tables := golden.Read(t, "../document/testdata/tables.txtar")
	documents := slices.Concat(golden.Cases(t, "../document/testdata/problems.txtar"), golden.Cases(t, "../document/testdata/lower.txtar"), golden.Cases(t, "../document/testdata/describe.txtar"))
	for _, a := range documents {
		dir := t.TempDir()
		tables.Extract(t, dir)
		a.Extract(t, dir)
		for _, name := range a.Names("*.json") {
			name = filepath.Join(dir, name)
			hold(name, read(t, name), document.SiblingReader(name))
		}
	}
	for _, a := range golden.Glob(t, "../plan/testdata/requests/*.txtar") {
		for _, name := range a.Names("*.json") {
			hold(name, a.Text(t, name), nil)
		}
	}
	for _, pattern := range []string{"../jsontree/testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			hold(name, read(t, name), document.SiblingReader(name))
		}
	}
	for _, r := range documentRules() {
		if !rules[r.Name] {
			t.Errorf("%s is never reported", r.Name)
		}
	}
}

// A link of a source leads to a page of AWS: of an operation, or of a structure of the
// model.
func TestLinksOfSources(t *testing.T) {
	native, err := schemas.FS.ReadFile("native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	client := reflect.TypeFor[*awsbatch.Client]()
	hasPage := func(shape string) bool {
		_, operation := client.MethodByName(shape)
		return operation || bytes.Contains(native, []byte("/API_"+shape+`.html"`))
	}
	linked := 0
	for _, r := range Documented() {
		for _, l := range r.Links() {
			rest, isAPI := strings.CutPrefix(l.Text, apiReference+", ")
			shape := rest[:len(rest)-len(strings.TrimLeft(rest, letters))]
			switch {
			case isAPI && hasPage(shape) != (l.URL != ""):
				t.Errorf("%s: %s has a page: %v, its link is %q", r.Name, shape, hasPage(shape), l.URL)
			case strings.HasPrefix(l.Text, userGuide) && l.URL == "":
				t.Errorf("%s: which page is %q?", r.Name, l.Text)
			}
			if l.URL != "" {
				linked++
			}
		}
	}
	if linked < 300 {
		t.Errorf("only %d links", linked)
	}
}
