package results

import (
	"encoding/csv"
	"io"
	"strings"
)

// WriteCSV writes a header line and the rows as in RFC 4180, but with line feeds as line ends,
// which shell tools expect and every CSV reader accepts. Missing keys and null are empty
// fields. A spreadsheet runs a cell as a formula if it begins with one of =, +, -, @, a tab or a
// carriage return (OWASP, "CSV Injection"), and what jobs print comes from anywhere: such a
// text gets an apostrophe in front. Numbers stay unchanged.
func (t *Table) WriteCSV(w io.Writer) error {
	out, columns := csv.NewWriter(w), t.Columns()
	for i, name := range columns {
		columns[i] = Inert(name)
	}
	if err := out.Write(columns); err != nil {
		return err
	}
	for line := range t.Rows() {
		if err := out.Write(texts(line)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func texts(line []Value) []string {
	all := make([]string, len(line))
	for i, v := range line {
		if all[i] = v.Text; v.Kind == String {
			all[i] = Inert(v.Text)
		}
	}
	return all
}

// Inert returns a text for a cell that no spreadsheet takes for a formula.
func Inert(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
