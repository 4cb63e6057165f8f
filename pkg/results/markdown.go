package results

import (
	"bufio"
	"io"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// WriteMarkdown writes a table of GitHub Flavored Markdown. What would format, link or
// end a cell is escaped, so a cell shows what the child printed, in one line.
func (t *Table) WriteMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	line := func(cells []string) { _, _ = out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	cells := t.Columns()
	rule := make([]string, len(cells))
	for i, right := range t.rightAligned() {
		if rule[i] = "---"; right {
			rule[i] = "---:"
		}
		cells[i] = markdown(cells[i])
	}
	line(cells)
	line(rule)
	for row := range t.forPeople() {
		for i, v := range row {
			cells[i] = markdown(v.Text)
		}
		line(cells)
	}
	return out.Flush() // keeps the first error
}

// markdown escapes what is more than text in a cell of a table. An underline between
// letters is not.
func markdown(text string) string {
	text = diag.Printable(text)
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; c {
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		case '\\', '|', '`', '*', '[', ']', '~':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '_':
			if i == 0 || i == len(text)-1 || !isWord(text[i-1]) || !isWord(text[i+1]) {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
