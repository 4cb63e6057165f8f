package jsontree

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Repair applies the automatic fixes of a document. It returns the new text and the
// problems whose fixes are in it. validate --fix and editors get their fixes only from
// here. It does not rely on the classes of fixes alone:
//
//   - In a text with a slip of syntax, only slips are fixed. What the parser guessed after
//     a slip does not justify other edits. A comment is no such slip: it stays, and no edit
//     touches it.
//   - A fix of a slip keeps the letters and digits of the text that it replaces.
//   - After any other fix, every scalar of the text still exists, unchanged or in another
//     spelling. A fix that respells a value replaces only that value.
//   - Text with a placeholder of a template engine stays unchanged.
//   - Two fixes can each be right and yet be wrong together, such as two that add the same
//     member. The new text is parsed. Of fixes that would add a slip, lose a scalar or
//     repeat a name, the later ones wait for the next round.
func Repair(src *diag.Source, list diag.List) (text string, applied diag.List) {
	var slips, others diag.List
	for _, d := range list {
		switch {
		case d.Fix == nil || d.Source != src || d.Fix.Class != diag.Automatic:
		case d.Rule == RuleSyntax:
			slips = append(slips, d)
		default:
			others = append(others, d)
		}
	}
	if len(slips)+len(others) == 0 {
		return src.Text, nil
	}
	root, found := Parse(src)
	before := remains(src, found)
	var kept diag.List
	if before.slips > before.comments {
		// Another program completes this text, so even its syntax is not final.
		if unrendered(src, found) {
			return src.Text, nil
		}
		kept, _ = helpful(src, before, nil,
			slices.DeleteFunc(slips, func(d diag.Diagnostic) bool { return !keepsLetters(src, d) }))
	} else {
		counted := scalars(root)
		for _, d := range others {
			forgive(counted, d)
		}
		kept = keep(src, before, counted, nil, slices.DeleteFunc(others, func(d diag.Diagnostic) bool {
			return touchesPlaceholder(root, d) || TouchesComment(found, d.Fix)
		}))
	}
	applied, _ = diag.Applied(src, kept)
	text, _ = diag.Apply(src, kept)
	return text, applied
}

// helpful returns the kept fixes together with those of more that leave fewer slips; best
// is what remains with the kept ones. A fix without effect would be repeated in every
// round.
func helpful(src *diag.Source, best remaining, kept, more diag.List) (diag.List, remaining) {
	if len(more) == 0 {
		return kept, best
	}
	all := slices.Concat(kept, more)
	left := remainsAfter(src, all)
	switch {
	// The parser reads further, or each of the fixes helps.
	case left.unread < best.unread, left.less(best) && best.slips-left.slips >= len(more):
		return all, left
	case len(more) == 1 || len(src.Text) > maxProven:
	default:
		half := len(more) / 2
		some, fewer := helpful(src, best, kept, more[:half])
		if some, fewer = helpful(src, fewer, some, more[half:]); fewer.less(best) {
			return some, fewer
		}
	}
	if left.less(best) {
		return all, left // they help together
	}
	return kept, best
}

// forgive leaves out the values that a fix respells from the values that must not be lost.
func forgive(counted map[string]int, d diag.Diagnostic) {
	if !d.Fix.Respells {
		return
	}
	for _, e := range d.Fix.Edits {
		if e.Span.Start < 0 || e.Span.End > len(d.Source.Text) || e.Span.Start > e.Span.End {
			continue
		}
		old, _ := Parse(diag.NewSource("", d.Source.Text[e.Span.Start:e.Span.End]))
		for word, n := range scalars(old) {
			counted[word] -= n
		}
	}
}

// keep returns the kept fixes together with those of more that add no slip, no duplicate
// name and lose no scalar. It tries halves before single fixes, because few fixes
// conflict.
func keep(src *diag.Source, before remaining, counted map[string]int, kept, more diag.List) diag.List {
	if len(more) == 0 {
		return kept
	}
	all := slices.Concat(kept, more)
	root, next, list := withFixes(src, all)
	left := remains(next, list)
	if !before.less(left) && left.twice <= before.twice && !loses(counted, root) {
		return all
	}
	if len(more) == 1 {
		return kept
	}
	half := len(more) / 2
	return keep(src, before, counted, keep(src, before, counted, kept, more[:half]), more[half:])
}

// maxProven is the length, in bytes, up to which fixes are tried one by one.
const maxProven = 64 << 10

// proven returns the fixes that are known to help. A fix is a guess, and in a badly broken
// text a guess can break more than it fixes. So proven applies the edits and parses the
// text again. Together, the remaining fixes leave fewer slips.
func proven(src *diag.Source, list diag.List) diag.List {
	fixes := slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool { return d.Fix == nil })
	best := remains(src, list)
	if len(fixes) == 0 || remainsAfter(src, fixes).less(best) {
		return list
	}
	help, _ := helpful(src, best, nil, fixes)
	for i, d := range list {
		if !slices.ContainsFunc(help, func(h diag.Diagnostic) bool { return h.Fix == d.Fix }) {
			list[i].Fix = nil
		}
	}
	return list
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
