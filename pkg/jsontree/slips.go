package jsontree

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"
)

// separated checks the commas before the item at tok. If tok is not an item but a second
// value, it skips that and returns false.
func (p *parser) separated(l *level) bool {
	switch {
	case l.items == 0 && l.commas > 0:
		p.replace(l.first, l.last, "", "remove it", "a comma before the first %s", l.node.Kind.item())
	case l.commas > 1:
		p.replace(l.first, l.last, ",", "remove one", "%d commas in a row", l.commas)
	case l.commas == 1 && l.first.text != ",":
		p.replace(l.first, l.first, ",", "write a comma", "%s in place of a comma", l.first.text)
	// One comma, or none before the first item, is correct.
	case l.commas > 0 || l.items == 0 || p.forgiven:
	case l.node.Kind == Object && !p.startsMember():
		p.report(p.tok.start, p.tok.end, "remove it, or put the values into [ ]", "a second value for one name")
		p.skip()
		return false
	default:
		p.report(p.end, p.end, "write a comma here", "missing comma")
		p.fix(",")
	}
	return true
}

// startsMember reports whether tok, without a comma before it, looks like a name.
func (s *scanner) startsMember() bool {
	line, _, _ := strings.Cut(s.text[s.end:s.tok.start], "\n")
	// A string on a line of its own is the next name, whose comma and colon may be
	// missing.
	newLine := len(line) < s.tok.start-s.end
	return (s.tok.kind == str || s.tok.kind == bareword) && (newLine || s.colonFollows())
}

// key reads the member's name at tok. Without a name it reports the slip, skips the member and
// returns false.
func (p *parser) key() (token, bool) {
	if p.members() {
		return token{}, false
	}
	switch p.tok.kind {
	case str:
		p.repairName()
	case bareword, number:
		if !p.nameWord() {
			return token{}, false
		}
	default:
		p.report(p.tok.start, p.tok.end, `write "name": before it`, "a value without a name")
		if p.tok.kind == colon {
			p.advance()
		}
		// The value of a missing name is skipped without further messages.
		quiet := p.quiet
		p.quiet = true
		p.value()
		p.quiet = quiet
		return token{}, false
	}
	key := p.tok
	p.advance()
	return key, true
}

// nameWord reads the word at tok as a name without quotes. It reports any other text once,
// and skips it up to the next comma.
func (p *parser) nameWord() bool {
	// half is true for a name such as image": "nginx", without its first quote.
	half := strings.HasPrefix(p.text[p.pos:], `"`) && nameEnds(p.text, p.pos+1)
	switch {
	case half:
		p.pos++
		p.tok.end++
		p.replace(p.tok, p.tok, whole(p.tok.text), "write "+quoted(p.tok.text), "the name has no opening quote")
	case p.colonFollows():
		p.replace(p.tok, p.tok, whole(p.tok.text), "write "+quoted(p.tok.text), "the name %s has no quotes",
			clip(p.tok.text))
	default:
		p.report(p.tok.start, p.tok.end, `write "name": value`, "%s is not a member", clip(p.tok.text))
		p.skip()
		return false
	}
	return true
}

// colon reads the colon between a name and its value. It returns false if there is no
// value.
func (p *parser) colon(l *level, key token) bool {
	switch p.tok.kind {
	case eof:
		return false
	case colon:
		if p.tok.text != ":" {
			p.replace(p.tok, p.tok, ":", "write a colon", "%s in place of a colon", p.tok.text)
		}
		p.advance()
		return true
	case comma, closeObject, closeArray:
		if !l.reported { // { "a", "b" } is one slip
			p.report(key.start, key.end, "write "+quoted(key.text)+": and the value, or use [ ] for a list",
				"%s has no value", quoted(key.text))
		}
		l.reported = true
		return false
	}
	if p.atName() {
		p.forgiven = true
		p.noValue(key)
		return false
	}
	p.report(p.end, p.end, "write a colon here", "missing colon after %s", quoted(key.text))
	p.fix(":")
	return true
}

