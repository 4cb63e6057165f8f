package results

import (
	"encoding/csv"
	"io"
)

// WriteCSV writes a head line and the rows as RFC 4180 says, but with line feeds as
// line ends, which the tools of a shell expect and every reader of CSV takes. A key
// that is absent and null are empty fields. Text that begins with =, +, - or @ stays
// as it is: the file is for programs, a quote in front would change negative numbers
// and names, and a spreadsheet that computes what it imports can be told not to.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns()); err != nil {
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
		all[i] = v.Text
	}
	return all
}
