package secret

import (
	"regexp"
	"strings"
	"sync"
)

// pattern is a regular expression that is compiled on first use.
type pattern func() *regexp.Regexp

// lazy returns a pattern. It is not inlined: every copy of its closures makes the program larger.
//
//go:noinline
func lazy(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// product returns every combination of a beginning and an end.
func product(beginnings, ends string) string {
	var all []string
	for _, b := range strings.Fields(beginnings) {
		for _, e := range strings.Fields(ends) {
			all = append(all, b+e)
		}
	}
	return strings.Join(all, " ")
}

// maxBack bounds the text before a mark that can belong to a credential.
const maxBack = 100

// compiled is a format whose patterns compile at the first use.
type compiled struct {
	*format
	body, back pattern
}

// mark is a literal text of a format.
type mark struct {
	text   string
	format *compiled
	// drawn is how many bytes at the end of the text stand for a * and belong to the body.
	drawn int
}

// eachFormat calls found for every credential that its format identifies. It tests every
// second pair of bytes, so that the patterns run only where a mark may be. Every mark has
// at least three bytes, so one of its first two pairs is tested.
func eachFormat(text string, found func(Credential) bool) {
	begins, skip := markStarts(), 0
	for i := 1; i < len(text); i += 2 {
		if !begins.pairs.has(text[i-1], text[i]) {
			continue
		}
		for at := max(0, i-2, skip); at < i; at++ {
			end, more := begins.matchAt(text, at, found)
			if !more {
				return
			}
			skip = max(skip, end)
		}
	}
}

// matchAt calls found for the credentials whose mark is at an offset. It returns the end of those that continue
// until their END line, since a hostile text has many that never end, and whether found wants more.
func (s *starts) matchAt(text string, at int, found func(Credential) bool) (end int, more bool) {
	first := uint16(text[at])<<8 | uint16(text[at+1])
	if s.lists[first] == 0 || at+2 == len(text) {
		return 0, true
	}
	list := s.marks[s.lists[first]]
	for k := range list {
		m := &list[k]
		if m.text[2] != text[at+2] || !strings.HasPrefix(text[at:], m.text) {
			continue
		}
		c, ok := m.match(text, at)
		if ok && !found(c) {
			return 0, false
		}
		if ok && m.format.need&opens != 0 {
			end = c.End
		}
	}
	return end, true
}

// match returns the credential around a mark.
func (m *mark) match(text string, at int) (Credential, bool) {
	f := m.format
	if f.need&anywhere == 0 && !beginsWord(text, at) {
		return Credential{}, false
	}
	from := at + len(m.text)
	loc := f.body().FindStringIndex(text[from:])
	if loc == nil {
		return Credential{}, false
	}
	start, end := at, from+loc[1]
	if f.format.back != "" {
		least := max(0, at-maxBack)
		loc := f.back().FindStringIndex(text[least:at])
		if loc == nil {
			return Credential{}, false
		}
		start = least + loc[0]
		if f.need&bounded != 0 && !beginsWord(text, start) {
			return Credential{}, false
		}
	}
	body := text[from-m.drawn : end]
	switch {
	case f.need&opens != 0:
		end = keyEnd(text, end)
	case f.format.back == "" && variety(body) < 6,
		f.need&digits != 0 && !mixed(body),
		f.need&cases != 0 && (!mixed(body) || strings.ToLower(body) == body || strings.ToUpper(body) == body):
		return Credential{}, false
	case f.need&after != 0:
		start = from
	}
	return Credential{Span{start, end}, f.what, true}, true
}

// keyEnd returns the end of the private key that begins before i: its END line, or else
// the quote after it.
func keyEnd(text string, i int) int {
	if n := strings.Index(text[i:], "-----END "); n >= 0 {
		i += n + len("-----END ")
		if n := strings.Index(text[i:], "-----"); n >= 0 {
			return i + n + len("-----")
		}
	}
	if n := strings.IndexByte(text[i:], '"'); n >= 0 {
		return i + n
	}
	return len(text)
}

// beginsWord reports whether a word can begin at an offset: after no letter or digit,
// unless that ends an escape sequence.
func beginsWord(text string, at int) bool {
	if at == 0 || !isAlnum(text[at-1]) && text[at-1] != '_' {
		return true
	}
	before := text[max(0, at-20):at]
	return strings.ContainsAny(before, "\\%\x1b") && escapes().MatchString(before)
}

// escapes matches the forms of control characters and signs in other formats: \n of JSON,
// %3D of a URL, the colours of a terminal.
var escapes = lazy(`(\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|(\x1b|\\x1b|\\u001b|\\033|\\e)\[[0-9;]*m)$`)

// pairSet is a set of pairs of bytes.
type pairSet [1 << 16 / 64]uint64

func (s *pairSet) has(a, b byte) bool {
	pair := uint16(a)<<8 | uint16(b)
	return s[pair>>6]&(1<<(pair&63)) != 0
}

func (s *pairSet) add(a, b byte) {
	pair := uint16(a)<<8 | uint16(b)
	s[pair>>6] |= 1 << (pair & 63)
}

// starts holds the beginnings of the marks: pairs has their first two bytes, and the second
// and third. hints has these and the pairs of secretWords, and triples the first three bytes
// of both. lists has the index of the marks with the same first two bytes.
type starts struct {
	pairs, hints pairSet
	triples      tripleSet
	lists        [1 << 16]uint16
	marks        [][]mark
}

// tripleSet is a set of three bytes in a row. It also has a few others, with the same hash.
type tripleSet [1 << 16 / 64]uint64

func (s *tripleSet) has(text string, at int) bool {
	h := tripleHash(text[at], text[at+1], text[at+2])
	return s[h>>6]&(1<<(h&63)) != 0
}

func (s *tripleSet) add(a, b, c byte) {
	h := tripleHash(a, b, c)
	s[h>>6] |= 1 << (h & 63)
}

// tripleHash multiplies by 2^32 divided by the golden ratio, which spreads numbers that are close.
func tripleHash(a, b, c byte) uint16 {
	return uint16((uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 0x9E3779B1 >> 16)
}

// add adds a mark, which must have three bytes.
func (s *starts) add(m mark) {
	t := m.text
	first := uint16(t[0])<<8 | uint16(t[1])
	s.triples.add(t[0], t[1], t[2])
	s.pairs.add(t[0], t[1])
	s.pairs.add(t[1], t[2])
	if s.lists[first] == 0 {
		s.lists[first] = uint16(len(s.marks))
		s.marks = append(s.marks, nil)
	}
	list := &s.marks[s.lists[first]]
	*list = append(*list, m)
}

// markStarts holds the marks of all formats.
var markStarts = sync.OnceValue(func() *starts {
	s := &starts{marks: make([][]mark, 1)}
	for i := range formats {
		f := &compiled{format: &formats[i], body: lazy("^(?:" + formats[i].body + ")")}
		if f.format.back != "" {
			f.back = lazy("(?:" + f.format.back + ")$")
		}
		for _, text := range strings.Fields(f.marks) {
			text = strings.ReplaceAll(text, "␣", " ")
			stem, open := strings.CutSuffix(text, "*")
			if !open {
				s.add(mark{text, f, 0})
				continue
			}
			for _, c := range firstOf(f.format.body) {
				s.add(mark{stem + string(c), f, 1})
			}
		}
	}
	s.hints = s.pairs
	s.addWords()
	return s
})

// firstOf returns the letters that the * of a mark matches, by the alphabet of the body.
func firstOf(body string) string {
	if strings.HasPrefix(body, "[0-9a-f]") {
		return strings.ReplaceAll(hexDigits, " ", "")
	}
	return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
}

// variety returns the number of different bytes of a text.
func variety(s string) int {
	var seen [256]bool
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