// noValue reports a name without a value.
func (p *parser) noValue(key token) {
	p.report(key.start, p.end, "write a value after the colon", "%s has no value", quoted(key.text))
}

// atName reports whether tok is not a value but the next member's name.
func (s *scanner) atName() bool {
	switch s.tok.kind {
	case str:
		return s.colonFollows()
	case bareword:
		// nginx:latest is a value, nginx: latest a member
		return s.colonFollows() && attached(s.text, s.pos) == s.pos
	}
	return false
}

// colonFollows reports whether a colon comes after tok.
func (s *scanner) colonFollows() bool {
	// Most strings are values, and end here without a scan.
	if s.pos < len(s.text) && (s.text[s.pos] == ',' || s.text[s.pos] == '\n') {
		return false
	}
	return nameEnds(s.text, s.pos)
}

// skip skips the rest of an item that is already reported.
func (p *parser) skip() {
	quiet := p.quiet
	p.quiet = true
	// The item ends at a comma or a closing bracket of its own level.
	for depth := 0; p.tok.kind != eof; p.advance() {
		switch p.tok.kind {
		case openObject, openArray:
			depth++
		case closeObject, closeArray:
			depth--
		case comma:
			if depth == 0 {
				depth = -1
			}
		}
		if depth < 0 {
			break
		}
	}
	p.quiet = quiet
}

// finish reports text after the document.
func (p *parser) finish(root *Node) {
	hint, message := "remove it, or an earlier bracket that closes too much", ""
	switch {
	case p.done, root != nil && p.tok.kind == eof:
		return
	case p.tok.kind == eof:
		hint, message = "write at least { }", "the file contains no value"
	case p.tok.kind == closeObject || p.tok.kind == closeArray:
		message = p.tok.text + " closes nothing"
	case root == nil:
		hint, message = "begin with {", "unexpected "+p.tok.text+" before the document"
	case p.tok.kind == openObject || p.tok.kind == openArray:
		hint, message = "keep one document per file", "a second document begins here"
	case p.tok.kind == comma:
		hint = "remove it and what follows, or an earlier bracket that closes too much"
		message = p.tok.text + " after the end of the document"
	default:
		message = "text after the end of the document"
	}
	p.report(p.tok.start, p.tok.end, hint, "%s", message)
}

// unit extends the number at tok to a text with a unit, such as 30 GiB, and reports that
// it lacks quotes.
func (s *scanner) unit() bool {
	if s.pos+1 >= len(s.text) || s.text[s.pos] != ' ' || !isNameByte(s.text[s.pos+1]) || digits(s.text[s.pos+1:]) > 0 {
		return false
	}
	end := s.bareEnd()
	if end == s.tok.end {
		return false
	}
	s.widen(end)
	s.bareText()
	return true
}

// literal reads a word as a value: a constant, a number in another notation, or a text
// without quotes.
func (p *parser) literal() *Node {
	if w := p.tok.text; w == "true" || w == "false" || w == "null" {
		return p.constant(w)
	}
	p.widen(p.bareEnd())
	if v, ok := foreignWords[p.tok.text]; ok {
		p.replace(p.tok, p.tok, v, "write "+v, "%s is not a JSON keyword", p.tok.text)
		return p.constant(v)
	}
	if noNumbers[p.tok.text] {
		p.report(p.tok.start, p.tok.end, "write a number", "JSON has no %s", p.tok.text)
		return p.scalar(Null, "")
	}
	if fixed, message := fixNumber(p.tok.text); message != "" {
		p.replace(p.tok, p.tok, fixed, "write "+fixed, "%s", message)
		return p.scalar(Number, fixed)
	}
	if p.pos < len(p.text) && p.text[p.pos] == '"' && endsValue(p.text[p.pos+1:]) {
		p.tok.end++
		p.pos++
		p.report(p.tok.start, p.tok.end, "write "+quoted(p.tok.text), "the string has no opening quote")
		return p.scalar(String, p.tok.text)
	}
	p.bareText()
	return p.scalar(String, p.tok.text)
}

