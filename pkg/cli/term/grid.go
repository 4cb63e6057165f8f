package term

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Segment is printable text in one style: an SGR code such as 36, or "".
type Segment struct{ Text, Style string }

// Line is a line of the screen.
type Line []Segment

// Text returns a line, or a cell, of one style. It escapes control characters in
// s.
func Text(s, style string) Line {
	if s == "" {
		return nil
	}
	return Line{{diag.Printable(s), style}}
}

// Width returns the width of the line in columns.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += runewidth.StringWidth(s.Text)
	}
	return n
}

// Cut shortens a line to width columns, and ends it with an ellipsis.
func (l Line) Cut(width int) Line {
	if l.Width() <= width {
		return l
	}
	var kept Line
	left := width
	for _, s := range l {
		w := runewidth.StringWidth(s.Text)
		if w >= left { // more text follows, in this segment or the next one
			s.Text = runewidth.Truncate(s.Text+"…", left, "…")
			return append(kept, s)
		}
		kept, left = append(kept, s), left-w
	}
	return kept
}

// Pad makes a cell width columns wide. right aligns it to the right.
func (l Line) Pad(width int, right bool) Line {
	blank := Segment{Text: strings.Repeat(" ", max(0, width-l.Width()))}
	if right {
		return append(Line{blank}, l...)
	}
	return append(slices.Clip(l), blank)
}

// Render returns the text of the line, without blanks at the end.
func (l Line) Render(color bool) string {
	var b strings.Builder
	for _, s := range l {
		if color && s.Style != "" {
			b.WriteString("\x1b[" + s.Style + "m" + s.Text + "\x1b[0m")
		} else {
			b.WriteString(s.Text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Column is a column of a grid.
type Column struct {
	Head  string
	Right bool // aligned to the right
	// Most limits its width; 0 sets no limit. Least is the width to which it can shrink on a
	// narrow screen; 0 prevents that.
	Most, Least int
	// Floor is the smallest width of a column with cells, for texts of changing length.
	Floor int
	// Rank orders columns for a screen that is still too narrow: the lowest is left out first.
	Rank int
}

// Grid is a table that fits a width. It leaves out empty columns, shrinks wide ones, and then
// leaves out those with the lowest rank.
type Grid struct {
	Columns []Column
	Rows    [][]Line
}

// Lines returns the heading and the rows with index first <= i < end. A width of 0 is a pipe:
// nothing is cut.
func (g *Grid) Lines(width, first, end int) []Line {
	widths := g.fit(width)
	heading := make([]Line, len(g.Columns))
	for i, c := range g.Columns {
		heading[i] = Line{{c.Head, "1"}}
	}
	lines := []Line{g.layout(heading, widths)}
	for _, row := range g.Rows[first:end] {
		lines = append(lines, g.layout(row, widths))
	}
	return lines
}

// layout returns one row as a line.
func (g *Grid) layout(row []Line, widths []int) Line {
	var l Line
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, Segment{Text: "  "})
		}
		l = append(l, cell.Cut(widths[i]).Pad(widths[i], g.Columns[i].Right)...)
	}
	return l
}

// fit returns the widths of the columns; 0 for columns that are left out.
func (g *Grid) fit(width int) []int {
	natural := make([]int, len(g.Columns))
	for i, c := range g.Columns {
		for _, row := range g.Rows {
			natural[i] = max(natural[i], row[i].Width())
		}
		if natural[i] == 0 {
			continue
		}
		natural[i] = max(natural[i], len(c.Head), c.Floor)
		if width > 0 && c.Most > 0 {
			natural[i] = min(natural[i], max(c.Most, len(c.Head)))
		}
	}
	for width > 0 {
		widths, fits := g.shrink(natural, width)
		if fits {
			return widths
		}
		if !g.drop(natural) {
			return widths
		}
	}
	return natural
}

// shrink reduces the widest columns that have a Least until the row fits. It
// returns false if it cannot fit.
func (g *Grid) shrink(natural []int, width int) (widths []int, fits bool) {
	widths = slices.Clone(natural)
	over := -2 - width
	for _, w := range widths {
		if w > 0 {
			over += w + 2
		}
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range g.Columns {
			if c.Least > 0 && widths[i] > c.Least && (widest < 0 || widths[i] >= widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}

// drop leaves out the column with the lowest rank. It returns false if only one
// is left.
func (g *Grid) drop(natural []int) bool {
	least, left := -1, 0
	for i, w := range natural {
		if w == 0 {
			continue
		}
		if left++; least < 0 || g.Columns[i].Rank < g.Columns[least].Rank {
			least = i
		}
	}
	if left < 2 {
		return false
	}
	natural[least] = 0
	return true
}

// Share is a part of a bar: its size, the mark that draws it, and the style of the mark.
type Share struct {
	n     int
	mark  string
	style string
}

// Of returns a share of n parts, drawn with a mark in a style.
func Of(n int, mark, style string) Share { return Share{n, mark, style} }

// Bar draws shares of a whole, width columns wide. A share above 0 has at least one column.
func Bar(width int, shares ...Share) Line {
	total, most, left := 0, 0, width
	for _, s := range shares {
		total += s.n
	}
	if total == 0 {
		return nil
	}
	cells := make([]int, len(shares))
	for i, s := range shares {
		if s.n > 0 {
			cells[i] = max(1, s.n*width/total)
		}
		if left -= cells[i]; cells[i] > cells[most] {
			most = i
		}
	}
	cells[most] += left // correct the rounding
	drawn := Line{{Text: "["}}
	for i, s := range shares {
		if cells[i] > 0 {
			drawn = append(drawn, Segment{strings.Repeat(s.mark, cells[i]), s.style})
		}
	}
	return append(drawn, Segment{Text: "]"})
}

// Styles of segments: SGR parameters (ECMA-48, section 8.3.117).
const (
	StyleTitle   = "1"
	StyleFaint   = "2"
	StyleWait    = "33" // waiting jobs
	StyleRun     = "36" // running jobs
	StyleGood    = "32" // succeeded jobs
	StyleFailure = "31"
)
