package lint

import (
	"regexp"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Rules read only the native form. These tests check that this is enough: each bad example
// is found in the other form too, at the same text.

// nativeOnly lists the rules that the wrapping makes useless: a member that the compact
// job adds is not missing, a submission resolves references, names of definitions are not
// those of submitJob, intermediate jobs replace many dependencies, and batchctl sends the request, which takes whole
// numbers in any form.
var nativeOnly = []string{"ref-without-default", "jobdef-name-required", "jobdef-type-required", "jobdef-container-needs-block", "container-image-required",
	"jobdef-multinode-needs-nodeproperties", "submit-required", "submit-size-max", "submit-jobdefinition-format", "submit-arn-region-mismatch", "dep-max-20",
	"whole-number-form"}

// The native example is inside a compact job's jobDefinition or submitJob.
func TestNativeExamplesInsideACompactJob(t *testing.T) {
	n := 0
	for _, r := range Rules() {
		text := example(t, r.Name).Bad[0].Text
		f, _ := document.Load(diag.NewSource("native.json", text), document.Options{Hosts: true})
		native := byRule(Check([]*document.File{f}, nil, Rules()), r.Name)
		wrapped := wrap(f, text)
		if wrapped == "" || len(native) == 0 || slices.Contains(nativeOnly, r.Name) {
			continue // another kind, or one that needs a second document, or that a submission makes worse
		}
		n++
		c, diags := document.Load(diag.NewSource("compact.json", wrapped), document.Options{})
		found := Check([]*document.File{c}, nil, Rules())
		for _, d := range Settle(append(diags, found...)) {
			if generic(d) {
				t.Errorf("%s: %v", r.Name, d)
			}
		}
		compact := byRule(found, r.Name)
		if len(compact) != len(native) {
			t.Errorf("%s: %d findings inside a compact job, %d in the native request", r.Name, len(compact), len(native))
			continue
		}
		for i := range native {
			if at(native[i]) != at(compact[i]) {
				t.Errorf("%s: at %q in the native request, at %q inside a compact job", r.Name, at(native[i]), at(compact[i]))
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d examples were wrapped", n)
	}
}

var definitionMember = regexp.MustCompile(`"jobDefinition": "[^"]*"`)

func wrap(f *document.File, text string) string {
	switch f.Kind {
	case document.KindJobDefinition:
		return `{ "name": "train", "jobDefinition": ` + text + ` }`
	case document.KindSubmitJob:
		text = definitionMember.ReplaceAllString(text, `"$$comment": "train"`)
		return `{ "name": "train", "definition": "train", "submitJob": ` + text + ` }`
	}
	return ""
}

func at(d diag.Diagnostic) string { return d.Source.Text[d.Span.Start:d.Span.End] }

// The requests of a compact example break the rule as native files too.
func TestCompactExamplesLowered(t *testing.T) {
	n := 0
	for _, r := range Rules() {
		bad := example(t, r.Name).Bad
		f, _ := document.Load(diag.NewSource("compact.json", bad[0].Text), document.Options{Hosts: true})
		// A name's two rules become one in the compact form; a queue that is named
		// natively is taken unchanged; dependencies by name are of the compact form, and
		// so are waivers, arrays that differ, inputs and outputs, which AWS does not know.
		if f.Kind != document.KindJob || r.Name == "submit-queue-exists" || r.Scope == waiverTopic || r.Scope == "staging" || r.Source == ourArrays || r.Source == ourWhen || r.Scope == "ladder" {
			continue
		}
		_, platform, _ := loadRun(t, bad)
		n++
		var natives []*document.File
		for _, request := range []*jsontree.Node{f.Jobs[0].Register, f.Jobs[0].Submit} {
			native, _ := document.Load(diag.NewSource("native.json", string(request.AppendJSON(nil))), document.Options{})
			natives = append(natives, native)
		}
		if found := Check(natives, platform, Rules()); len(byRule(found, r.Name)) == 0 {
			t.Errorf("%s: not found in the lowered requests, only %v", r.Name, found)
		}
	}
	if n < 40 {
		t.Errorf("only %d examples were lowered", n)
	}
}
