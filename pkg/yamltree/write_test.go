package yamltree

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// writer writes a random value as YAML and as JSON, in a style drawn for each part.
type writer struct {
	t    *rapid.T
	eol  string
	text strings.Builder
}

var words = []string{"a", "b c", "#!/bin/bash", "systemctl start ecs", "é😀", "", " lead", "trail ", "x: y", "'q'", "\"d\"", "\\n", "tab\there", "- dash", "# no", "true", "12", "~", "{a}", "[b]", "&c", "*d", "!e", "%f", "@g", "`h", "|", ">", "a #b", "${X}"}

// value writes a value at an indentation, after a key or a dash on the same line, and
// returns it as JSON.
func (w *writer) value(indent int, depth int) string {
	if depth < 4 {
		switch rapid.IntRange(0, 5).Draw(w.t, "form") {
		case 0:
			return w.mapping(indent, depth)
		case 1:
			return w.sequence(indent, depth)
		case 2:
			w.text.WriteString(" ")
			s := w.flow(depth)
			w.text.WriteString(w.eol)
			return s
		}
	}
	return w.scalar(indent)
}

func (w *writer) mapping(indent, depth int) string {
	n := rapid.IntRange(1, 3).Draw(w.t, "members")
	var members []string
	w.text.WriteString(w.eol)
	step := rapid.IntRange(1, 4).Draw(w.t, "step")
	for i := range n {
		key := fmt.Sprintf("k%d", i)
		w.text.WriteString(strings.Repeat(" ", indent+step) + rapid.SampledFrom([]string{key, `"` + key + `"`, "'" + key + "'", key + " "}).Draw(w.t, "key") + ":")
		members = append(members, quote(key)+":"+w.value(indent+step, depth+1))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (w *writer) sequence(indent, depth int) string {
	n := rapid.IntRange(1, 3).Draw(w.t, "elements")
	var elements []string
	w.text.WriteString(w.eol)
	step := rapid.IntRange(1, 4).Draw(w.t, "step")
	for range n {
		w.text.WriteString(strings.Repeat(" ", indent+step) + "-")
		elements = append(elements, w.value(indent+step, depth+1))
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// flow writes a value in brackets, where each string is in quotes.
func (w *writer) flow(depth int) string {
	if depth > 4 || rapid.Bool().Draw(w.t, "leaf") {
		s := w.words(" ")
		if rapid.Bool().Draw(w.t, "single") {
			w.text.WriteString("'" + strings.ReplaceAll(s, "'", "''") + "'")
		} else {
			w.text.WriteString(quote(s))
		}
		return quote(s)
	}
	n := rapid.IntRange(0, 3).Draw(w.t, "items")
	object := rapid.Bool().Draw(w.t, "object")
	open, shut := "[", "]"
	if object {
		open, shut = "{", "}"
	}
	w.text.WriteString(open)
	var items []string
	for i := range n {
		if i > 0 {
			w.text.WriteString(rapid.SampledFrom([]string{",", ", ", " ,  "}).Draw(w.t, "comma"))
		}
		item := ""
		if object {
			item = fmt.Sprintf(`"f%d":`, i)
			fmt.Fprintf(&w.text, "f%d: ", i)
		}
		items = append(items, item+w.flow(depth+1))
	}
	w.text.WriteString(shut)
	return open + strings.Join(items, ",") + shut
}

func (w *writer) words(between string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(w.t, "words"), between)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

// scalar writes a string in any style that can express it, or a plain string.
func (w *writer) scalar(indent int) string {
	pad := strings.Repeat(" ", indent+rapid.IntRange(1, 5).Draw(w.t, "pad"))
	switch rapid.IntRange(0, 6).Draw(w.t, "style") {
	case 0: // literal
		return w.block(indent, "|")
	case 1: // folded: the value is that of the parser's result below
		return w.block(indent, ">")
	case 2: // double quotes over lines: a break with the white space around it is one space
		w.text.WriteString(` "one` + rapid.SampledFrom([]string{"", "  "}).Draw(w.t, "blanks") + w.eol + pad + `two \` + w.eol + pad + `\tthree` + w.eol + w.eol + pad + `\u00e9"` + w.eol)
		return quote("one two \tthree\né")
	case 3:
		w.text.WriteString(" 'it''s" + w.eol + pad + "two" + w.eol + w.eol + w.eol + pad + "three'" + w.eol)
		return quote("it's two\n\nthree")
	case 4:
		w.text.WriteString(" plain" + w.eol + pad + "over" + w.eol + w.eol + pad + "lines # and a comment" + w.eol)
		return quote("plain over\nlines")
	case 5:
		s := w.words("\n")
		w.text.WriteString(" " + quote(s) + rapid.SampledFrom([]string{"", "  # c"}).Draw(w.t, "comment") + w.eol)
		return quote(s)
	}
	plain := rapid.SampledFrom([][2]string{{"12", "12"}, {"yes", "true"}, {"~", "null"}, {"a b", `"a b"`}, {"2012-10-17", `"2012-10-17"`}, {"0x10", "16"}, {"a:b", `"a:b"`}, {"-x", `"-x"`}, {"1.5", "1.5"}}).Draw(w.t, "plain")
	w.text.WriteString(" " + plain[0] + w.eol)
	return plain[1]
}

// block writes a literal or a folded block of lines. It joins the lines of a folded one as
// the standard defines.
func (w *writer) block(indent int, style string) string {
	chomp := rapid.SampledFrom([]string{"", "-", "+"}).Draw(w.t, "chomp")
	extra := rapid.IntRange(1, 5).Draw(w.t, "extra")
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"#!/bin/bash", "echo é😀", "", "  deeper", "\tx", "a: b", "trail "}), 1, 6).Draw(w.t, "lines")
	first := strings.TrimLeft(strings.Join(lines, ""), "")
	number := ""
	if strings.HasPrefix(first, " ") || rapid.Bool().Draw(w.t, "number") || strings.HasPrefix(first, "\t") {
		number = fmt.Sprint(extra)
	}
	w.text.WriteString(" " + style + number + chomp + w.eol)
	for _, l := range lines {
		if l != "" {
			l = strings.Repeat(" ", indent+extra) + l
		}
		w.text.WriteString(l + w.eol)
	}
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	body := strings.Join(lines[:end], "\n")
	if style == ">" {
		body = folded(lines[:end])
	}
	switch {
	case chomp == "+":
		tail := len(lines) - end
		if end > 0 {
			tail++
		}
		body += strings.Repeat("\n", tail)
	case chomp == "" && end > 0:
		body += "\n"
	}
	return quote(body)
}

// folded joins lines: one break between two lines without further indentation becomes a
// space; of several breaks, one is dropped.
func folded(lines []string) string {
	deep := func(l string) bool { return strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t") }
	var b strings.Builder
	last := -1
	for i, l := range lines {
		if l == "" {
			continue
		}
		breaks := i - last
		switch {
		case last < 0:
			b.WriteString(strings.Repeat("\n", breaks-1))
		case deep(l) || deep(lines[last]):
			b.WriteString(strings.Repeat("\n", breaks))
		case breaks == 1:
			b.WriteString(" ")
		default:
			b.WriteString(strings.Repeat("\n", breaks-1))
		}
		b.WriteString(l)
		last = i
	}
	return b.String()
}

// A random tree in random styles has the same value as its JSON, and each letter of its
// strings has its location in the text.
func TestAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t, eol: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")}
		w.text.WriteString("root:")
		text := `{"root":` + w.value(0, 0) + `}`
		yaml := w.text.String()
		if rapid.Bool().Draw(t, "mark") {
			yaml = "\ufeff" + yaml
		}
		n, problems := Parse(diag.NewSource("t.yaml", yaml))
		if len(problems) > 0 {
			t.Fatalf("%s\n%v", yaml, problems)
		}
		want, slips := jsontree.Parse(diag.NewSource("t.json", text))
		if len(slips) > 0 {
			t.Fatalf("%s\n%v", text, slips)
		}
		if got := string(n.AppendJSON(nil)); got != string(want.AppendJSON(nil)) {
			t.Fatalf("%q\n got %s\nwant %s", yaml, got, want.AppendJSON(nil))
		}
		lettered(t, yaml, n)
	})
}

// lettered checks that each letter of a string without an escape is at its location, and
// that the span ends with the string.
func lettered(t *rapid.T, text string, n *jsontree.Node) {
	if n.Is(jsontree.String) {
		r, ok := read(text, n.Span.Start, n.Text, true)
		if !ok || r.pos != n.Span.End {
			t.Fatalf("%q: %q at %v is not read again: %v %d", text, n.Text, n.Span, ok, r.pos)
		}
		for i, at := range r.at {
			c := n.Text[i]
			if at.End == at.Start+1 && c != ' ' && c != '\n' && text[at.Start] != c {
				t.Fatalf("%q: letter %d of %q is %q", text, i, n.Text, text[at.Start:at.End])
			}
			if c > ' ' && c < utf8.RuneSelf && text[at.Start] != c && text[at.Start] != '\\' && text[at.Start] != '\'' {
				t.Fatalf("%q: letter %d of %q is at %q", text, i, n.Text, text[at.Start:at.End])
			}
		}
	}
	for c := range n.Children() {
		lettered(t, text, c)
	}
}
