package secret

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// find returns the places in a text of what looks like credentials, sorted. The
// text is JSON or something meant as JSON: what stands in a place that no parser
// understands must be hidden too.
func find(text string) []Span {
	if !suspicious(text) {
		return nil
	}
	f := finder{text: text, open: []frame{{}}}
	for f.pos < len(text) {
		f.step()
	}
	for range f.open {
		f.close()
	}
	slices.SortFunc(f.found, func(a, b Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	return f.found
}

// suspicious is a fast look for what one of stands in every text with a
// credential.
func suspicious(text string) bool {
	return marksIn(text) != 0 || speaksOfSecret(text) || strings.Contains(text, "://") && strings.Contains(text, "@")
}

// maxFrames bounds the brackets whose content is told apart.
const maxFrames = 200

type finder struct {
	text  string
	pos   int
	open  []frame // the brackets around pos
	deep  int     // brackets beyond maxFrames
	found []Span
}

// frame is an open bracket, or the text around all.
type frame struct {
	// array is true for [, whose elements belong to the key before it.
	array bool
	// key is the name before the colon that was read last; colon says that a value
	// follows.
	key   string
	colon bool
	// references says that the values name secrets that are kept elsewhere.
	references bool
	// name and value are those of an entry such as {"name": "X", "value": "Y"}.
	name  string
	value Span
}

func (f *finder) top() *frame { return &f.open[len(f.open)-1] }

// step reads one thing: a bracket, a comma, a string or a word.
func (f *finder) step() {
	t := f.top()
	switch c := f.text[f.pos]; {
	case c == '{' || c == '[':
		f.pos++
		f.push(frame{array: c == '[', key: t.key, references: t.references || t.key == "secrets" || t.key == "secretOptions"})
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
		t.key = "" // of a script, say, where the next line is another command
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

// close ends a bracket and looks at the entry that it was.
func (f *finder) close() {
	if f.deep > 0 {
		f.deep--
		return
	}
	t := *f.top()
	if t.name != "" && t.value.End > t.value.Start {
		f.look(t.name, t.value, t.references)
	}
	if len(f.open) > 1 {
		f.open = f.open[:len(f.open)-1]
		f.top().colon = false
	}
}

// string reads a text in quotes of that kind, up to the line's end at most.
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
	f.word(content, f.text[f.pos:])
}

// bareName reads a word without quotes.
func (f *finder) bareName() {
	i := f.pos
	for i < len(f.text) && isWord(f.text[i]) {
		i++
	}
	name := Span{f.pos, i}
	f.pos = i
	f.word(name, f.text[i:])
}

// bareValue reads a value without quotes: up to the line's end, or what ends a
// member.
func (f *finder) bareValue() {
	n := strings.IndexAny(f.text[f.pos:], ",}]\n")
	if n < 0 {
		n = len(f.text) - f.pos
	}
	value := Span{f.pos, f.pos + len(strings.TrimRight(f.text[f.pos:f.pos+n], " \t\r"))}
	f.pos += n
	f.word(value, "")
}

// word takes a name, if a colon or an equals sign follows, or a value.
func (f *finder) word(at Span, rest string) {
	t := f.top()
	if rest = strings.TrimLeft(rest, " \t\r\n"); !t.colon && rest != "" && (rest[0] == ':' || rest[0] == '=') {
		t.key, t.colon = decode(f.text[at.Start:at.End]), true
		f.pos = len(f.text) - len(rest) + 1
		return
	}
	t.colon = false
	text := f.text[at.Start:at.End]
	switch t.key {
	case "name", "Name", "key", "Key":
		t.name = decode(text)
	case "value", "Value":
		t.value = at
	case "valueFrom":
		t.value, t.references = at, true
	}
	f.look(t.key, at, t.references)
	if t.array && strings.HasPrefix(text, "-") && !strings.Contains(text, "=") {
		t.key = strings.TrimLeft(text, "-") // a flag, whose value is the next element
	} else if t.array && len(f.open) > 1 {
		t.key = f.open[len(f.open)-2].key
	}
}

// look hides what a value shows of credentials.
func (f *finder) look(name string, at Span, reference bool) {
	text := f.text[at.Start:at.End]
	value := decode(text)
	if reference && isReference(value) {
		return
	}
	places := placesIn(name, value)
	if value == text {
		places = append(places, assigned(text)...)
	}
	for _, p := range places {
		switch {
		case value != text: // offsets differ
			f.found = append(f.found, at)
		case p.End == len(text) && strings.Contains(text[p.Start:], "PRIVATE KEY"):
			f.found = append(f.found, Span{at.Start + p.Start, f.keyEnd(at.End)})
		default:
			f.found = append(f.found, Span{at.Start + p.Start, at.Start + p.End})
		}
	}
}

// assigned returns the credentials of NAME=VALUE and --flag=VALUE in a command
// line.
func assigned(text string) (places []Span) {
	if strings.IndexByte(text, '=') < 0 {
		return nil
	}
	for i := 0; i < len(text); {
		word := text[i:]
		if n := strings.IndexAny(word, " \t;&"); n >= 0 {
			word = word[:n]
		}
		if flag, value, ok := strings.Cut(word, "="); ok {
			start := i + len(flag) + 1
			for _, p := range placesIn(strings.TrimLeft(flag, "-"), value) {
				places = append(places, Span{start + p.Start, start + p.End})
			}
		}
		i += len(word) + 1
	}
	return places
}

// keyEnd returns where a private key ends that may go on over lines.
func (f *finder) keyEnd(i int) int {
	if n := strings.IndexByte(f.text[i:], '"'); n >= 0 {
		return i + n
	}
	return len(f.text)
}

// isReference reports whether a value looks like the name under which a secret is
// kept, such as prod/db-password.
func isReference(value string) bool {
	return words().MatchString(value) && strings.ContainsAny(value, "-_./:") || strings.HasPrefix(value, "arn:")
}

// decode returns the text that a JSON string's content stands for, or the
// content itself if it is none.
func decode(content string) string {
	if strings.IndexByte(content, '\\') < 0 {
		return content
	}
	var text string
	if json.Unmarshal([]byte(`"`+content+`"`), &text) != nil {
		return content
	}
	return text
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '$'
}
