package lint

import (
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/examples"
)

// apply applies the edits of a fix.
func apply(text string, f *diag.Fix) string {
	edits := slices.SortedFunc(slices.Values(f.Edits), func(a, b diag.Edit) int { return b.Span.Start - a.Span.Start })
	for _, e := range edits {
		text = text[:e.Span.Start] + e.Text + text[e.Span.End:]
	}
	return text
}

// Every fix of every bad example leaves JSON, and one problem fewer of its rule.
func TestFixesMend(t *testing.T) {
	fixes := map[string]bool{}
	for _, r := range Rules() {
		bad := example(t, r.Name).Bad
		text := bad[0].Text
		for _, d := range fixable(t, bad) {
			fixes[d.Rule] = true
			fixed := apply(text, d.Fix)
			root, problems := jsontree.Parse(diag.NewSource("fixed.json", fixed))
			if root == nil || len(problems) > 0 {
				t.Errorf("%s: %s breaks the text: %v\n%s", d.Rule, d.Fix.Message, problems, fixed)
				continue
			}
			if before, after := len(byRule(alone(t, text), d.Rule)), len(byRule(alone(t, fixed), d.Rule)); after >= before {
				t.Errorf("%s: %s leaves %d of %d problems\n%s", d.Rule, d.Fix.Message, after, before, fixed)
			}
		}
	}
	if len(fixes) < 100 {
		t.Errorf("only %d rules have a fix", len(fixes))
	}
}

// fixable returns the problems of one file that have a fix, without those that involve
// another file.
func fixable(t *testing.T, bad examples.Files) diag.List {
	if !isSingle(bad) {
		return nil
	}
	return slices.DeleteFunc(alone(t, bad[0].Text), func(d diag.Diagnostic) bool { return d.Fix == nil || generic(d) })
}

func alone(t *testing.T, text string) diag.List {
	t.Helper()
	f, problems := loadSource(diag.NewSource("t.json", text), nil, nil)
	if f == nil {
		t.Fatal(problems)
	}
	return Settle(append(problems, Check([]*document.File{f}, nil, Rules())...))
}

// After the removal of any member or element, and after any insertion, the text is JSON
// with one child fewer or more.
func TestEditsKeepJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blank := rapid.SampledFrom([]string{"", " ", "\n  ", "\t", "\r\n "})
		n := rapid.IntRange(1, 4).Draw(t, "children")
		object := rapid.Bool().Draw(t, "object")
		text := map[bool]string{true: "{", false: "["}[object]
		for i := range n {
			if i > 0 {
				text += blank.Draw(t, "blank") + ","
			}
			text += blank.Draw(t, "blank")
			if object {
				text += `"k` + string(rune('a'+i)) + `"` + blank.Draw(t, "blank") + ":" + blank.Draw(t, "blank")
			}
			text += rapid.SampledFrom([]string{"1", `"a,b"`, "{}", "[1, 2]", "null"}).Draw(t, "value")
		}
		text += blank.Draw(t, "blank") + map[bool]string{true: "}", false: "]"}[object]
		root, problems := jsontree.Parse(diag.NewSource("t.json", text))
		if len(problems) > 0 {
			t.Fatal(text, problems)
		}
		site := Site{Job: Job{Job: &document.Job{Node: root}, userFile: userFile{&document.File{Kind: document.KindJobDefinition}}}}
		pick := rapid.IntRange(0, n-1).Draw(t, "pick")
		i := 0
		for c := range root.Children() {
			if i++; i-1 == pick {
				same(t, apply(text, site.remove(c)), n-1)
			}
		}
		added := "7"
		if object {
			added = `"new": 7`
		}
		same(t, apply(text, site.insert(root, added)), n+1)
	})
}

func same(t *rapid.T, text string, children int) {
	root, problems := jsontree.Parse(diag.NewSource("t.json", text))
	if len(problems) > 0 || root.Len() != children {
		t.Fatalf("%q: %d children, want %d; %v", text, root.Len(), children, problems)
	}
}

// A fix is for the text that it edits, or for none.
func TestFixesStayInside(t *testing.T) {
	for _, e := range examples.All() {
		for _, f := range e.Bad {
			if filepath.Ext(f.Name) != ".json" {
				continue
			}
			for _, d := range alone(t, f.Text) {
				if d.Fix == nil {
					continue
				}
				for _, edit := range d.Fix.Edits {
					if edit.Span.Start < 0 || edit.Span.End < edit.Span.Start || edit.Span.End > len(f.Text) {
						t.Errorf("%s: %s edits %v of %d bytes", e.Rule, d.Rule, edit.Span, len(f.Text))
					}
				}
			}
		}
	}
}

// A definition for Fargate without platformCapabilities is reported, and keeps its members
// for Fargate.
func TestFargateForgotten(t *testing.T) {
	for _, member := range []string{
		`"networkConfiguration": { "assignPublicIp": "ENABLED" }`,
		`"fargatePlatformConfiguration": { "platformVersion": "1.4.0" }`,
		`"runtimePlatform": { "cpuArchitecture": "ARM64" }`,
		`"networkConfiguration": { "assignPublicIp": "ENABLED" }, "ephemeralStorage": { "sizeInGiB": 30 }`,
	} {
		text := `{ "jobDefinitionName": "d", "type": "container", "timeout": { "attemptDurationSeconds": 60 }, "containerProperties": { "image": "a:1",
			"executionRoleArn": "arn:aws:iam::123456789012:role/e", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }], ` + member + ` } }`
		found := alone(t, text)
		fixed, _ := diag.Apply(found[0].Source, found)
		if want := text[:len(text)-2] + `, "platformCapabilities": ["FARGATE"] }`; len(found) != 1 || fixed != want {
			t.Errorf("%v\nbecame %s", found, fixed)
		}
	}
}
