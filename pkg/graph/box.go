package graph

import (
	"strings"
	"unicode/utf8"
)

// Sizes of a box in tenths of a pixel. The widths of characters are those of the widest
// of the common monospaced fonts, at 13 and 11 pixels.
const (
	nameChar  = 80
	nameLine  = 170
	smallChar = 68
	smallLine = 150
	padding   = 120
	barHeight = 60
	stackStep = 40 // how far the sheets of an array's stack stand out
)

// Lengths at which texts are wrapped, in columns, and how many lines they may take.
// AWS Batch's names have at most 128 characters: they are shown whole.
const (
	nameColumns  = 32
	nameLines    = 5
	smallColumns = 38
	smallLines   = 3
)

// box is a node as SVG draws it.
type box struct {
	name          []string
	small         []string // labels, queue
	status        []string // status, counts
	bar           bool
	width, height int
	below         int // how far an array's stack stands out, below and on the right
}

// box measures a node.
func (c *checked) box(i int) box {
	n := c.nodes[i]
	lines := c.label(i)
	b := box{name: wrap(lines[0], nameColumns, nameLines)}
	statusLines := 0
	if n.Status != "" {
		statusLines++
	}
	if len(n.counts()) > 0 {
		statusLines, b.bar = statusLines+1, true
	}
	for k, line := range lines[1:] {
		wrapped := wrap(line, smallColumns, smallLines)
		if k+1 >= len(lines)-statusLines {
			b.status = append(b.status, wrapped...)
		} else {
			b.small = append(b.small, wrapped...)
		}
	}
	for _, line := range b.name {
		b.width = max(b.width, columns(line)*nameChar)
	}
	for _, lines := range [][]string{b.small, b.status} {
		for _, line := range lines {
			b.width = max(b.width, columns(line)*smallChar)
		}
	}
	b.width = max(b.width+2*padding, 600)
	b.height = 2*90 + len(b.name)*nameLine + (len(b.small)+len(b.status))*smallLine
	if b.bar {
		b.height += barHeight + 40
	}
	if n.Kind == Array {
		b.below = 2 * stackStep
	}
	return b
}

// wrap breaks a text into lines of so many columns, behind a character at which names
// have their joints if there is one in the second half of the line. What more than most
// lines would take is cut.
func wrap(text string, width, most int) []string {
	var lines []string
	for columns(text) > width && len(lines) < most-1 {
		line := head(text, width)
		if at := strings.LastIndexAny(line, " -_./:,"); at >= len(line)/2 {
			_, size := utf8.DecodeRuneInString(line[at:])
			line = line[:at+size]
		}
		lines = append(lines, strings.TrimRight(line, " "))
		text = strings.TrimLeft(text[len(line):], " ")
	}
	if columns(text) > width {
		text = head(text, width-1) + "…"
	}
	return append(lines, text)
}
