package diag

import (
	"cmp"
	"slices"
	"strings"
)

// Apply applies the fixes of src, of any class, and returns the new text and the number of
// fixes in it. A fix is applied as a whole or not at all. A fix that touches an edit of an
// earlier one waits for the next round, which checks the new text first: the first fix may
// have solved it, or moved its location. Apply ignores a fix outside the text, with edits
// that overlap, or without effect, and the fix of a waived problem.
func Apply(src *Source, l List) (text string, applied int) {
	list, edits := Applied(src, l)
	return replace(src.Text, edits), len(list)
}

// Applied returns the problems whose fixes Apply applies, in the order of the list, and
// their edits in the order of the text.
func Applied(src *Source, l List) (applied List, edits []Edit) {
	for _, d := range l {
		if d.Source != src || d.Waived != nil {
			continue
		}
		more := d.edits()
		if !changesText(src.Text, more) || slices.ContainsFunc(more, func(e Edit) bool { return touches(edits, e) }) {
			continue
		}
		for _, e := range more {
			at, _ := slices.BinarySearchFunc(edits, e, afterEdit)
			edits = slices.Insert(edits, at, e)
		}
		applied = append(applied, d)
	}
	return applied, edits
}

// Origin returns the offset, before the edits, of the text that is at offset at after
// them. For text that an edit wrote, it is the offset of the edit. The edits are sorted
// and do not overlap.
func Origin(at int, edits []Edit) int {
	by := 0 // the growth of the text so far
	for _, e := range edits {
		start := e.Span.Start + by
		if at < start {
			break
		}
		if at < start+len(e.Text) {
			return e.Span.Start
		}
		by += len(e.Text) - (e.Span.End - e.Span.Start)
	}
	return at - by
}

// edits returns the edits of the problem's fix in the order of the text; none if they are
// invalid for it.
func (d Diagnostic) edits() []Edit {
	if d.Fix == nil || d.Source == nil {
		return nil
	}
	edits := slices.Clone(d.Fix.Edits)
	slices.SortStableFunc(edits, compareEdits)
	end := 0
	for _, e := range edits {
		if e.Span.Start < end || e.Span.End < e.Span.Start || e.Span.End > len(d.Source.Text) {
			return nil
		}
		end = e.Span.End
	}
	return edits
}

// changesText reports whether one of the edits changes the text.
func changesText(text string, edits []Edit) bool {
	return slices.ContainsFunc(edits, func(e Edit) bool { return text[e.Span.Start:e.Span.End] != e.Text })
}

func compareEdits(a, b Edit) int {
	return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
}

// afterEdit orders edits so that, of several insertions at one offset, the first stays the
// first.
func afterEdit(a, e Edit) int {
	if compareEdits(a, e) <= 0 {
		return -1
	}
	return 1
}

// touches reports whether e overlaps or meets one of the edits. Two insertions at one
// offset are often the same, from two rules.
func touches(edits []Edit, e Edit) bool {
	i, _ := slices.BinarySearchFunc(edits, e.Span.Start, func(a Edit, start int) int {
		return a.Span.End - start
	})
	return i < len(edits) && edits[i].Span.Start <= e.Span.End
}

// replace applies edits that are sorted and do not overlap.
func replace(text string, edits []Edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.Span.Start])
		b.WriteString(e.Text)
		at = e.Span.End
	}
	b.WriteString(text[at:])
	return b.String()
}
