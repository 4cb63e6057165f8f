package jsontree

import "github.com/batchctl/batchctl/pkg/diag"

// problems collects what is wrong with a text while it is read.
type problems struct {
	src  *diag.Source
	list diag.List

	hushed int  // problems found while quiet
	quiet  bool // the part that is read is reported already
	fresh  bool // the last problem was reported, and is the last of the list
	done   bool // the rest of the text is not read
}

// record adds a problem. In a part that is already reported, it only counts. It returns true
// once, for the problem after which the rest of the text is not read.
func (l *problems) record(rule string, start, end int, hint, message string) (last bool) {
	l.fresh = false
	if l.done {
		return false
	}
	if l.quiet {
		l.hushed++
		if l.hushed < maxHushed {
			return false
		}
	}
	d := diag.Diagnostic{Rule: rule, Source: l.src, Span: diag.Span{Start: start, End: end}, Message: message,
		Hint: hint}
	if len(l.list) == maxErrors || l.quiet {
		d.Rule, d.Message, d.Hint = RuleSyntax, tooMany, "fix the others first"
		last = true
	}
	l.list = append(l.list, d)
	l.fresh = !last
	return last
}

// fix adds an edit to the last reported slip: text in its place. A placeholder gets no
// edit, since another program replaces it.
func (l *problems) fix(text string) {
	if !l.fresh {
		return
	}
	if d := l.list[len(l.list)-1]; !IsPlaceholder(l.src.Text[d.Span.Start:d.Span.End]) {
		l.requote(text)
	}
}

// requote is fix for a string in other quotes: its text stays, with the placeholders in it.
func (l *problems) requote(text string) {
	if !l.fresh {
		return
	}
	d := &l.list[len(l.list)-1]
	d.Fix = &diag.Fix{Message: d.Hint, Edits: []diag.Edit{{Span: d.Span, Text: text}}}
}
