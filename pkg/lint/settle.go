package lint

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Settle removes problems of the schema if a rule reports the same mistake: at the same
// location, or at the object that lacks the member. The rule's message is more precise,
// and one mistake is one problem. A warning does not replace an error, and neither does a
// waived problem. In a text with syntax errors, only syntax errors keep their
// fixes.
func Settle(all diag.List) diag.List {
	type start struct {
		source *diag.Source
		offset int
	}
	// special holds the problems of rules, by the start of their span.
	special := map[start]diag.List{}
	for _, d := range all {
		if !generic(d) && d.Source != nil {
			at := start{d.Source, d.Span.Start}
			special[at] = append(special[at], d)
		}
	}
	return withoutGuesses(slices.DeleteFunc(slices.Clone(all), func(d diag.Diagnostic) bool {
		return generic(d) && covered(d, special[start{d.Source, d.Span.Start}])
	}))
}

// withoutGuesses removes the fixes of rules in a text with a syntax error, because its
// tree is a guess. Once the syntax is fixed, the problem has its fix again.
func withoutGuesses(all diag.List) diag.List {
	slips := map[*diag.Source]bool{}
	for _, d := range all {
		if d.Rule == jsontree.RuleSyntax {
			slips[d.Source] = true
		}
	}
	for i, d := range all {
		if slips[d.Source] && d.Rule != jsontree.RuleSyntax {
			all[i].Fix = nil
		}
	}
	return all
}

// generic reports whether a problem comes from the schema, which knows no reasons.
func generic(d diag.Diagnostic) bool {
	switch d.Rule {
	case document.RuleUnknownMember, document.RuleMissingMember, document.RuleWrongType, document.RuleBadValue:
		return true
	}
	return false
}

// quoted matches a text in quotes; its group is the text.
var quoted = lazy(`"([^"]+)"`)

// covered reports whether the problems of rules include the generic one.
func covered(d diag.Diagnostic, by diag.List) bool {
	by = slices.DeleteFunc(slices.Clone(by), func(s diag.Diagnostic) bool {
		return s.Severity > d.Severity || s.Waived != nil && d.Severity == diag.Error
	})
	if d.Rule != document.RuleMissingMember {
		return len(by) > 0
	}
	// Several rules may report the same brace: each missing member must be named.
	for _, m := range quoted().FindAllStringSubmatch(d.Message, -1) {
		if !slices.ContainsFunc(by, func(s diag.Diagnostic) bool { return strings.Contains(s.Message, m[1]) }) {
			return false
		}
	}
	return len(by) > 0
}
