package jsontree

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
)

// maxProven is the length, in bytes, up to which fixes are tried one by one.
const maxProven = 64 << 10

// proven returns the fixes that are known to help. A fix is a guess, and in a badly broken
// text a guess can break more than it fixes. So proven applies the edits and parses the
// text again. Together, the remaining fixes leave fewer slips.
func proven(src *diag.Source, list diag.List) diag.List {
	if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Fix != nil }) {
		return list
	}
	best := remains(src, list)
	if left := remainsAfter(src, list); left.less(best) {
		return list
	}
	kept := slices.Clone(list)
	for i := range kept {
		kept[i].Fix = nil
	}
	for i, d := range list {
		if d.Fix == nil || len(src.Text) > maxProven {
			continue
		}
		kept[i].Fix = d.Fix
		if left := remainsAfter(src, kept); left.less(best) {
			best = left
		} else {
			kept[i].Fix = nil
		}
	}
	return kept
}

// withFixes returns the text with its fixes applied, its tree, and its slips.
func withFixes(src *diag.Source, list diag.List) (*Node, *diag.Source, diag.List) {
	text, _ := diag.Apply(src, list)
	src = diag.NewSource(src.Name, text)
	p := newParser(src, text)
	var root *Node
	if p.plausible() {
		root, _ = p.document()
	}
	return root, src, p.list
}

// remainsAfter returns what is wrong with a text once the fixes of the list are applied.
func remainsAfter(src *diag.Source, list diag.List) remaining {
	_, next, left := withFixes(src, list)
	return remains(next, left)
}

// remaining measures how much of a text is wrong.
type remaining struct {
	// unread is the length of the text after the slip at which the parser stopped.
	unread int
	slips  int
	// comments counts the slips that are comments.
	comments int
	// twice counts duplicate names. They are not slips, because only the user knows which
	// one is right.
	twice int
}

// remains summarises the problems of a text.
func remains(src *diag.Source, list diag.List) (r remaining) {
	for _, d := range list {
		switch d.Rule {
		case RuleSyntax, RulePlaceholder:
			r.slips++
			if IsComment(d) {
				r.comments++
			}
		case RuleDuplicate:
			r.twice++
		}
		if d.Message == tooMany {
			r.unread = len(src.Text) - d.Span.Start
		}
	}
	return r
}

func (r remaining) less(o remaining) bool {
	return r.unread < o.unread || r.unread == o.unread && r.slips < o.slips
}