// constant reads tok as true, false or null.
func (p *parser) constant(word string) *Node {
	if word == "null" {
		return p.scalar(Null, "")
	}
	return p.scalar(Bool, word)
}

// bareText reports a text without quotes.
func (s *scanner) bareText() {
	if start, _ := FindPlaceholder(s.tok.text); start >= 0 {
		s.reportPlaceholder()
		return
	}
	s.replace(s.tok, s.tok, whole(s.tok.text), "put it in double quotes: "+quoted(s.tok.text), "%s is not a JSON value",
		clip(s.tok.text))
}

// foreignWords maps the constants of other languages to the closest ones of JSON.
var foreignWords = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"None": "null", "nil": "null", "Null": "null", "NULL": "null", "undefined": "null",
}

// noNumbers are the values of floating-point types that JSON cannot write.
var noNumbers = map[string]bool{"NaN": true, "nan": true, "-NaN": true, "Infinity": true, "+Infinity": true,
	"-Infinity": true, "inf": true, "-inf": true}

// widen extends the token to an offset. Invalid UTF-8 in it is replaced.
func (s *scanner) widen(end int) {
	s.tok.end, s.pos = end, end
	s.tok.text = strings.ToValidUTF8(s.text[s.tok.start:end], "\ufffd")
}

// bareEnd returns the end of the text without quotes that begins at tok: before a comma,
// bracket, quote or comment, the end of the line, or a member's name.
func (s *scanner) bareEnd() int {
	end := attached(s.text, s.pos)
	for {
		next := end
		for next < len(s.text) && (s.text[next] == ' ' || s.text[next] == '\t') {
			next++
		}
		n := 0
		if next < len(s.text) && commentLen(s.text[next:]) == 0 {
			n = wordLen(s.text[next:])
		}
		if n == 0 || isConstant(s.text[next:next+n]) || nameEnds(s.text, next+n) {
			return end
		}
		end = attached(s.text, next+n)
	}
}

// fixNumber returns what is wrong with a text that resembles a number, and the correct
// number. The message is empty for any other text.
func fixNumber(s string) (fixed, message string) {
	sign, body := "", s
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, body = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if body == "" || digits(body) == 0 && body[0] != '.' {
		return "", ""
	}
	if len(body) > 2 && body[0] == '0' && strings.IndexByte("xXoObB", body[1]) >= 0 && len(body) < 64 {
		if i, ok := new(big.Int).SetString(body, 0); ok {
			return sign + i.String(), fmt.Sprintf("%s is not decimal", s)
		}
		return "", ""
	}
	what := ""
	if s[0] == '+' {
		what = "a number cannot start with +"
	}
	fix := func(now, message string) {
		if now != body {
			body, what = now, message
		}
	}
	fix(strings.ReplaceAll(body, "_", ""), "a number cannot contain _")
	t := strings.TrimLeft(body, "0")
	if digits(t) == 0 && len(t) < len(body) {
		t = "0" + t
	}
	fix(t, "a number cannot have a leading zero")
	if strings.HasPrefix(body, ".") {
		fix("0"+body, "a number must start with a digit")
	}
	fix(strings.TrimSuffix(body, "."), "digits must follow the point")
	if t := strings.TrimRight(body, "+-"); len(t) > 1 && t[len(t)-1]|0x20 == 'e' {
		fix(strings.TrimSuffix(t[:len(t)-1], "."), "digits must follow the exponent sign e")
	}
	body = strings.Replace(strings.Replace(body, ".e", "e", 1), ".E", "E", 1)
	if what == "" {
		what = "digits must follow the point"
	}
	if !isNumber(sign + body) {
		return "", ""
	}
	return sign + body, what
}

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
	for !d.unclosed && d.quote != '`' && d.pos < len(d.s.text) && isNameByte(d.s.text[d.pos]) {
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
