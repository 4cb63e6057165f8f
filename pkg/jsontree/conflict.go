package jsontree

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// The markers of a merge conflict, each at the start of a line, as git writes them.
const (
	ours    = "<<<<<<<"
	base    = "|||||||" // with merge.conflictStyle=diff3
	between = "======="
	theirs  = ">>>>>>>"
)

// conflicted reports whether a text has merge conflicts. In JSON, the markers cannot be part of a string, because a
// string has no line breaks.
func conflicted(text string) bool {
	_, text, ok := strings.Cut("\n"+text, "\n"+ours)
	if ok {
		_, text, ok = strings.Cut(text, "\n"+between)
	}
	return ok && strings.Contains(text, "\n"+theirs)
}

// conflicting reads a text with merge conflicts. It corrects nothing, since nothing tells which side is right.
func (p *parser) conflicting() (*Node, diag.List) {
	p.conflicts()
	if !p.plausible() {
		return nil, p.list
	}
	root, list := p.document()
	for i := range list {
		list[i].Fix = nil
	}
	return root, list
}

// conflicts reports the merge conflicts and keeps the first side of each. The text keeps its length, so that the
// locations are those in the file.
func (p *parser) conflicts() {
	const outside, first, second = 0, 1, 2
	var out strings.Builder
	where := outside
	for line := range strings.Lines(p.text) {
		isRead := where != second
		switch {
		case where == outside && strings.HasPrefix(line, ours):
			p.report(out.Len(), out.Len()+len(ours), "choose one of the two sides and remove the markers", "a merge conflict that is not resolved")
			where, isRead = first, false
		case where == first && (strings.HasPrefix(line, base) || strings.HasPrefix(line, between)):
			where, isRead = second, false
		case where == second && strings.HasPrefix(line, theirs):
			where = outside
		}
		if !isRead {
			text, hasNewline := strings.CutSuffix(line, "\n")
			line = strings.Repeat(" ", len(text))
			if hasNewline {
				line += "\n"
			}
		}
		out.WriteString(line)
	}
	p.text = out.String()
}
