package term

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/text"
)

// Table prints rows in columns. On a terminal it cuts the widest columns; in a pipe it cuts
// nothing.
type Table struct {
	Out   io.Writer
	Width int
	Rows  [][]string
}

// Table returns a table on Out with these headings.
func (con *Console) Table(head ...string) *Table {
	return &Table{Out: con.Out, Width: Width(con.Out), Rows: [][]string{head}}
}

// Row adds a row. Credentials are masked.
func (t *Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = diag.Printable(secret.Mask("", cell))
	}
	t.Rows = append(t.Rows, cells)
}

// Flush prints the table.
func (t *Table) Flush() error {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	t.shrink(widths)
	var b strings.Builder
	for _, row := range t.Rows {
		line := ""
		for i, cell := range row {
			cell = runewidth.Truncate(cell, widths[i], "…")
			if i < len(row)-1 {
				cell = runewidth.FillRight(cell, widths[i]+2)
			}
			line += cell
		}
		line = strings.TrimRight(line, " ")
		if t.Width > 0 {
			line = runewidth.Truncate(line, t.Width, "…")
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(t.Out, b.String())
	return err
}

// leastCut is the smallest width to which a column is cut. Short ids have that width.
const leastCut = 8

// shrink reduces the widest columns until the row fits the terminal.
func (t *Table) shrink(widths []int) {
	all := 2 * (len(widths) - 1) // the blanks between them
	for _, w := range widths {
		all += w
	}
	for t.Width > 0 && all > t.Width {
		widest := slices.Max(widths)
		if widest <= leastCut {
			return
		}
		widths[slices.Index(widths, widest)]--
		all--
	}
}

// Ago formats the time since a moment in milliseconds since 1970, as AWS Batch has them.
func Ago(millis *int64, now time.Time) string {
	if millis == nil {
		return "-"
	}
	return text.Duration(now.Sub(time.UnixMilli(*millis))) + " ago"
}

// Took formats the time between two moments in milliseconds since 1970, or until now without
// the second. It is "-" without the first.
func Took(from, to *int64, now time.Time) string {
	if from == nil || *from == 0 {
		return "-"
	}
	end := now
	if to != nil && *to > 0 {
		end = time.UnixMilli(*to)
	}
	return text.Duration(end.Sub(time.UnixMilli(*from)))
}
