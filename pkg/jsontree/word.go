package jsontree

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"
)

// numberLen returns the length of the number at the start of s (RFC 8259, section 6), or 0.
func numberLen(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 1 && s[i] == '0' {
		return 0
	}
	i += n
	if i < len(s) && s[i] == '.' {
		n = digits(s[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		n = digits(s[j:])
		if n == 0 {
			return 0
		}
		i = j + n
	}
	return i
}

// digits returns the number of digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func isNumber(s string) bool { return s != "" && numberLen(s) == len(s) }

// unit extends the number at tok to a text with a unit, such as 30 GiB, and reports that
// it lacks quotes.
func (s *scanner) unit() bool {
	if s.pos+1 >= len(s.text) || s.text[s.pos] != ' ' || !isLetter(s.text[s.pos+1]) || digits(s.text[s.pos+1:]) > 0 {
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
	switch w := p.tok.text; w {
	case "true", "false":
		return p.scalar(Bool, w)
	case "null":
		return p.scalar(Null, "")
	}
	end := p.bareEnd()
	p.widen(end)
	if v, ok := foreignWords[p.tok.text]; ok {
		p.report(p.tok.start, p.tok.end, "write "+v, "%s is not a JSON keyword", p.tok.text)
		p.fix(v)
		switch v {
		case "true", "false":
			return p.scalar(Bool, v)
		}
		return p.scalar(Null, "")
	}
	if noNumbers[p.tok.text] {
		p.report(p.tok.start, p.tok.end, "write a number", "JSON has no %s", p.tok.text)
		return p.scalar(Null, "")
	}
	if fixed, message := fixNumber(p.tok.text); message != "" {
		p.report(p.tok.start, p.tok.end, "write "+fixed, "%s", message)
		p.fix(fixed)
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

// bareText reports a text without quotes.
func (s *scanner) bareText() {
	if start, _ := FindPlaceholder(s.tok.text); start >= 0 {
		s.reportPlaceholder()
		return
	}
	s.report(s.tok.start, s.tok.end, "put it in double quotes: "+quoted(s.tok.text), "%s is not a JSON value",
		clip(s.tok.text))
	s.fix(whole(s.tok.text))
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

// attached returns the end of the characters at offset i that continue a word without white
// space: nginx:latest, s3://bucket/key, a=b, ${HOME}.
func attached(text string, i int) int {
	for i+1 < len(text) && !isBlank(text[i+1]) {
		switch c := text[i]; {
		case c == '{' && text[i-1] == '$':
			n := strings.IndexAny(text[i:], "}\n")
			if n < 0 || text[i+n] == '\n' {
				return i
			}
			i += n + 1
		case (c == ':' || c == '=') && strings.IndexByte(`"'{[,`, text[i+1]) < 0:
			i++
			for i < len(text) && (text[i] == '/' || !endsWord(text, i)) {
				_, size := utf8.DecodeRuneInString(text[i:])
				i += size
			}
		default:
			return i + wordLen(text[i:])
		}
	}
	return i
}

func isConstant(s string) bool {
	return s == "true" || s == "false" || s == "null" || isNumber(s)
}

// nameEnds reports whether the word that ends at offset i is a member's name:
// a colon or an equals sign follows.
func nameEnds(s string, i int) bool {
	rest := strings.TrimLeft(s[i:min(len(s), i+32)], " \t")
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
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
	if strings.Contains(body, "_") {
		body, what = strings.ReplaceAll(body, "_", ""), "a number cannot contain _"
	}
	if t := strings.TrimLeft(body, "0"); len(t)+1 < len(body) || t != body && digits(t) > 0 {
		what = "a number cannot have a leading zero"
		if body = t; digits(t) == 0 {
			body = "0" + t
		}
	}
	if strings.HasPrefix(body, ".") {
		body, what = "0"+body, "a number must start with a digit"
	}
	if t, ok := strings.CutSuffix(body, "."); ok {
		body, what = t, "digits must follow the point"
	}
	if t := strings.TrimRight(body, "+-"); len(t) > 1 && t[len(t)-1]|0x20 == 'e' {
		body, what = strings.TrimSuffix(t[:len(t)-1], "."), "digits must follow the exponent sign e"
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
