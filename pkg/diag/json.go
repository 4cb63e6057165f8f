package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Record is the JSON form of a diagnostic. Programs depend on its members and their order.
type Record struct {
	File      string        `json:"file"`
	Line      int           `json:"line"`
	Column    int           `json:"column"`
	EndLine   int           `json:"endLine"`
	EndColumn int           `json:"endColumn"`
	Severity  string        `json:"severity"`
	Rule      string        `json:"rule"`
	Message   string        `json:"message"`
	Hint      string        `json:"hint"`
	Fixable   bool          `json:"fixable"`
	Fix       *fixRecord    `json:"fix,omitempty"`
	Waived    *waiverRecord `json:"waived,omitempty"`
}

// waiverRecord is the JSON form of a waiver.
type waiverRecord struct {
	Reason string `json:"reason"`
	Until  string `json:"until,omitempty"`
}

// fixRecord is the JSON form of a fix.
type fixRecord struct {
	Message string       `json:"message"`
	Edits   []editRecord `json:"edits"`
}

type editRecord struct {
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
	Text      string `json:"text"`
}

// WriteJSON writes the problems as a JSON array of objects, [] if there are
// none. Each has the members
//
//	file, line, column, endLine, endColumn, severity, rule, message, hint, fixable
//
// in this order, all of them always. Lines and columns count from 1, columns in
// Unicode code points, and the end is exclusive. A problem without a location
// has an empty file and zeros. severity is "error" or "warning"; hint may be
// empty; fixable says whether validate --fix fixes the problem. After these, a
// problem with a fix has a fix with a message and its edits, sorted and without overlaps; each has the members
//
//	start, end, line, column, endLine, endColumn, text
//
// and replaces the bytes from start to before end by text; a fix whose edits would
// show a credential is left out. A waived problem, which fails nothing, has
// waived with the reason, and until if it ends. Characters that can control a
// terminal are written as \u escapes, those of credentials as asterisks. The error
// is that of w.
func WriteJSON(w io.Writer, l List) error { return writeIndented(w, Records(l)) }

// Records returns the problems as WriteJSON writes them.
func Records(l List) []Record {
	records := make([]Record, 0, len(l))
	for _, d := range l.masked() {
		r := Record{Severity: d.Severity.String(), Rule: d.Rule, Message: d.Message, Hint: d.Hint, Fixable: d.Fixable()}
		if d.Source != nil {
			r.File = d.Source.Name
			r.Line, r.Column = d.Source.Position(d.Span.Start)
			r.EndLine, r.EndColumn = d.Source.Position(max(d.Span.Start, d.Span.End))
			r.Fix = d.fixRecord()
		}
		if d.Waived != nil {
			r.Waived = &waiverRecord{d.Waived.Reason, d.Waived.Until}
		}
		records = append(records, r)
	}
	return records
}

// fixRecord returns the fix in its JSON form; nil without edits that may be shown.
func (d Diagnostic) fixRecord() *fixRecord {
	edits := d.openEdits()
	if len(edits) == 0 {
		return nil
	}
	f := &fixRecord{Message: d.Fix.Message}
	for _, e := range edits {
		r := d.Source.region(e.Span)
		f.Edits = append(f.Edits, editRecord{e.Span.Start, e.Span.End,
			r.StartLine, r.StartColumn, r.EndLine, r.EndColumn, e.Text})
	}
	return f
}

// writeIndented writes v as JSON without characters that control a terminal.
func writeIndented(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(PrintableJSON(b.Bytes()))
	return err
}

// PrintableJSON escapes characters in JSON text that could control a terminal, or hide in it,
// as Printable does in a sentence. The result means the same, because outside strings there
// are only line ends.
func PrintableJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}
