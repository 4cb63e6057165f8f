package cli

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
)

// span is printable text in one style: an SGR code such as 36, or "".
type span struct{ text, style string }

// line is a line of the screen.
type line []span

// text is a line, or a cell, of one style. Whatever the text holds, it cannot
// steer the terminal.
func text(s, style string) line {
	if s == "" {
		return nil
	}
	return line{{diag.Printable(s), style}}
}

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += runewidth.StringWidth(s.text)
	}
	return n
}

// cut shortens a line to width columns and shows that something is missing.
func (l line) cut(width int) line {
	if l.width() <= width {
		return l
	}
	var kept line
	left := width
	for _, s := range l {
		w := runewidth.StringWidth(s.text)
		if w >= left { // there is more to come, in this span or the next one
			s.text = runewidth.Truncate(s.text+"…", left, "…")
			return append(kept, s)
		}
		kept, left = append(kept, s), left-w
	}
	return kept
}

// pad makes a cell width columns wide.
func (l line) pad(width int, right bool) line {
	blank := span{text: strings.Repeat(" ", max(0, width-l.width()))}
	if right {
		return append(line{blank}, l...)
	}
	return append(slices.Clip(l), blank)
}

// render is the line as it is written, without blanks at its end.
func (l line) render(color bool) string {
	var b strings.Builder
	for _, s := range l {
		if color && s.style != "" {
			b.WriteString("\x1b[" + s.style + "m" + s.text + "\x1b[0m")
		} else {
			b.WriteString(s.text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// column is a column of a grid.
type column struct {
	head  string
	right bool // aligned to the right
	// most bounds its width and least is what it may shrink to on a screen that is
	// narrow; 0 stands for no bound, and for no shrinking.
	most, least int
	// floor is the least width of a column that is there, for what changes its length.
	floor int
	// rank says how late it goes on a screen that is too narrow even so.
	rank int
}

// grid is a table that fits a width: columns without a cell are left out, wide ones
// shrink, and then the least important ones go.
type grid struct {
	columns []column
	rows    [][]line
}

// lines lays out the heading and the rows from first to before end. A width of 0
// is that of a pipe: nothing is cut.
func (g *grid) lines(width, first, end int) []line {
	widths := g.fit(width)
	heading := make([]line, len(g.columns))
	for i, c := range g.columns {
		heading[i] = line{{c.head, "1"}}
	}
	lines := []line{g.layout(heading, widths)}
	for _, row := range g.rows[first:end] {
		lines = append(lines, g.layout(row, widths))
	}
	return lines
}

func (g *grid) layout(row []line, widths []int) line {
	var l line
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, span{text: "  "})
		}
		l = append(l, cell.cut(widths[i]).pad(widths[i], g.columns[i].right)...)
	}
	return l
}

// fit is the widths of the columns, 0 for those that are left out.
func (g *grid) fit(width int) []int {
	natural := make([]int, len(g.columns))
	for i, c := range g.columns {
		for _, row := range g.rows {
			natural[i] = max(natural[i], row[i].width())
		}
		if natural[i] == 0 {
			continue
		}
		natural[i] = max(natural[i], len(c.head), c.floor)
		if width > 0 && c.most > 0 {
			natural[i] = min(natural[i], max(c.most, len(c.head)))
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
func (g *grid) shrink(natural []int, width int) (widths []int, fits bool) {
	widths = slices.Clone(natural)
	over := -2 - width
	for _, w := range widths {
		if w > 0 {
			over += w + 2
		}
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range g.columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] >= widths[widest]) {
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
func (g *grid) drop(natural []int) bool {
	least, left := -1, 0
	for i, w := range natural {
		if w == 0 {
			continue
		}
		if left++; least < 0 || g.columns[i].rank < g.columns[least].rank {
			least = i
		}
	}
	if left < 2 {
		return false
	}
	natural[least] = 0
	return true
}

// share is a part of a bar: so many, drawn with a mark in a style.
type share struct {
	n     int
	mark  string
	style string
}

// bar draws shares of a whole on so many columns. What is there has at least one.
func bar(width int, shares ...share) line {
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
	drawn := line{{text: "["}}
	for i, s := range shares {
		if cells[i] > 0 {
			drawn = append(drawn, span{strings.Repeat(s.mark, cells[i]), s.style})
		}
	}
	return append(drawn, span{text: "]"})
}
