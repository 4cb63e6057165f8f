package sweep

import "strings"

// opener and closer enclose the name in a reference as Canonical writes it, the only spelling that
// launchers replace.
const (
	opener = "${{ matrix."
	closer = " }}"
)

// Mention is a reference to a cell's value in a text.
type Mention struct {
	// Name is the name of an axis or a column. It may be invalid; see ValidName.
	Name string
	// From and To are the bytes of the whole reference: text[From:To].
	From, To int
}

// References finds the references in a text, in their order: ${{ matrix.lr }}, with any number of spaces
// and tabs inside the braces. It also finds references with an invalid name, so that callers can report
// them. It ignores other text in such braces.
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
		// The closing braces belong to the last opening ones.
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

// Canonical returns the text with its valid references in the spelling of Reference.
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

// Replace returns a text with the references, in the spelling of Reference, replaced by the values of
// cell i. References to other names stay, and values that look like references are not replaced again.
func (s *Sweep) Replace(i int, text string) string {
	if len(s.Names) == 0 {
		return text
	}
	return replace(text, s.Names, s.Cell(i))
}

// replace is Replace with the cell's names and values.
func replace(text string, names, values []string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, opener)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		text = rest
		value := opener
		for i, name := range names {
			if after, ok := strings.CutPrefix(rest, name); ok && strings.HasPrefix(after, closer) {
				value, text = values[i], after[len(closer):]
				break
			}
		}
		b.WriteString(value)
	}
}
