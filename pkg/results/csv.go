package results

import (
	"encoding/csv"
	"io"
)

// WriteCSV writes a header line and the rows as in RFC 4180, but with line feeds as line ends,
// which shell tools expect and every CSV reader accepts. Missing keys and null are empty
// fields. Text that begins with =, +, - or @ stays unchanged: the file is for programs, a
// quote in front would change negative numbers and names, and you can turn off formulas when a
// spreadsheet imports the file.
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
