package diag

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextOptions are the options of WriteText. The zero value is for files and pipes.
type TextOptions struct {
	// Color marks the parts of a diagnostic with ANSI colours.
	Color bool
	// Width is the number of columns for a source line with its line number; a longer one
	// is cut around the problem. 0 means 200. Messages and hints are never cut.
	Width int
}

// The SGR codes in use.
const (
	sgrReset  = "\x1b[0m"
	sgrBold   = "\x1b[1m"
	sgrRed    = "\x1b[31m"
	sgrYellow = "\x1b[33m"
	sgrCyan   = "\x1b[36m"
)

// WriteText writes the problems for people, in the order of the list: the
// short form, the source line with the problem underlined, and the hint. The hint is
// labelled "fix" if --fix does what it says, "suggestion" if it is an edit that only the
// user may decide, and "help" otherwise. A fix that the hint does not spell out has its own
// line.
//
//	job.json:7:13: memory must be at least 4 MiB [memory-min-4]
//	  7 |   "memory": "2",
//	    |             ^~~
//	    = help: write "4" or more
//
// A probable credential is written as asterisks, in the source line and in the other
// texts. A problem without a source has no source line. A waived problem takes one line,
// because it needs no action. Whatever the texts contain, the only control characters in
// the output are line ends, the tabs of the source line, and with Color the colour codes.
// The error is that of w.
func WriteText(w io.Writer, l List, o TextOptions) error {
	p := printer{w: bufio.NewWriter(w), color: o.Color, width: o.Width}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	for _, d := range l.masked() {
		p.diagnostic(d)
	}
	return p.w.Flush()
}

const defaultWidth = 200

type printer struct {
	w     *bufio.Writer
	color bool
	width int
}

// paint returns s in the colour of the SGR code.
func (p *printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return code + s + sgrReset
}

func (p *printer) diagnostic(d Diagnostic) {
	color := sgrRed
	switch {
	case d.Waived != nil:
		color = sgrCyan
	case d.Severity == Warning:
		color = sgrYellow
	}
	position, message, rule := d.parts()
	fmt.Fprintf(p.w, "%s%s%s\n", p.paint(sgrBold, position), p.paint(color, message), rule)
	if d.Waived != nil {
		return
	}
	gutter := 1
	if d.Source != nil {
		line, _ := d.Source.Position(d.Span.Start)
		number := strconv.Itoa(line)
		gutter = len(number)
		text, marks := d.excerpt(line, p.width-gutter-5)
		fmt.Fprintln(p.w, strings.TrimRight(p.paint(sgrCyan, "  "+number+" |")+" "+text, " "))
		fmt.Fprintln(p.w, p.paint(sgrCyan, strings.Repeat(" ", gutter+2)+" |")+" "+marks.indent+
			p.paint(color, marks.carets))
	}
	if d.Hint != "" {
		p.note(gutter, "= "+d.Label()+":", d.Hint)
	}
	if d.Fixable() && d.Label() != labelFix {
		p.note(gutter, "= fix:", d.Fix.Message)
	}
}

func (p *printer) note(gutter int, label, text string) {
	fmt.Fprintf(p.w, "%s %s %s\n", strings.Repeat(" ", gutter+2), p.paint(sgrCyan, label), Printable(text))
}
