package diag

import "strings"

// The markers of a merge conflict, each at the start of a line, as git writes them.
const (
	ours    = "<<<<<<<"
	base    = "|||||||" // with merge.conflictStyle=diff3
	between = "======="
	theirs  = ">>>>>>>"
)

// maxConflicts limits how many conflicts of a file are reported.
const maxConflicts = 20

// Conflicts reports the merge conflicts in a JSON or YAML file under a rule, and returns the text with the first side
// of each. The text keeps its length, so that locations in it are those in the file. Without conflicts, it returns the
// text unchanged. In both languages, a line of a string cannot begin with a marker.
func Conflicts(src *Source, rule string) (text string, conflicts List) {
	if !conflicted(src.Text) {
		return src.Text, nil
	}
	return firstSides(src, rule)
}

// firstSides is Conflicts for a text that may have one.
func firstSides(src *Source, rule string) (text string, conflicts List) {
	const outside, first, second = 0, 1, 2
	var out strings.Builder
	where := outside
	for line := range strings.Lines(src.Text) {
		isRead := where != second
		switch {
		case where == outside && strings.HasPrefix(line, ours):
			if len(conflicts) < maxConflicts {
				conflicts = append(conflicts, Diagnostic{Rule: rule, Source: src,
					Span:    Span{Start: out.Len(), End: out.Len() + len(ours)},
					Message: "a merge conflict that is not resolved",
					Hint:    "choose one of the two sides and remove the markers"})
			}
			where, isRead = first, false
		case where == first && (strings.HasPrefix(line, base) || strings.HasPrefix(line, between)):
			where, isRead = second, false
		case where == second && strings.HasPrefix(line, theirs):
			where, isRead = outside, false
		}
		if !isRead {
			content := strings.TrimSuffix(line, "\n")
			line = strings.Repeat(" ", len(content)) + line[len(content):]
		}
		out.WriteString(line)
	}
	return out.String(), conflicts
}

// conflicted reports whether a text has the three markers of a conflict, in their order.
func conflicted(text string) bool {
	if !strings.Contains(text, ours) {
		return false // faster than to look at every line
	}
	if !strings.HasPrefix(text, ours) {
		at := strings.Index(text, "\n"+ours)
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	_, text, ok := strings.Cut(text, "\n"+between)
	return ok && strings.Contains(text, "\n"+theirs)
}
