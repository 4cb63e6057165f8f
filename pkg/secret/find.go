package secret

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// find returns the credentials in a text that is JSON or resembles it, sorted by location.
// It also searches parts that no parser accepts.
func find(text string, depth int) []Credential {
	if !suspicious(text) {
		return nil
	}
	f := finder{text: text, open: []frame{{}}, depth: depth}
	for f.pos < len(text) {
		f.step()
	}
	for range f.open {
		f.close()
	}
	slices.SortStableFunc(f.found, func(a, b Credential) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	return f.found
}

// suspicious is a fast test for a condition that every text with a credential satisfies.
func suspicious(text string) bool {
	unmarked := false
	unmarkedIn(text, func(Credential) bool { unmarked = true; return false })
	return unmarked || mayHaveMark(text) || mayHaveFlag(text) || longRun(text) || hasLogin(text) ||
		strings.IndexByte(text, '@') >= 0 && strings.Contains(text, "://") || strings.Contains(text, `\u`)
}

// hasLogin reports whether a text contains "login". It looks for the letter that few texts have often.
func hasLogin(text string) bool {
	for at := len("lo"); at < len(text); at++ {
		n := strings.IndexByte(text[at:], 'g')
		if n < 0 {
			return false
		}
		if at += n; strings.HasPrefix(text[at-len("lo"):], "login") {
			return true
		}
	}
	return false
}

// mayHaveMark reports whether a text has a credential that its format identifies, or one of secretWords where
// kindOfName may recognise it. It reads the text once, as eachFormat does.
func mayHaveMark(text string) bool {
	begins, any, search := markStarts(), false, &search{text: text}
	found := func(Credential) bool { any = true; return false }
	for i := begins.nextHint(text, 1); i < len(text); i = begins.nextHint(text, i+2) {
		for at := max(0, i-2); at < i && at+2 < len(text); at++ {
			if !begins.triples.has(text, at) {
				continue
			}
			if search.matchAt(begins, at, found); any || secretWordAt(text, at) {
				return true
			}
		}
	}
	return len(text) > 1 && secretWordAt(text, len(text)-2)
}

// nextHint returns the first of the offsets i, i+2, ... whose byte and the one before are a hint, or one outside of
// the text.
func (s *starts) nextHint(text string, i int) int {
	for i < len(text) && !s.hints.has(text[i-1], text[i]) {
		i += 2
	}
	return i
}

// longRun reports whether a text has a word that could be a secret access key, or base64
// of a text with a credential. Both contain capitals, which most paths do not. It reads
// one byte of each leastEncoded, and the bytes around those that could be part of such a
// word.
func longRun(text string) bool {
	for i := leastEncoded - 1; i < len(text); i += leastEncoded {
		if !isBase64Byte(text[i]) {
			continue
		}
		start := i
		for start > 0 && isBase64Byte(text[start-1]) {
			start--
		}
		end, capital := start, false
		for ; end < len(text) && isBase64Byte(text[end]); end++ {
			capital = capital || 'A' <= text[end] && text[end] <= 'Z'
		}
		if capital && end-start >= leastEncoded {
			return true
		}
		i = max(i, end-1) // the next byte to read is leastEncoded after the run
	}
	return false
}

// base64Bytes are the bytes of base64 but the equals signs at its end.
var base64Bytes = func() (set [256]bool) {
	for c := range set {
		set[c] = isAlnum(byte(c)) || c == '+' || c == '/'
	}
	return set
}()

func isBase64Byte(c byte) bool { return base64Bytes[c] }

// maxFrames limits the brackets whose content is distinguished.
const maxFrames = 200

// finder reads a text with names and values: JSON, YAML, a script or a log. It keeps the
// names of the open brackets, because a name tells what its value is.
type finder struct {
	text  string
	pos   int
	open  []frame // the brackets around pos
	deep  int     // brackets beyond maxFrames
	depth int     // texts around this one
	found []Credential
	// valueEnd and sentenceEnd are the results of endValue.
	valueEnd, sentenceEnd int
}

// element is a string of an array.
type element struct {
	text string
	at   Span
	back []int // offsets in the source, nil if they are the same
}

// frame is an open bracket, or the text around all.
type frame struct {
	// array is true for [, whose elements belong to the key before it.
	array bool
	// key is the name before the last colon. colon is true if a value follows. tight is
	// true if it follows an equals sign without a blank, as in a shell.
	key          string
	colon, tight bool
	// leads is true if the key is the first word of its line.
	leads bool
	// elements are the strings of an array, which may be a command.
	elements []element
	// references is true if the values are names of secrets that are stored elsewhere.
	references bool
	// name and value belong to an entry such as {"name": "X", "value": "Y"}.
	name  string
	value Span
}

func (f *finder) top() *frame { return &f.open[len(f.open)-1] }

// step reads one token: a bracket, a comma, a string or a word.
func (f *finder) step() {
	t := f.top()
	switch c := f.text[f.pos]; {
	case c == '{' || c == '[':
		f.pos++
		f.push(frame{array: c == '[', key: t.key, references: t.references || t.key == "secrets" ||
			t.key == "secretOptions"})
	case c == '}' || c == ']':
		f.pos++
		f.close()
	case c == ',':
		f.pos++
		t.colon = false
		if !t.array {
			t.key = ""
		}
	case c == '\n' && !t.colon && !t.array:
		f.pos++
		t.key = "" // in a script, the next line is another command
	case c == '"' || c == '\'':
		f.string(c)
	case t.colon && c > ' ' && c != ':' && c != '=':
		f.bareValue()
	case isWord(c):
		f.bareName()
	default:
		f.pos++
	}
}

// push opens a bracket. Brackets beyond maxFrames are only counted.
func (f *finder) push(in frame) {
	if len(f.open) == maxFrames {
		f.deep++
		return
	}
	if !in.array {
		in.key = ""
	}
	f.open = append(f.open, in)
}

// close ends a bracket, and searches the entry or the command in it.
func (f *finder) close() {
	if f.deep > 0 {
		f.deep--
		return
	}
	f.entry()
	f.command(f.top().elements)
	if len(f.open) > 1 {
		f.open = f.open[:len(f.open)-1]
		f.top().colon = false
	}
}

// entry searches {"name": "X", "value": "Y"} once both are read.
func (f *finder) entry() {
	t := f.top()
	if t.name != "" && t.value.End > t.value.Start {
		f.note(t.name, t.value, t.references)
	}
	t.name, t.value = "", Span{}
}

// command searches an array of strings as a command.
func (f *finder) command(elements []element) {
	if len(elements) < 2 {
		return
	}
	tokens := make([]token, len(elements))
	for i, e := range elements {
		tokens[i] = token{text: e.text}
	}
	scanTokens(tokens, 0, func(i int, c Credential) { f.add(c, elements[i].at, elements[i].back) })
}

// add records a credential; back maps the span to the source.
func (f *finder) add(c Credential, at Span, back []int) {
	if back != nil {
		c.Start, c.End = back[c.Start], back[c.End]
	}
	f.found = append(f.found, Credential{Span{at.Start + c.Start, at.Start + c.End}, c.What, c.Known})
}

// string reads a text in quotes of that kind, at most up to the end of the line.
func (f *finder) string(quote byte) {
	content := Span{Start: f.pos + 1}
	i := content.Start
	for i < len(f.text) && f.text[i] != quote && f.text[i] != '\n' {
		if f.text[i] == '\\' && i+1 < len(f.text) && f.text[i+1] != '\n' {
			i++
		}
		i++
	}
	content.End = i
	f.pos = min(i+1, len(f.text))
	f.take(content, f.text[f.pos:])
}

// bareName reads a word without quotes.
func (f *finder) bareName() {
	i := f.pos
	for i < len(f.text) && isWord(f.text[i]) {
		i++
	}
	name := Span{f.pos, i}
	f.pos = i
	if (name.Start > 0 && isJoint(f.text[name.Start-1]) || name.End < len(f.text) && f.text[name.End] == '+') &&
		!f.top().colon {
		// A part of a path or of base64 is not a name, and not a value alone.
		for name.Start > 0 && isPathByte(f.text[name.Start-1]) {
			name.Start--
		}
		for name.End < len(f.text) && (isPathByte(f.text[name.End]) || f.text[name.End] == '=') {
			name.End++
		}
		f.pos = name.End
		f.take(name, "")
		return
	}
	f.take(name, f.text[i:])
}

// bareValue reads a value without quotes, up to the end of the line or of the member.
// Outside brackets it has one or two words. More words are a sentence, whose rest is
// searched for names.
func (f *finder) bareValue() {
	t := f.top()
	if f.pos >= f.valueEnd {
		f.endValue()
	}
	outside := len(f.open) == 1
	if outside && !t.tight && f.pos < f.sentenceEnd {
		t.colon, t.key = false, ""
		return
	}
	text := f.text[f.pos:f.valueEnd]
	n := len(text)
	if outside && t.tight {
		if i := strings.IndexAny(text, blanks); i >= 0 {
			text, n = text[:i], i
		}
	}
	text = strings.TrimRight(text, blanks)
	if outside && !t.tight && !t.leads && onlyLetters(text) {
		t.colon, t.key = false, ""
		return
	}
	value := Span{f.pos, f.pos + len(text)}
	f.pos += n
	f.take(value, "")
}

// blanks separate the words of a line.
const blanks = " \t\r\v\f"

// endValue finds the end of a value that begins at pos, and the offset from which it has
// at most two words. Both are kept, so that a long line with many names is read once.
func (f *finder) endValue() {
	f.valueEnd = len(f.text)
	if n := strings.IndexAny(f.text[f.pos:], ",}]\n"); n >= 0 {
		f.valueEnd = f.pos + n
	}
	rest := f.text[f.pos:f.valueEnd]
	for range 2 {
		rest = strings.TrimRight(rest, blanks)
		rest = rest[:strings.LastIndexAny(rest, blanks)+1]
	}
	f.sentenceEnd = f.pos + len(strings.TrimRight(rest, blanks))
}

// take handles a name, if a colon or an equals sign follows, or a value.
func (f *finder) take(at Span, rest string) {
	t := f.top()
	after := rest
	if rest = strings.TrimLeft(rest, " \t\r\n"); !t.colon && rest != "" && (rest[0] == ':' || rest[0] == '=') {
		key, _ := decode(f.text[at.Start:at.End])
		t.key, t.colon, t.leads = key, true, f.beginsLine(at.Start)
		t.tight = after[0] == '=' && len(after) > 1 && after[1] > ' '
		f.pos = len(f.text) - len(rest) + 1
		return
	}
	t.colon = false
	text := f.text[at.Start:at.End]
	switch t.key {
	case "name", "Name", "key", "Key":
		if t.name != "" {
			f.entry() // the entries of a list in YAML have no brackets
		}
		t.name, _ = decode(text)
	case "value", "Value":
		if t.value.End > t.value.Start {
			f.entry()
		}
		t.value = at
	case "valueFrom":
		t.value, t.references = at, true
	}
	f.note(t.key, at, t.references)
	if len(f.open) == 1 {
		t.key = "" // in a command line, the next word is another argument
	}
	if t.array {
		decoded, back := decode(text)
		t.elements = append(t.elements, element{decoded, at, back})
	}
	if t.array && strings.HasPrefix(text, "-") && !strings.Contains(text, "=") {
		t.key = strings.TrimLeft(text, "-") // a flag, whose value is the next element
	} else if t.array && len(f.open) > 1 {
		t.key = f.open[len(f.open)-2].key
	}
}

// beginsLine reports whether only blanks and the dash of a list precede an offset in its
// line.
func (f *finder) beginsLine(at int) bool {
	for at > 0 && strings.IndexByte(" \t-\"'/#", f.text[at-1]) >= 0 {
		at--
	}
	return at == 0 || f.text[at-1] == '\n'
}

// note records the credentials of a value.
func (f *finder) note(name string, at Span, reference bool) {
	value, back := decode(f.text[at.Start:at.End])
	if reference && isReference(value) {
		return
	}
	for _, c := range scan(name, value, f.depth) {
		f.add(c, at, back)
	}
}

// isReference reports whether a value looks like the name of a stored secret, such as
// prod/db-password.
func isReference(value string) bool {
	return words().MatchString(value) && strings.ContainsAny(value, "-_./:") || strings.HasPrefix(value, "arn:")
}

// decode returns the text of a JSON string's content, or the content itself if it is not
// JSON. back has the offset in the content for each offset in the text; it is nil if the
// two are the same.
func decode(content string) (text string, back []int) {
	if strings.IndexByte(content, '\\') < 0 {
		return content, nil
	}
	if json.Unmarshal([]byte(`"`+content+`"`), &text) != nil {
		return content, nil
	}
	back = make([]int, 0, len(text)+1)
	for i := 0; i < len(content); {
		size := 1
		if content[i] == '\\' {
			size = 2
			if content[i+1] == 'u' {
				size = 6
			}
		}
		// A pair of surrogates is one letter.
		if size == 6 && isHighSurrogate(content[i:]) && i+12 <= len(content) && content[i+6] == '\\' &&
			content[i+7] == 'u' {
			size = 12
		}
		n := 1
		if size > 1 {
			n = decodedLen(content[i : i+size])
		}
		for range n {
			back = append(back, i)
		}
		i += size
	}
	if back = append(back, len(content)); len(back) != len(text)+1 {
		return content, nil // invalid UTF-8
	}
	return text, back
}

func isHighSurrogate(escape string) bool {
	return len(escape) > 3 && (escape[2] == 'd' || escape[2] == 'D') && strings.IndexByte("89abAB", escape[3]) >= 0
}

// decodedLen returns the length in bytes of the character that an escape sequence means.
func decodedLen(escape string) int {
	var text string
	if json.Unmarshal([]byte(`"`+escape+`"`), &text) != nil {
		return 1
	}
	return len(text)
}

// isJoint reports whether a byte joins the parts of a path or of base64.
func isJoint(c byte) bool { return c == '/' || c == '+' }

func isPathByte(c byte) bool { return isWord(c) || c == '/' || c == '+' }

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' ||
		c == '$'
}
