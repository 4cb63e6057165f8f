package lint

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func TestSettle(t *testing.T) {
	src, other := diag.NewSource("a.json", "{}"), diag.NewSource("b.json", "{}")
	at := func(rule string, s *diag.Source, start int, message string) diag.Diagnostic {
		return diag.Diagnostic{Rule: rule, Source: s, Span: diag.Span{Start: start, End: start + 1}, Message: message}
	}
	warning := func(d diag.Diagnostic) diag.Diagnostic { d.Severity = diag.Warning; return d }
	waived := func(d diag.Diagnostic) diag.Diagnostic { d.Waived = &diag.Waiver{Reason: "agreed"}; return d }
	for _, tt := range []struct {
		name string
		all  diag.List
		want []string
	}{
		{"the rule wins", diag.List{at(document.RuleWrongType, src, 1, "x"), at("r", src, 1, "y")}, []string{"r"}},
		{"elsewhere it does not", diag.List{at(document.RuleWrongType, src, 0, "x"), at("r", src, 1, "y")}, []string{document.RuleWrongType, "r"}},
		{"nor in another file", diag.List{at(document.RuleWrongType, src, 1, "x"), at("r", other, 1, "y")}, []string{document.RuleWrongType, "r"}},
		{"nor does a warning", diag.List{at(document.RuleBadValue, src, 1, "x"), warning(at("r", src, 1, "y"))}, []string{document.RuleBadValue, "r"}},
		{"nor does a waived problem", diag.List{at(document.RuleBadValue, src, 1, "x"), waived(at("r", src, 1, "y"))}, []string{document.RuleBadValue, "r"}},
		{"but a waived warning stands for a warning", diag.List{warning(at(document.RuleUnknownMember, src, 1, "x")), warning(waived(at("r", src, 1, "y")))}, []string{"r"}},
		{"the member is named", diag.List{at(document.RuleMissingMember, src, 0, `missing member "type"`), at("r", src, 0, "this needs type")}, []string{"r"}},
		{"another member is not", diag.List{at(document.RuleMissingMember, src, 0, `missing member "name"`), at("r", src, 0, "this needs type")}, []string{document.RuleMissingMember, "r"}},
		{"one of two is not enough", diag.List{at(document.RuleMissingMember, src, 0, `missing members "name" and "type"`), at("r", src, 0, "this needs type")}, []string{document.RuleMissingMember, "r"}},
		{"two rules are", diag.List{at(document.RuleMissingMember, src, 0, `missing members "name" and "type"`), at("r", src, 0, "this needs type"), at("s", src, 0, "this needs name")}, []string{"r", "s"}},
		{"rules stay beside each other", diag.List{at("r", src, 0, "x"), at("s", src, 0, "y")}, []string{"r", "s"}},
		{"a value that cannot be read has no other problem", diag.List{at(jsontree.RuleSyntax, src, 0, "x"), at("r", src, 0, "y"), at("s", src, 1, "z")}, []string{jsontree.RuleSyntax, "s"}},
		{"an unfilled request has no other problem", diag.List{at("r", src, 0, "x"), at(document.RuleSkeleton, src, 1, "y"), warning(at("s", src, 1, "z")), at("r", other, 0, "x")}, []string{document.RuleSkeleton, "r"}},
		{"unless nothing is wrong with it", diag.List{warning(at(document.RuleSkeleton, src, 1, "y")), warning(at("s", src, 1, "z"))}, []string{document.RuleSkeleton, "s"}},
		{"the kind of a document stays", diag.List{at(document.RuleDocumentKind, src, 0, "x"), at("s", src, 0, "y")}, []string{document.RuleDocumentKind, "s"}},
	} {
		before := slices.Clone(tt.all)
		var got []string
		for _, d := range Settle(tt.all) {
			got = append(got, d.Rule)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if d := cmp.Diff(len(before), len(tt.all)); d != "" || before[0].Rule != tt.all[0].Rule {
			t.Errorf("%s: the list was changed", tt.name)
		}
	}
	if Settle(nil) != nil {
		t.Error("something of nothing")
	}
}
