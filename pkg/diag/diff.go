package diag

import (
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change, as in diff -u.
const diffContext = 3

// UnifiedDiff returns the difference from before to after as a unified diff for patch -p1
// and git apply, or "" if there is none. Names are a/name and b/name. The lines are those
// of the texts, byte for byte: use PrintableLines before a terminal shows them.
func UnifiedDiff(name, before, after string) string {
	if before == after {
		return ""
	}
	name = Printable(strings.TrimPrefix(slashName(name), "/"))
	if strings.ContainsRune(name, ' ') {
		name += "\t" // ends a name with spaces, as in git
	}
	d := differ{before: splitLines(before), after: splitLines(after)}
	fmt.Fprintf(&d.out, "--- a/%s\n+++ b/%s\n", name, name)
	changes := findChanges(d.before, d.after)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].a0-changes[n-1].a1 <= 2*diffContext {
			n++
		}
		d.hunk(changes[:n])
		changes = changes[n:]
	}
	return d.out.String()
}

// PrintableLines escapes every line of s as Printable does, except line ends and tabs.
func PrintableLines(s string) string {
	var b strings.Builder
	for start, i := 0, 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '\n' || s[i] == '\t' {
			b.WriteString(Printable(s[start:i]))
			b.WriteString(s[i:min(i+1, len(s))])
			start = i + 1
		}
	}
	return b.String()
}

// splitLines returns the lines of a text with their line ends; the last may have
// none.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

type differ struct {
	before, after []string
	out           strings.Builder
}

// hunk writes changes that are close to each other.
func (d *differ) hunk(changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(diffContext, first.a0)
	tail := min(diffContext, len(d.before)-last.a1)
	fmt.Fprintf(&d.out, "@@ -%s +%s @@\n",
		hunkRange(first.a0-lead, last.a1+tail), hunkRange(first.b0-lead, last.b1+tail))
	at := first.a0 - lead
	for _, c := range changes {
		d.lines(" ", d.before[at:c.a0])
		d.lines("-", d.before[c.a0:c.a1])
		d.lines("+", d.after[c.b0:c.b1])
		at = c.a1
	}
	d.lines(" ", d.before[at:at+tail])
}

func (d *differ) lines(mark string, lines []string) {
	for _, line := range lines {
		d.out.WriteString(mark + line)
		if !strings.HasSuffix(line, "\n") {
			d.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// hunkRange writes the lines [from, to), counted from 0, as start,count from 1. A
// range without lines starts at the line before it.
func hunkRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
