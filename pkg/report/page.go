// Package report writes reports as text, Markdown and a page of HTML that needs no other file. It does no I/O.
package report

import (
	"html/template"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Page is a report before it is formatted. Its texts may come from logs, so each format escapes them.
type Page struct {
	Title string
	// Lead is the sentence to read first, where it is not among the sections.
	Lead     string
	Sections []Section
	// Style is the rules of the figures, as draw.Sheet reads them.
	Style string
}

// Section is a heading with its content, in the order of the fields.
type Section struct {
	Heading   string
	Sentences []string
	Table     *Table
	Items     []string
	// Figures and Code are only in HTML.
	Figures []Figure
	Code    string
}

// Figure is a picture with what it shows.
type Figure struct {
	Caption string
	Picture template.HTML
}

// Table aligns its first column and the Left ones to the left, all others to the right.
type Table struct {
	Head []string
	Rows [][]string
	// Left are the columns of text.
	Left map[int]bool
	// Total reports that the last row is a sum.
	Total bool
}

// Drop removes what has no content: sections, and columns of tables.
func (p *Page) Drop() {
	for _, s := range p.Sections {
		if s.Table != nil {
			s.Table.dropEmpty()
		}
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s Section) bool {
		return len(s.Sentences) == 0 && len(s.Items) == 0 && (s.Table == nil || len(s.Table.Rows) == 0) &&
			len(s.Figures) == 0 && s.Code == ""
	})
}

// dropEmpty removes the columns that no row fills, except the first one.
func (t *Table) dropEmpty() {
	filled := []int{0}
	for i := 1; i < len(t.Head); i++ {
		if slices.ContainsFunc(t.Rows, func(row []string) bool {
			return row[i] != "" && row[i] != NoValue &&
				row[i] != NoTime
		}) {
			filled = append(filled, i)
		}
	}
	pick := func(cells []string) []string {
		kept := make([]string, len(filled))
		for to, from := range filled {
			kept[to] = cells[from]
		}
		return kept
	}
	left := map[int]bool{}
	for to, from := range filled {
		left[to] = t.Left[from]
	}
	t.Head, t.Left = pick(t.Head), left
	for i, row := range t.Rows {
		t.Rows[i] = pick(row)
	}
}

// What a table shows in a cell that has no value, and for a row without a time.
const (
	NoValue = "-"
	NoTime  = "none"
)

// Add adds a row.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = Visible(cells[i])
	}
	t.Rows = append(t.Rows, cells)
}

// display measures columns in a fixed way: the library's own default follows the
// locale.
var display = &runewidth.Condition{StrictEmojiNeutral: true}

// Text is the page for a terminal or a file.
func (p *Page) Text() string {
	var b strings.Builder
	b.WriteString(Visible(p.Title) + "\n")
	for _, s := range p.Sections {
		if s.Heading != "" {
			b.WriteString("\n" + Visible(s.Heading) + "\n")
		}
		for _, sentence := range s.Sentences {
			b.WriteString(diag.Printable(sentence) + "\n")
		}
		if s.Table != nil {
			b.WriteString(s.Table.text())
		}
		for _, item := range s.Items {
			b.WriteString("- " + diag.Printable(item) + "\n")
		}
	}
	return b.String()
}

func (t *Table) text() string {
	all := append([][]string{t.Head}, t.Rows...)
	widths := make([]int, len(t.Head))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], display.StringWidth(cell))
		}
	}
	var b strings.Builder
	for n, row := range all {
		if t.Total && n == len(all)-1 {
			for i, width := range widths {
				b.WriteString(strings.Repeat("-", width) + gapAfter(i, widths))
			}
			b.WriteString("\n")
		}
		var line strings.Builder
		for i, cell := range row {
			if i == 0 || t.Left[i] {
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

// gapAfter returns the blanks after a column; "" after the last one.
func gapAfter(i int, widths []int) string {
	if i == len(widths)-1 {
		return ""
	}
	return "  "
}

// Markdown is the page as GitHub Flavored Markdown, without its figures.
func (p *Page) Markdown() string {
	var b strings.Builder
	b.WriteString("# " + markdown(p.Title) + "\n")
	for _, s := range p.Sections {
		if s.Heading != "" {
			b.WriteString("\n## " + markdown(s.Heading) + "\n")
		}
		for _, sentence := range s.Sentences {
			b.WriteString("\n" + markdown(sentence) + "\n")
		}
		if s.Table != nil {
			b.WriteString("\n" + s.Table.markdown())
		}
		if len(s.Items) > 0 {
			b.WriteString("\n")
		}
		for _, item := range s.Items {
			b.WriteString("- " + markdown(item) + "\n")
		}
	}
	return b.String()
}

// markdown returns the table as GitHub Flavored Markdown. The total is bold.
func (t *Table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	rule := make([]string, len(t.Head))
	for i := range rule {
		if rule[i] = "---:"; i == 0 || t.Left[i] {
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
	line(escaped(t.Head, ""))
	line(rule)
	for n, row := range t.Rows {
		around := ""
		if t.Total && n == len(t.Rows)-1 {
			around = "**"
		}
		line(escaped(row, around))
	}
	return b.String()
}

// markdown escapes what would format, link or end a cell.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range diag.Printable(text) {
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

// longestText is what a report shows of a name out of a log, in bytes.
const longestText = 200

// Visible is a name out of a log: printable, and cut where it is long.
func Visible(text string) string {
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return diag.Printable(text)
}
