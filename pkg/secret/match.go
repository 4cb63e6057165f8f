package secret

import (
	"regexp"
	"strings"
	"sync"
)

// pattern is a regular expression that is compiled on first use.
type pattern func() *regexp.Regexp

// lazy returns a pattern.
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
	index      int // in formats
	body, back func() *grammar
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
func eachFormat(text string, found func(Credential) bool) { (&search{text: text}).each(found) }

// search is the search of one text for the credentials of formats. Its work is proportional to the length of the text:
// a mark costs at most the bounds of its pattern, and what has no bound is remembered.
type search struct {
	text string
	// seen holds what is known of each format; nil until a mark of any occurs.
	seen []*seen
	// keyEnds and keyDashes are where "-----END " and the dashes after it are next; zero: not searched.
	keyEnds, keyDashes, quotes next
}

// seen is what the marks of one format showed so far.
type seen struct {
	reader
	// end is the greatest end of a body that was found, or that had too few different letters. A later body that
	// ends there is a part of it, so that it is found or has no more letters.
	end int
}

// next is the first offset of a literal text after another offset; 0 before the first search, -1 without one.
type next struct{ at int }

// find returns the first offset of a part from an offset; -1 without one. Offsets must not descend.
func (n *next) find(text, part string, from int) int {
	if n.at == 0 || n.at > 0 && n.at < from {
		if n.at = strings.Index(text[from:], part); n.at >= 0 {
			n.at += from
		}
	}
	return n.at
}

// each calls found for every credential, as eachFormat.
func (s *search) each(found func(Credential) bool) {
	begins, skip := markStarts(), 0
	for i := 1; i < len(s.text); i += 2 {
		if !begins.pairs.has(s.text[i-1], s.text[i]) {
			continue
		}
		for at := max(0, i-2, skip); at < i; at++ {
			end, more := s.matchAt(begins, at, found)
			if !more {
				return
			}
			skip = max(skip, end)
		}
	}
}

// matchAt calls found for the credentials whose mark is at an offset. It returns the end of those that continue
// until their END line, since a hostile text has many that never end, and whether found wants more.
func (s *search) matchAt(begins *starts, at int, found func(Credential) bool) (end int, more bool) {
	text := s.text
	first := uint16(text[at])<<8 | uint16(text[at+1])
	if begins.lists[first] == 0 || at+2 == len(text) {
		return 0, true
	}
	list := begins.marks[begins.lists[first]]
	for k := range list {
		m := &list[k]
		if m.text[2] != text[at+2] || !strings.HasPrefix(text[at:], m.text) {
			continue
		}
		c, ok := s.match(m, at)
		if ok && !found(c) {
			return 0, false
		}
		if ok && m.format.need&opens != 0 {
			end = c.End
		}
	}
	return end, true
}

// seenOf returns what is known of a format.
func (s *search) seenOf(f *compiled) *seen {
	if s.seen == nil {
		s.seen = make([]*seen, len(formats))
	}
	if s.seen[f.index] == nil {
		s.seen[f.index] = &seen{reader: reader{text: s.text, runs: make([]Span, f.body().runs)}}
	}
	return s.seen[f.index]
}

// match returns the credential around a mark, unless an earlier one of the same format includes it.
func (s *search) match(m *mark, at int) (Credential, bool) {
	f := m.format
	if f.need&anywhere == 0 && !beginsWord(s.text, at) {
		return Credential{}, false
	}
	seen := s.seenOf(f)
	from := at + len(m.text)
	start, end := at, seen.forward(f.body().items, from)
	if end <= seen.end {
		return Credential{}, false
	}
	if f.format.back != "" {
		start = seen.backward(f.back().items, at, max(0, at-maxBack))
		if start < 0 || f.need&bounded != 0 && !beginsWord(s.text, start) {
			return Credential{}, false
		}
	}
	seen.end = end
	body := s.text[from-m.drawn : end]
	seen.steps += len(body)
	switch {
	case f.need&opens != 0:
		if f.need&pem != 0 && !strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(body, "-----"), " BLOCK"),
			"PRIVATE KEY") {
			return Credential{}, false
		}
		end = s.keyEnd(end)
	case f.format.back == "" && variety(body) < 6,
		f.need&digits != 0 && !mixed(body),
		f.need&cases != 0 && (!mixed(body) || strings.ToLower(body) == body || strings.ToUpper(body) == body),
		f.vendor == "AWS" && isExample(body):
		return Credential{}, false
	case f.need&after != 0:
		start = from
	}
	return Credential{Span{start, end}, f.what, true}, true
}

// keyEnd returns the end of the private key that begins before i: its END line, or else
// the quote after it.
func (s *search) keyEnd(i int) int {
	const end, dashes = "-----END ", "-----"
	if n := s.keyEnds.find(s.text, end, i); n >= 0 {
		i = n + len(end)
		if n := s.keyDashes.find(s.text, dashes, i); n >= 0 {
			return n + len(dashes)
		}
	}
	if n := s.quotes.find(s.text, `"`, i); n >= 0 {
		return n
	}
	return len(s.text)
}

// beginsWord reports whether a word can begin at an offset: after no letter or digit,
// unless that ends an escape sequence, such as \n of JSON, %3D of a URL or a terminal's colour.
func beginsWord(text string, at int) bool {
	if at == 0 || !isAlnum(text[at-1]) && text[at-1] != '_' {
		return true
	}
	before := text[max(0, at-20):at]
	last := before[len(before)-1]
	switch escape := before[max(0, len(before)-6):]; {
	case last == 'm':
		return colour().MatchString(before)
	case strings.IndexByte("nrtbf", last) >= 0 && strings.HasSuffix(before[:len(before)-1], `\`):
		return true
	case !isHex(last):
		return false
	default:
		return len(escape) > 2 && escape[len(escape)-3] == '%' && isHex(escape[len(escape)-2]) ||
			len(escape) == 6 && escape[:2] == `\u` && isHex(escape[2]) && isHex(escape[3]) && isHex(escape[4])
	}
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// colour matches the escape sequence of a terminal's colours, also as other formats write it.
var colour = lazy(`(\x1b|\\x1b|\\u001b|\\033|\\e)\[[0-9;]*m$`)

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
		f := &compiled{format: &formats[i], index: i, body: lazyGrammar(formats[i].body),
			back: lazyGrammar(formats[i].back)}
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
