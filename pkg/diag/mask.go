package diag

import (
	"slices"
	"sort"

	"github.com/batchctl/batchctl/pkg/secret"
)

// Masked returns the problem for printing: with an asterisk for every character of a
// credential in its source, in the message, the hint and the description of the fix. All
// writers in this package mask on their own; Masked is for other output. The edits of the fix
// stay unchanged.
func (d Diagnostic) Masked() Diagnostic {
	if d.Source == nil || d.Source.hidden() == nil {
		return d
	}
	d.Message, d.Hint = d.redacted(d.Message), d.redacted(d.Hint)
	d.Message, d.Hint = d.redacted(d.Message), d.redacted(d.Hint)
	if d.Waived != nil {
		d.Waived = &Waiver{Reason: d.redacted(d.Waived.Reason), Until: d.Waived.Until}
	}
	if d.Fix != nil {
		d.Fix = &Fix{Message: d.redacted(d.Fix.Message), Edits: d.Fix.Edits, Class: d.Fix.Class,
			Respells: d.Fix.Respells}
	}
	return d
}

func (d Diagnostic) redacted(text string) string {
	return d.Source.hidden().Redact(text, secret.Span(d.Span))
}

// masked returns the list in the form for printing.
func (l List) masked() List {
	if !slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Source != nil && d.Source.hidden() != nil }) {
		return l
	}
	out := make(List, len(l))
	for i, d := range l {
		out[i] = d.Masked()
	}
	return out
}

// openEdits returns the edits of the problem's fix for programs that apply them. It
// returns none if an edit would show a credential: with asterisks instead, the edit would
// destroy it.
func (d Diagnostic) openEdits() []Edit {
	if d.Fix != nil && d.Fix.Class != Automatic {
		return nil
	}
	edits := d.edits()
	for _, e := range edits {
		if d.redacted(e.Text) != e.Text {
			return nil
		}
	}
	return edits
}

// line is a source line with the parts that must not be shown.
type line struct {
	text   string
	start  int           // its byte offset in the source
	hidden []secret.Span // in the source, sorted, without overlaps
}

// line returns line n (from 1).
func (s *Source) line(n int) line {
	text, start := s.Line(n)
	return line{text, start, s.hidden().Spans()}
}

// hides reports whether the byte at offset i of the line must not be shown.
func (l line) hides(i int) bool {
	i += l.start
	n := sort.Search(len(l.hidden), func(n int) bool { return l.hidden[n].End > i })
	return n < len(l.hidden) && l.hidden[n].Start <= i
}

// shown returns the text from start to end with its hidden parts masked.
func (l line) shown(start, end int) string {
	if len(l.hidden) == 0 {
		return l.text[start:end]
	}
	var out []byte
	for i := start; i < end; i++ {
		if !l.hides(i) {
			out = append(out, l.text[i])
		}
	}
	return string(out)
}
