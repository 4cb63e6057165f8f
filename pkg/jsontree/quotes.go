package jsontree

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// smartQuotes are typographic quotes, which word processors write.
const smartQuotes = "“”„‟«»‘’‚‛‹›＂"

func isQuote(r rune) bool { return r >= utf8.RuneSelf && strings.ContainsRune(smartQuotes, r) }

// closing returns the quote that closes the one that open is.
func closing(open rune) rune {
	switch open {
	case '“', '„', '‟':
		return '”'
	case '‘', '‚', '‛':
		return '’'
	case '«':
		return '»'
	case '‹':
		return '›'
	}
	return open
}

// closesQuote reports whether r closes a string that open opened. Authors mix typographic
// quotes with each other and with plain ones.
func closesQuote(open, r rune) bool {
	if r == open {
		return true
	}
	return isQuote(open) && (r == closing(open) || r == '"' && strings.ContainsRune("“”„‟", open))
}

// foreignString reads a string in quotes that are not JSON's.
func (s *scanner) foreignString(open rune, size int) {
	start, before, notUTF8 := s.pos, len(s.list), s.notUTF8
	d := decoder{s: s, start: start, pos: start + size, quote: open}
	d.foreign()
	s.tok = token{kind: str, start: start, end: d.pos, text: string(d.out), unclosed: d.unclosed}
	s.pos = d.pos
	if s.done || d.unclosed {
		return
	}
	name := map[rune]string{'\'': "single quotes", '`': "backticks"}[open]
	if name == "" {
		name = "typographic quotes"
	}
	// Other slips inside change with the quotes.
	s.list, s.notUTF8 = s.list[:before], notUTF8
	s.report(start, d.pos, "write "+quoted(s.tok.text), "a string in %s", name)
	s.requote(whole(s.tok.text))
}

// foreign reads up to the closing quote as run does, but a quote that is followed by more
// text is part of the string: 'it's'.
func (d *decoder) foreign() {
	d.run()
	for !d.unclosed && d.quote != '`' && d.pos < len(d.s.text) && isLetter(d.s.text[d.pos]) {
		rest := d.s.text[d.pos:]
		i := strings.IndexAny(rest, "\n"+string(d.quote)+string(closing(d.quote)))
		if i < 0 || rest[i] == '\n' {
			return
		}
		_, size := utf8.DecodeLastRuneInString(d.s.text[:d.pos])
		d.out = append(d.out, d.s.text[d.pos-size:d.pos]...)
		d.run()
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' }

// innerQuotes fixes the string at tok if text follows it immediately. Either its closing
// quote is missing, and another string follows: "train.py, "--epochs"; or it contains bare
// quotes: "say "hi" now".
func (s *scanner) innerQuotes() {
	if s.tok.unclosed || s.text[s.pos-1] != '"' {
		return
	}
	raw := strings.TrimRight(s.text[s.tok.start:s.pos-1], " \t")
	if strings.HasSuffix(raw, ",") && len(raw) > 2 {
		s.recut(s.tok.start + len(raw) - 1)
		s.report(s.tok.start, s.tok.end, `write " at the end`, "the string is not closed")
		return
	}
	at := s.pos - 1
	for i := at + 1; i < len(s.text) && s.text[i] != '\n'; i++ {
		if s.text[i] != '"' || !endsValue(s.text[i+1:]) || nameEnds(s.text, i+1) {
			continue
		}
		s.recut(i)
		s.pos, s.tok.end = i+1, i+1
		s.report(at, at+1, `write \" inside a string`, `a bare " in a string`)
		return
	}
}

// recut ends the string at tok at offset end.
func (s *scanner) recut(end int) {
	s.tok.text = strings.ToValidUTF8(s.text[s.tok.start+1:end], "\ufffd")
	s.tok.end, s.pos = end, end
}

// whole returns text as a JSON string for an edit; quoted, for messages, shortens it.
func whole(text string) string { return string(appendString(nil, text)) }

// quoted returns s as JSON writes it, shortened if it is long.
func quoted(s string) string { return string(appendString(nil, clip(s))) }

// clip shortens text of the file for a message.
func clip(s string) string {
	const limit = 40
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// repairName ends the member name at tok where its closing quote is missing: "name:
// "value".
func (s *scanner) repairName() {
	raw := s.text[s.tok.start:s.tok.end]
	n := strings.IndexByte(raw, ':')
	if n < 2 {
		return
	}
	if rest := strings.TrimLeft(s.text[s.pos:], " \t\r\n"); !s.tok.unclosed &&
		(strings.TrimSpace(raw[n+1:]) != `"` || rest == "" || rest[0] == ':' || rest[0] == '=') {
		return
	}
	if !s.tok.unclosed {
		s.report(s.tok.start, s.tok.start+n, fmt.Sprintf("write %s:", quoted(raw[1:n])), "the name is not closed")
	}
	s.recut(s.tok.start + n)
}
