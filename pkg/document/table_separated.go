package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/text"
)

// separated reads values with a separator between them (RFC 4180). A value in quotes may
// contain the separator; two quotes in it are one. Empty lines and a byte order mark are
// skipped.
func (t *table) separated(separator byte) {
	r := &recordReader{text: t.src.Text, separator: separator}
	r.pos = len(r.text) - len(strings.TrimPrefix(r.text, "\ufeff"))
	if !r.next() {
		t.report(RuleTableHeader, diag.Span{}, "write the names of the columns into the first line",
			"the table is empty")
		return
	}
	t.quotes(r)
	if separator == ',' && len(r.values) == 1 && strings.Contains(r.values[0], ";") {
		t.report(RuleTableHeader, r.spans[0],
			"save it with commas between the columns, or with tabs and the extension .tsv",
			"the columns are separated by semicolons; a .csv file needs commas")
		return
	}
	t.header(append([]string(nil), r.values...), append([]diag.Span(nil), r.spans...))
	for r.next() && t.more(r.spans[0]) {
		if !t.quotes(r) {
			continue
		}
		if len(r.values) != len(t.names) {
			t.ragged(r)
			continue
		}
		for i, v := range r.values {
			t.value(v, r.spans[i])
		}
	}
}

// ragged reports a row whose length differs from the header's, at the first surplus value
// or at the last value.
func (t *table) ragged(r *recordReader) {
	at := r.spans[min(len(r.values)-1, len(t.names))]
	hint := "quote a value that contains the separator"
	if len(r.values) < len(t.names) {
		hint = "for an empty value, write nothing between two separators"
	}
	t.report(RuleTableRow, at, hint, "this row has %s, the header %s", text.Count(len(r.values), "value"),
		text.Count(len(t.names), "column"))
}

// quotes reports a value of the record with wrong quotes, and returns false if it finds
// one.
func (t *table) quotes(r *recordReader) bool {
	if r.wrong != "" {
		t.report(RuleTableRow, r.wrongAt, `inside quotes, write a quote as two: ""`, "%s", r.wrong)
	}
	return r.wrong == ""
}

// recordReader splits a text into records. The slices of a record are reused for the next.
type recordReader struct {
	text      string
	separator byte
	pos       int

	values []string
	spans  []diag.Span
	// wrong describes the first mistake with quotes in the record, and wrongAt is its
	// location.
	wrong   string
	wrongAt diag.Span
}

// next reads the next record that is not an empty line; false at the end.
func (r *recordReader) next() bool {
	r.values, r.spans, r.wrong = r.values[:0], r.spans[:0], ""
	for r.lineEnd() > 0 {
		r.pos += r.lineEnd()
	}
	if r.pos >= len(r.text) {
		return false
	}
	for {
		r.value()
		if r.pos < len(r.text) && r.text[r.pos] == r.separator {
			r.pos++
			continue
		}
		r.pos += r.lineEnd()
		return true
	}
}

// lineEnd returns the length of the line break at pos, or 0.
func (r *recordReader) lineEnd() int {
	rest := r.text[r.pos:]
	switch {
	case strings.HasPrefix(rest, "\n"):
		return 1
	case strings.HasPrefix(rest, "\r\n"):
		return 2
	}
	return 0
}

// value reads one value, up to and including the separator or line end.
func (r *recordReader) value() {
	start := r.pos
	var text string
	if start < len(r.text) && r.text[start] == '"' {
		text = r.quoted()
	} else {
		r.plain()
		text = r.text[start:r.pos]
	}
	r.values = append(r.values, text)
	r.spans = append(r.spans, diag.Span{Start: start, End: r.pos})
}

// plain advances to the end of a value without quotes.
func (r *recordReader) plain() {
	for r.pos < len(r.text) && r.text[r.pos] != r.separator && r.lineEnd() == 0 {
		r.pos++
	}
}

// quoted reads a value in quotes. Text after the closing quote is an error.
func (r *recordReader) quoted() string {
	start := r.pos
	r.pos++
	doubled := false
	for {
		n := strings.IndexByte(r.text[r.pos:], '"')
		if n < 0 {
			r.pos = len(r.text)
			r.blame("the quotes around this value are never closed", start, start+1)
			return ""
		}
		r.pos += n + 1
		if r.pos == len(r.text) || r.text[r.pos] != '"' {
			break
		}
		doubled = true
		r.pos++
	}
	text := r.text[start+1 : r.pos-1]
	if doubled {
		text = strings.ReplaceAll(text, `""`, `"`)
	}
	end := r.pos
	if r.plain(); r.pos > end {
		r.blame("text after the closing quote of a value", end, r.pos)
	}
	return text
}

// blame records the first mistake of the record.
func (r *recordReader) blame(wrong string, start, end int) {
	if r.wrong == "" {
		r.wrong, r.wrongAt = wrong, diag.Span{Start: start, End: end}
	}
}
