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
	all = withoutFollowers(withoutUnfilled(all))
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

// isBare reports whether a problem is a placeholder without quotes, which makes the text no JSON.
func isBare(d diag.Diagnostic) bool {
	return d.Rule == jsontree.RulePlaceholder && d.Source != nil && !strings.HasPrefix(d.Source.Text[d.Span.Start:],
		`"`)
}

// withoutUnfilled removes the other problems of requests that are not filled in, if one of them is an error: most are
// about empty values, and AWS would reject the request.
func withoutUnfilled(all diag.List) diag.List {
	rejected := map[*diag.Source]bool{} // the skeletons, and whether one of their other problems is an error
	for _, d := range all {
		if d.Rule == document.RuleSkeleton {
			rejected[d.Source] = false
		}
	}
	if len(rejected) == 0 {
		return all
	}
	isOther := func(d diag.Diagnostic) bool {
		_, ok := rejected[d.Source]
		return ok && d.Rule != document.RuleSkeleton && d.Rule != jsontree.RuleSyntax
	}
	for _, d := range all {
		if isOther(d) && d.Severity == diag.Error {
			rejected[d.Source] = true
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(d diag.Diagnostic) bool { return rejected[d.Source] && isOther(d) })
	for i, d := range all {
		if d.Rule == document.RuleSkeleton && rejected[d.Source] {
			all[i].Severity = diag.Error
		}
	}
	return all
}

// withoutFollowers removes the other problems of a value that is unknown, such as one that contains a placeholder. If
// one of them was an error, AWS would certainly reject the text, so the placeholder is an error. A warning about the
// member itself is also removed; an error stays, because it does not depend on the value.
func withoutFollowers(all diag.List) diag.List {
	values := map[*diag.Source][]int{} // of placeholders, as indices
	for i, d := range all {
		if isUnknown(d) && d.Source != nil {
			values[d.Source] = append(values[d.Source], i)
		}
	}
	if len(values) == 0 {
		return all
	}
	all = slices.Clone(all)
	follows := make([]bool, len(all))
	for i, d := range all {
		for _, v := range values[d.Source] {
			value := &all[v]
			switch {
			case isUnknown(d), d.Whole:
			case value.Rule == jsontree.RuleSyntax && d.Span.Start < value.Span.Start &&
				strings.TrimSpace(d.Source.Text[d.Span.Start:value.Span.Start]) == "[":
				follows[i] = true // what the array should be is as uncertain as its first element
			case inText(value.Span, d), d.Span.Start >= value.Span.Start && d.Span.Start < value.Span.End:
				follows[i] = true
				value.Severity = min(value.Severity, d.Severity)
			case d.Severity == diag.Warning && d.Span.End <= value.Span.Start && isKey(d, value.Span.Start):
				follows[i] = true
			}
		}
	}
	i := -1
	return slices.DeleteFunc(all, func(diag.Diagnostic) bool { i++; return follows[i] })
}

// isUnknown reports whether a problem is that a value cannot be known: a placeholder, or a text that the
// parser cannot read.
func isUnknown(d diag.Diagnostic) bool {
	return d.Rule == jsontree.RulePlaceholder || d.Rule == jsontree.RuleSyntax && d.Fix == nil && !jsontree.IsComment(d)
}

// inText reports whether a problem is about a text in quotes, of which the parser cannot read a part.
func inText(part diag.Span, d diag.Diagnostic) bool {
	return d.Span.Start < part.Start && part.End <= d.Span.End && d.Source.Text[d.Span.Start] == '"'
}

// isKey reports whether a problem is at the name of the member whose value begins at an offset. Unknown names stay.
func isKey(d diag.Diagnostic, value int) bool {
	return strings.TrimSpace(d.Source.Text[d.Span.End:value]) == ":" && !generic(d) && d.Rule != "jobdef-unknown-member"
}

// withoutGuesses removes the fixes of rules in a text with a syntax error, because its
// tree is a guess. If --fix can fix the syntax, the fixes keep their names without edits: it
// applies them afterwards. A comment is no such error, but no fix may touch it.
func withoutGuesses(all diag.List) diag.List {
	slips := map[*diag.Source]bool{} // whether each has a fix
	comments := map[*diag.Source]diag.List{}
	for _, d := range all {
		if jsontree.IsComment(d) {
			comments[d.Source] = append(comments[d.Source], d)
		} else if d.Rule == jsontree.RuleSyntax || isBare(d) {
			fixable, seen := slips[d.Source]
			slips[d.Source] = (fixable || !seen) && d.Fixable()
		}
	}
	for i, d := range all {
		fixable, broken := slips[d.Source]
		if d.Fixable() && jsontree.TouchesComment(comments[d.Source], d.Fix) {
			fix := *d.Fix
			fix.Class = diag.Loss // of the comment
			all[i].Fix, d.Fix = &fix, &fix
		}
		switch {
		case !broken || d.Rule == jsontree.RuleSyntax || d.Fix == nil:
		case fixable:
			all[i].Fix = &diag.Fix{Message: d.Fix.Message, Class: d.Fix.Class}
		default:
			all[i].Fix = nil
		}
	}
	return all
}

// generic reports whether a problem comes from the schema, which knows no reasons.
func generic(d diag.Diagnostic) bool {
	switch d.Rule {
	case document.RuleUnknownMember, document.RuleMissingMember, document.RuleWrongType, document.RuleBadValue,
		document.RuleNewerValue:
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
