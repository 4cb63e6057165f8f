package bench

import (
	"html"
	"strings"

	"github.com/mattn/go-runewidth"
)

// page is a report before it has a format. Its texts may come from logs; each format
// makes them harmless in its own way.
type page struct {
	title    string
	sections []section
}

// section is a heading with what stands below it, in this order.
type section struct {
	heading string
	words   []string
	table   *table
	items   []string
	figures []figure
}

// figure is a picture with what it shows. The SVG is complete and escaped.
type figure struct{ caption, svg string }

// table has its first column on the left, the others on the right, but for those of
// words.
type table struct {
	head []string
	rows [][]string
	// left are the columns of words.
	left map[int]bool
	// total says that the last row is a sum.
	total bool
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = visible(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// display measures columns in a fixed way: the library's own default follows the
// locale.
var display = &runewidth.Condition{StrictEmojiNeutral: true}

// text is the page for a terminal or a file.
func (p *page) text() string {
	var b strings.Builder
	b.WriteString(visible(p.title) + "\n")
	for _, s := range p.sections {
		if s.heading != "" {
			b.WriteString("\n" + visible(s.heading) + "\n")
		}
		for _, words := range s.words {
			b.WriteString(printable(words) + "\n")
		}
		if s.table != nil {
			b.WriteString(s.table.text())
		}
		for _, item := range s.items {
			b.WriteString("- " + printable(item) + "\n")
		}
	}
	return b.String()
}

func (t *table) text() string {
	all := append([][]string{t.head}, t.rows...)
	widths := make([]int, len(t.head))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], display.StringWidth(cell))
		}
	}
	var b strings.Builder
	for n, row := range all {
		if t.total && n == len(all)-1 {
			for i, width := range widths {
				b.WriteString(strings.Repeat("-", width) + gapAfter(i, widths))
			}
			b.WriteString("\n")
		}
		var line strings.Builder
		for i, cell := range row {
			if i == 0 || t.left[i] {
				cell = display.FillRight(cell, widths[i])
			} else {
				cell = display.FillLeft(cell, widths[i])
			}
			line.WriteString(cell + gapAfter(i, widths))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func gapAfter(i int, widths []int) string {
	if i == len(widths)-1 {
		return ""
	}
	return "  "
}

// markdown is the page as GitHub Flavored Markdown, without its figures.
func (p *page) markdown() string {
	var b strings.Builder
	b.WriteString("# " + markdown(p.title) + "\n")
	for _, s := range p.sections {
		if s.heading != "" {
			b.WriteString("\n## " + markdown(s.heading) + "\n")
		}
		for _, words := range s.words {
			b.WriteString("\n" + markdown(words) + "\n")
		}
		if s.table != nil {
			b.WriteString("\n" + s.table.markdown())
		}
		if len(s.items) > 0 {
			b.WriteString("\n")
		}
		for _, item := range s.items {
			b.WriteString("- " + markdown(item) + "\n")
		}
	}
	return b.String()
}

func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	rule := make([]string, len(t.head))
	for i := range rule {
		if rule[i] = "---:"; i == 0 || t.left[i] {
			rule[i] = "---"
		}
	}
	escaped := func(row []string, around string) []string {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = markdown(cell); cell != "" {
				cells[i] = around + cells[i] + around
			}
		}
		return cells
	}
	line(escaped(t.head, ""))
	line(rule)
	for n, row := range t.rows {
		around := ""
		if t.total && n == len(t.rows)-1 {
			around = "**"
		}
		line(escaped(row, around))
	}
	return b.String()
}

// markdown escapes what would format, link or end a cell.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '\\', '|', '`', '*', '[', ']', '~', '_', '#', '!':
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escape makes a text harmless in HTML and SVG, as text and as an attribute.
func escape(text string) string { return html.EscapeString(printable(text)) }
