package sweep

import "strings"

// opener and closer are around the name in a reference as Canonical writes it, which
// is the only spelling that launchers replace.
const (
	opener = "${{ matrix."
	closer = " }}"
)

// Mention is a reference to a cell's value in a text.
type Mention struct {
	// Name is what stands for the name of an axis or a column; ValidName tells whether
	// it can be one.
	Name string
	// From and To are the bytes of the whole reference: text[From:To].
	From, To int
}

// References finds the references in a text, in their order: ${{ matrix.lr }}, with any
// number of spaces and tabs, or none, inside the braces. One whose name is not valid
// is found, too, so that it can be said. Other text in such braces is not ours.
func References(text string) []Mention {
	var found []Mention
	for at := 0; ; {
		open := strings.Index(text[at:], "${{")
		if open < 0 {
			return found
		}
		from := at + open
		at = from + len("${{")
		length := strings.Index(text[at:], "}}")
		if length < 0 {
			return found
		}
		inner := text[at : at+length]
		// The one that is closed is the last that was opened.
		if again := strings.LastIndex(inner, "${{"); again >= 0 {
			at += again
			continue
		}
		at += length + len("}}")
		if name, ok := strings.CutPrefix(strings.Trim(inner, " \t"), "matrix."); ok {
			found = append(found, Mention{Name: name, From: from, To: at})
		}
	}
}

// Canonical is the text with its valid references as Reference writes them.
func Canonical(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range References(text) {
		if !ValidName(m.Name) {
			continue
		}
		b.WriteString(text[at:m.From])
		b.WriteString(Reference(m.Name))
		at = m.To
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// Replace is a text as the child with cell i sees it: references, written as Reference
// writes them, are replaced by the cell's values. References to other names stay, and so
// does a value that looks like one.
func (s *Sweep) Replace(i int, text string) string {
	if len(s.Names) == 0 {
		return text
	}
	return replace(text, s.Names, s.Cell(i))
}

func replace(text string, names, values []string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, opener)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		text = rest
		by := opener
		for i, name := range names {
			if after, ok := strings.CutPrefix(rest, name); ok && strings.HasPrefix(after, closer) {
				by, text = values[i], after[len(closer):]
				break
			}
		}
		b.WriteString(by)
	}
}
