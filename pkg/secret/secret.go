package secret

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Secrets holds the credentials of a text. A nil Secrets has none; all methods accept it.
type Secrets struct {
	spans  []Span
	values []value
	// known holds the forms that are hidden wherever they occur.
	known forms
	// pieces are parts of these forms. They identify a form that a message shortens.
	pieces map[string]part
}

// part is the location of a piece in a form.
type part struct {
	form  string
	start int
}

// value is a credential by its location in the text, and the ways in which it can be
// written there and in messages.
type value struct {
	at    Span
	forms []string
}

const (
	// leastKnown is the least length, in bytes, of a value that is hidden everywhere.
	// Shorter values and plain words are hidden only at their location.
	leastKnown = 6
	// leastWord is that length for a value that consists of letters.
	leastWord = 16
	// piece is the length of pieces.
	piece = 8

	// Bounds on the time and memory for a hostile text. Values beyond them are hidden only
	// at their location.
	maxPieces = 1 << 17
	maxForms  = 1 << 17 // the bytes of all forms
	maxBefore = 1 << 10 // the bytes before a piece that are compared
)

// In returns the credentials of a text: a file, a log, a message.
func In(text string) *Secrets {
	found := credentialSpans(text)
	if len(found) == 0 {
		return nil
	}
	s := &Secrets{pieces: map[string]part{}}
	for _, at := range merged(slices.Clone(found)) {
		v := value{at, writtenForms(text[at.Start:at.End])}
		s.values = append(s.values, v)
		for _, form := range v.forms {
			s.remember(form)
		}
	}
	s.known.link()
	s.known.each(text, func(start, end int) { found = append(found, Span{start, end}) })
	s.spans = merged(found)
	return s
}

// credentialSpans returns the locations of the credentials of a text, in any order.
func credentialSpans(text string) (found []Span) {
	for _, c := range find(text, 0) {
		found = append(found, c.Span)
	}
	eachFormat(text, func(c Credential) bool { found = append(found, c.Span); return true })
	passwordsIn(text, func(c Credential) { found = append(found, c.Span) })
	if isDocument(text) {
		return found
	}
	start := 0
	for line := range strings.Lines(text) {
		for _, c := range scan("", line, 0) {
			found = append(found, Span{start + c.Start, start + c.End})
		}
		start += len(line)
	}
	return found
}

// writtenForms returns the ways in which a value can be written: as in the text, decoded, and
// quoted by Go.
func writtenForms(raw string) []string {
	list := []string{raw}
	text, _ := decode(raw)
	for _, form := range []string{text, strings.Trim(strconv.Quote(text), `"`)} {
		if !slices.Contains(list, form) {
			list = append(list, form)
		}
	}
	return list
}

// remember records a form that is distinctive enough to be hidden everywhere.
func (s *Secrets) remember(form string) {
	if len(form) < leastKnown || onlyLetters(form) && len(form) < leastWord || !s.known.add(form) {
		return
	}
	for i := 0; i+piece <= len(form) && len(s.pieces) < maxPieces; i++ {
		if p := form[i : i+piece]; strings.IndexFunc(p, isSign) >= 0 {
			s.pieces[p] = part{form, i}
		}
	}
}

// eachPiece calls mark for every occurrence of a part of a known form, extended as far as
// the two agree.
func (s *Secrets) eachPiece(text string, mark func(start, end int)) {
	for i := 0; len(s.pieces) > 0 && i+piece <= len(text); i++ {
		p, ok := s.pieces[text[i:i+piece]]
		if !ok {
			continue
		}
		start, end := i, i+piece
		for before := p.form[:p.start]; before != "" && start > max(0, i-maxBefore) &&
			before[len(before)-1] == text[start-1]; start-- {
			before = before[:len(before)-1]
		}
		for after := p.form[p.start+piece:]; after != "" && end < len(text) && after[0] == text[end]; end++ {
			after = after[1:]
		}
		mark(start, end)
		i = max(i, end-piece)
	}
}

// merged sorts spans and joins those that overlap.
func merged(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	out := spans[:1]
	for _, p := range spans[1:] {
		if last := &out[len(out)-1]; p.Start <= last.End {
			last.End = max(last.End, p.End)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// Spans returns the locations of the credentials, sorted and without overlaps.
func (s *Secrets) Spans() []Span {
	if s == nil {
		return nil
	}
	return s.spans
}

// Redact returns a message about that part of the text, with an asterisk for every
// character of a credential.
func (s *Secrets) Redact(message string, at Span) string {
	if s == nil {
		return message
	}
	h := hidden{text: message}
	s.known.each(message, h.hide)
	s.eachPiece(message, h.hide)
	first, _ := slices.BinarySearchFunc(s.values, at.Start, func(v value, start int) int { return v.at.End - start })
	for _, v := range s.values[first:] {
		if v.at.Start > at.End {
			break
		}
		for _, form := range v.forms {
			h.hideAll(form)
		}
	}
	return h.String()
}

// Mask returns a text with an asterisk for every character of a credential. The
// name is that of the variable, parameter or tag whose value the text is; "" for any
// other text: a file, a log line, a message, a request as JSON.
func Mask(name, text string) string {
	h := hidden{text: text}
	for _, p := range In(text).Spans() {
		h.hide(p.Start, p.End)
	}
	if name != "" {
		for _, c := range Find(name, text) {
			h.hide(c.Start, c.End)
		}
	}
	return h.String()
}

// hidden is a text with the bytes that must not be shown.
type hidden struct {
	text  string
	bytes []bool // nil while there are none
}

// hide hides the bytes from start to end.
func (h *hidden) hide(start, end int) {
	if h.bytes == nil {
		h.bytes = make([]bool, len(h.text))
	}
	for i := start; i < end; i++ {
		h.bytes[i] = true
	}
}

// hideAll hides every occurrence of a part.
func (h *hidden) hideAll(part string) {
	for i := 0; ; {
		n := strings.Index(h.text[i:], part)
		if n < 0 {
			return
		}
		h.hide(i+n, i+n+len(part))
		i += n + len(part)
	}
}

// String returns the text with an asterisk for every character with a hidden
// byte. Line ends stay.
func (h *hidden) String() string {
	if h.bytes == nil {
		return h.text
	}
	var b strings.Builder
	for i := 0; i < len(h.text); {
		_, size := utf8.DecodeRuneInString(h.text[i:])
		if slices.Contains(h.bytes[i:i+size], true) && h.text[i] != '\n' {
			b.WriteByte('*')
		} else {
			b.WriteString(h.text[i : i+size])
		}
		i += size
	}
	return b.String()
}

func onlyLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
}

// isSign reports whether a character is neither part of words nor a separator of words.
func isSign(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune(" -_,", r) }
