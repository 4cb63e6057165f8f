package yamltree

import "strings"

// indents returns the possible indentations of the block scalar at start: usually that of
// its first line with text. An explicit number in the header is relative to the parent,
// whose indentation is unknown here. So any depth from that number on is possible, and
// the value decides.
func indents(text string, start int) (depths []int) {
	header, first := blockHeader(text, start)
	depth, most := 0, 0
	for i := first; i < len(text); {
		n := 0
		for i+n < len(text) && text[i+n] == ' ' {
			n++
		}
		_, size := lineBreak(text, i+n)
		most = max(most, n)
		if size == 0 {
			depth = n
			break
		}
		i += n + size
	}
	if at := strings.IndexAny(header, "123456789"); at >= 0 {
		for d := int(header[at] - '0'); d <= depth; d++ {
			depths = append(depths, d)
		}
		return append(depths, most+1)
	}
	return []int{depth, most + 1}
}

// blockHeader returns the indicators of a block scalar's first line, and where the next
// line begins.
func blockHeader(text string, start int) (signs string, next int) {
	i := start + 1
	for i < len(text) && strings.IndexByte("+-123456789", text[i]) >= 0 {
		i++
	}
	signs = text[start+1 : i]
	for i < len(text) {
		if _, size := lineBreak(text, i); size > 0 {
			return signs, i + size
		}
		i++
	}
	return signs, i
}

// block reads a literal or folded scalar with this indentation. It leaves the position
// after its last character.
func (r *reader) block(indent int) {
	folded := r.text[r.pos] == '>'
	// signs has the indicators for the end: "-" removes the last break, "+" keeps all of
	// them.
	signs, next := blockHeader(r.text, r.pos)
	r.pos = next
	// end is after the last line with text; empty lines after it belong to the text only
	// with the indicator "+".
	end := r.pos
	var last *broken // after the previous line
	empty := r.emptyLines(indent)
	spaced := false // the previous line is indented further
	for r.atIndent(indent) && !r.lost {
		deeper := isBlank(r.text[r.pos])
		switch {
		case last == nil:
		case folded && last.as == "\n" && !spaced && !deeper:
			if len(empty) == 0 {
				r.emit(" ", last.start, last.end)
			}
		default:
			r.emit(last.as, last.start, last.end)
		}
		r.emitAll(empty)
		spaced = deeper
		last = r.line()
		end = r.pos
		if last != nil {
			r.pos = last.end
		}
		empty = r.emptyLines(indent)
	}
	if !strings.Contains(signs, "-") && last != nil {
		r.emit(last.as, last.start, last.end)
	}
	if strings.Contains(signs, "+") {
		r.emitAll(empty)
	}
	r.pos = end
}

// emitAll records line breaks that are part of the text.
func (r *reader) emitAll(breaks []broken) {
	for _, b := range breaks {
		r.emit(b.as, b.start, b.end)
	}
}

// line reads the rest of a line, and returns the line break without reading it; nil at
// the end of the text.
func (r *reader) line() *broken {
	start := r.pos
	for r.pos < len(r.text) {
		if as, size := lineBreak(r.text, r.pos); size > 0 {
			r.emit(r.text[start:r.pos], start, r.pos)
			return &broken{as, r.pos, r.pos + size}
		}
		r.pos++
	}
	r.emit(r.text[start:r.pos], start, r.pos)
	return nil
}

// emptyLines skips lines without text and the indentation of the next one. Spaces beyond
// the indentation are text.
func (r *reader) emptyLines(indent int) (breaks []broken) {
	for {
		start := r.pos
		for r.pos < len(r.text) && r.pos-start < indent && r.text[r.pos] == ' ' {
			r.pos++
		}
		as, size := lineBreak(r.text, r.pos)
		if size == 0 {
			return breaks
		}
		breaks = append(breaks, broken{as, r.pos, r.pos + size})
		r.pos += size
	}
}

// atIndent reports whether text begins at the position, with this distance from the start
// of its line.
func (r *reader) atIndent(indent int) bool {
	if r.pos >= len(r.text) || r.pos < indent {
		return false
	}
	before := r.text[r.pos-indent : r.pos]
	if strings.Trim(before, " ") != "" {
		return false
	}
	start := r.pos - indent
	return start == 0 || endsInBreak(r.text[:start])
}

// endsInBreak reports whether a text ends with a line break of YAML 1.1.
func endsInBreak(text string) bool {
	for _, b := range [...]string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if strings.HasSuffix(text, b) {
			return true
		}
	}
	return false
}
