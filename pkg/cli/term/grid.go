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

// Text is a line, or a cell, of one style. Whatever the text holds, it cannot
// steer the terminal.
func Text(s, style string) Line {
	if s == "" {
		return nil
	}
	return Line{{diag.Printable(s), style}}
}

// Width is how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += runewidth.StringWidth(s.Text)
	}
	return n
}

// Cut shortens a line to width columns and shows that something is missing.
func (l Line) Cut(width int) Line {
	if l.Width() <= width {
		return l
	}
	var kept Line
	left := width
	for _, s := range l {
		w := runewidth.StringWidth(s.Text)
		if w >= left { // there is more to come, in this span or the next one
			s.Text = runewidth.Truncate(s.Text+"…", left, "…")
			return append(kept, s)
		}
		kept, left = append(kept, s), left-w
	}
	return kept
}

// Pad makes a cell width columns wide.
func (l Line) Pad(width int, right bool) Line {
	blank := Segment{Text: strings.Repeat(" ", max(0, width-l.Width()))}
	if right {
		return append(Line{blank}, l...)
	}
	return append(slices.Clip(l), blank)
}

// Render is the line as it is written, without blanks at its end.
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
	// Most bounds its width and least is what it may shrink to on a screen that is
	// narrow; 0 stands for no bound, and for no shrinking.
	Most, Least int
	// Floor is the least width of a column that is there, for what changes its length.
	Floor int
	// Rank says how late it is shown on a screen that is too narrow even so.
	Rank int
}

// Grid is a table that fits a width: columns without a cell are left out, wide ones
// shrink, and then the least important ones go.
type Grid struct {
	Columns []Column
	Rows    [][]Line
}

// Lines lays out the heading and the rows from first to before end. A width of 0
// is that of a pipe: nothing is cut.
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

// fit is the widths of the columns, 0 for those that are left out.
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

// shrink takes what is too much from the columns that can give, always from the
// widest of them.
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

// drop leaves out the least important column, unless it is the last one.
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

// Share is a part of a bar: so many, drawn with a mark in a style.
type Share struct {
	n     int
	mark  string
	style string
}

// Of returns a share of n parts, drawn with a mark in a style.
func Of(n int, mark, style string) Share { return Share{n, mark, style} }

// Bar draws shares of a whole on so many columns. What is there has at least one.
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
	cells[most] += left // what rounding left over, or took too much
	drawn := Line{{Text: "["}}
	for i, s := range shares {
		if cells[i] > 0 {
			drawn = append(drawn, Segment{strings.Repeat(s.mark, cells[i]), s.style})
		}
	}
	return append(drawn, Segment{Text: "]"})
}

const (
	StyleTitle   = "1"
	StyleFaint   = "2"
	StyleWait    = "33"
	StyleRun     = "36"
	StyleGood    = "32"
	StyleFailure = "31"
)
