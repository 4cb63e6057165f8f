package results

import (
	"bufio"
	"io"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/mattn/go-runewidth"
)

// WriteText writes the rows in columns for people: numbers to the right, anything else
// to the left, an absent value as "-", and what would steer a terminal made visible.
// A value wider than widest columns is cut, and ends with "…"; 0 cuts nothing.
func (t *Table) WriteText(w io.Writer, widest int) error {
	head := t.Columns()
	widths := make([]int, len(head))
	measure := func(cells []string) {
		for i, cell := range cells {
			widths[i] = max(widths[i], display.StringWidth(cell))
		}
	}
	cells := func(line []Value) []string { return shown(line, widest) }
	for i := range head {
		head[i] = cut(diag.Printable(head[i]), widest)
	}
	measure(head)
	for row := range t.forPeople() {
		measure(cells(row))
	}
	out := bufio.NewWriter(w)
	right := t.rightAligned()
	line := func(cells []string) {
		for i, cell := range cells {
			if right[i] {
				cells[i] = display.FillLeft(cell, widths[i])
			} else {
				cells[i] = display.FillRight(cell, widths[i])
			}
		}
		_, _ = out.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
	line(head)
	for row := range t.forPeople() {
		line(cells(row))
	}
	return out.Flush() // keeps the first error
}

// display measures columns in a fixed way: the library's own default follows the
// locale.
var display = &runewidth.Condition{StrictEmojiNeutral: true}

func shown(line []Value, widest int) []string {
	all := texts(line)
	for i, v := range line {
		switch v.Kind {
		case Absent:
			all[i] = "-"
		case Null:
			all[i] = "null"
		default:
			all[i] = cut(diag.Printable(v.Text), widest)
		}
	}
	return all
}

func cut(text string, widest int) string {
	if widest <= 0 {
		return text
	}
	return display.Truncate(text, widest, "…")
}

// rightAligned says of each column whether all values in it are numbers.
func (t *Table) rightAligned() []bool {
	right := make([]bool, len(t.Columns()))
	other := make([]bool, len(right))
	for line := range t.Rows() {
		for i, v := range line {
			switch v.Kind {
			case Number:
				right[i] = !other[i]
			case Absent, Null:
			default:
				right[i], other[i] = false, true
			}
		}
	}
	return right
}
