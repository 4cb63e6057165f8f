package lint

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// spelledEdit matches a hint that spells out one edit, with or without a reason after it.
var spelledEdit = regexp.MustCompile(`^write ([-0-9"\[{].*|true|false|null)$|^add ("[^"]+": |[{\[])|^remove (it|this|the)\b|^(rename|move) (it|to)\b`)

// authorsChoice matches what makes an edit the choice of the author: alternatives, a condition, an example or a gap.
var authorsChoice = regexp.MustCompile(`\b(or|either|one of|if|unless|such as|for|also|instead)\b|\.\.\.|<`)

// notEdited are the rules whose hints spell out edits that --fix and editors do not make, with the reason.
var notEdited = map[string]string{
	"ladder-topics": "the tag may be in the platform file",
	"cfn-":          "templates are not edited: what they mean depends on CloudFormation",
	"launch-":       "the settings of hosts are in templates, in scripts and in encoded texts",
	"userdata-":     "scripts are not JSON",
	"json-syntax":   "an edit that does not help is not offered; see jsontree.proven",
	"placeholder":   "another program completes the text",
}

// spellsEdit reports whether a hint reads like an edit that a tool can make.
func spellsEdit(d diag.Diagnostic) bool {
	if !spelledEdit.MatchString(d.Hint) || authorsChoice.MatchString(outsideQuotes(d.Hint)) || strings.Contains(d.Hint, "...") || strings.Contains(d.Hint, "<") {
		return false
	}
	for rule := range notEdited {
		if strings.HasPrefix(d.Rule, rule) {
			return false
		}
	}
	return true
}

// checkSpelled fails for a problem whose hint spells out an edit, unless it has a fix that solves it without a new
// error. A member that gets its right name is the exception: what it contains is checked only then. Again checks the
// documents with another text of the problem's document.
func checkSpelled(t *testing.T, found diag.List, again func(src *diag.Source, text string) diag.List) {
	t.Helper()
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Rule == jsontree.RuleSyntax }) {
		return // the syntax comes first
	}
	before, _ := found.Count()
	for _, d := range found {
		if d.Source == nil || d.Waived != nil || !spellsEdit(d) || filepath.Ext(d.Source.Name) != ".json" {
			continue
		}
		text, n := diag.Apply(d.Source, diag.List{d})
		if n == 0 {
			t.Errorf("%v: the hint %q spells out an edit, and there is no fix", d, d.Hint)
			continue
		}
		after := again(d.Source, text)
		if errors, _ := after.Count(); errors > before && d.Rule != "jobdef-unknown-member" || d.Severity == diag.Error && d.Fix.Class == diag.Automatic && errors == before && len(byRule(after, d.Rule)) >= len(byRule(found, d.Rule)) {
			t.Errorf("%v: %q leaves %v\n%s", d, d.Fix.Message, after, text)
		}
	}
}

// A hint that reads like an edit is one: it has a fix, which does that. Otherwise it must say that the author decides.
func TestHintsAreFixes(t *testing.T) {
	for _, e := range examples.All() {
		t.Run(e.Rule, func(t *testing.T) {
			checkSpelled(t, problemsIn(t, e.Bad, e.Rule), func(src *diag.Source, text string) diag.List {
				files := slices.Clone(e.Bad)
				for i := range files {
					if files[i].Name == src.Name {
						files[i].Text = text
					}
				}
				return problemsIn(t, files, e.Rule)
			})
		})
	}
	checkTexts := func(t *testing.T, names, texts []string) {
		check := func(texts []string) diag.List {
			files, platform, problems := loadTexts(names, texts)
			return Settle(append(problems, Check(files, platform, Rules())...))
		}
		checkSpelled(t, check(texts), func(src *diag.Source, text string) diag.List {
			texts := slices.Clone(texts)
			for i, name := range names {
				if name+".json" == src.Name {
					texts[i] = text
				}
			}
			return check(texts)
		})
	}
	for _, e := range examples.All() {
		eachVariant(e, func(_ int, v variant) {
			if v.bad {
				names, texts := v.texts(t)
				checkTexts(t, names, texts)
			}
		})
	}
	for _, a := range golden.Cases(t, "../document/testdata/problems.txtar") {
		for _, name := range a.Names("*.json") {
			checkTexts(t, []string{"t"}, []string{a.Text(t, name)})
		}
	}
}

// One object is missing, so one hint adds it; the others say that they mean the same object.
func TestOneHintForEachObject(t *testing.T) {
	const rest = `"name": "a", "image": "b:1", "timeout": "1h"`
	const native = `"jobDefinitionName": "a", "type": "container", "timeout": { "attemptDurationSeconds": 60 }`
	for text, want := range map[string][]string{
		`{ ` + rest + `, "command": ["x"] }`:                                                               {`add "resources": { "vcpus": 1, "memory": "2 GiB" }`},
		`{ ` + rest + `, "command": ["x"], "resources": { "vcpus": 1 } }`:                                  {`add "memory": "2 GiB" to "resources"`},
		`{ ` + native + `, "containerProperties": { "image": "b:1" } }`:                                    {`add "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }]`},
		`{ ` + native + `, "eksProperties": { "podProperties": { "containers": [{ "image": "b:1" }] } } }`: {`add "resources": { "limits": { "cpu": "1", "memory": "1024Mi" } }`},
		`{ ` + rest + `, "command": ["x", "Ref::a", "Ref::b"], "resources": { "vcpus": 1, "memory": 512 } }`: {
			`add "b": "..." to the same "parameters"`, `add "parameters": { "a": "..." }`},
		`{ ` + rest + `, "onFailure": [{ "exitCodes": { "codes": [3] } }], "resources": { "vcpus": 1, "memory": 512 } }`: {`add "attempts", such as 2`},
	} {
		var got []string
		for _, d := range alone(t, text) {
			if d.Severity == diag.Error {
				got = append(got, d.Hint)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}

// A placeholder in the name hides nothing that is about the whole job.
func TestPlaceholderInName(t *testing.T) {
	platform, _ := document.Load(diag.NewSource("batchctl.json", `{ "policy": { "requiredTags": ["Team"] } }`), document.Options{Kind: document.KindPlatform})
	c := checkText(`{ "name": "n<b>", "image": "b:1", "command": ["x"], "resources": { "vcpus": 1, "memory": 512 }, "timeout": "1h" }`, platform.Platform)
	for _, rule := range []string{"policy-required-tags", jsontree.RulePlaceholder} {
		if len(byRule(c.problems, rule)) != 1 {
			t.Errorf("%s: found %v", rule, c.problems)
		}
	}
}
