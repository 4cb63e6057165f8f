package cli_test

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// mutator breaks texts, by byte and by structure.
type mutator struct {
	words, members []string // of all files, as JSON
	lines          []string // of all YAML files
}

func newMutator(files []original) *mutator {
	m := &mutator{}
	for _, f := range files {
		if f.isJSON() {
			root, _ := jsontree.Parse(diag.NewSource("", f.text))
			m.collect(root)
		} else {
			m.lines = slices.AppendSeq(m.lines, strings.Lines(f.text))
		}
	}
	for _, list := range []*[]string{&m.words, &m.members, &m.lines} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return m
}

// collect adds the names, short values and short members below a node.
func (m *mutator) collect(n *jsontree.Node) {
	if n == nil {
		return
	}
	for c := range n.Children() {
		if c.Source == nil || c.Span.End <= c.Span.Start {
			continue
		}
		text := c.Source.Text
		if c.Key.End > c.Key.Start {
			m.words = append(m.words, text[c.Key.Start:c.Key.End])
			if c.Span.End-c.Key.Start < 400 {
				m.members = append(m.members, text[c.Key.Start:c.Span.End])
			}
		}
		if c.Span.End-c.Span.Start < 80 {
			m.words = append(m.words, text[c.Span.Start:c.Span.End])
		}
		m.collect(c)
	}
}

// slips are what people write by mistake, and what breaks parsers.
var slips = []string{
	",", ",,", ":", "=", "\"", "'", "`", "{", "}", "[", "]", "//", "/* x */", "#", "\n", "\r\n", "\r", " ", "\t", "\u00a0", "1", "-", "+", ".", "e", "null", "true", "True", "None", "\\", `\u0000`, `\ud800`,
	"é", "\x00", "\x7f", "\xff", "\u202e", "\u2028", "a", `"a": 1,`, `""`, "{}", "[]", "0", "\ufeff", "${{ matrix.lr }}", "${X}", "{{ x }}", "<x>", "Ref::a", "<<<<<<< HEAD\n", "- ", "? ", "!Ref ", "&a ", "*a", "|\n", "---\n", "%",
}

// extremes are values at the limits of what a reader or an API accepts.
var extremes = []string{
	"null", "true", "false", "0", "-1", "1.5", "1e999", "-0", "00", "9223372036854775808", "99999999999999999999999999999", `""`, `" "`, `"0"`, `"\u0000"`, `"\ud800"`, `"${{ matrix.x }}"`, `"${AWS_BATCH_JOB_ID}"`,
	"{}", "[]", "[[]]", "[null]", `{"": ""}`, `[{}]`, `{"a": {"a": {"a": {}}}}`,
	`"` + strings.Repeat("x", 4096) + `"`, strings.Repeat("[", 600) + strings.Repeat("]", 600), "[" + strings.Repeat("1,", 2000) + "1]", "{" + strings.Repeat(`"a":1,`, 300) + `"b":1}`,
}

// mutant returns the text with one to six things changed, in half of all cases one: a
// single slip gets past more checks than several.
func (m *mutator) mutant(random *rand.Rand, text string) string {
	for range 1 + random.IntN(2)*random.IntN(6) {
		if random.IntN(4) == 0 {
			text = m.byByte(random, text)
		} else {
			text = m.byStructure(random, text)
		}
		if len(text) > mutantSize {
			return text[:mutantSize]
		}
	}
	return text
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// byByte changes some bytes anywhere.
func (m *mutator) byByte(random *rand.Rand, text string) string {
	i := random.IntN(len(text) + 1)
	j := min(len(text), i+1+random.IntN(8))
	switch random.IntN(7) {
	case 0:
		return text[:i] + text[j:]
	case 1:
		return text[:i] // the rest is missing
	case 2:
		return text[:j] + text[i:] // twice
	case 3:
		if i < len(text) {
			return text[:i] + string([]byte{text[i] ^ 1<<random.IntN(8)}) + text[i+1:]
		}
		return text
	case 4:
		return text[:i] + pick(random, slips) + text[j:]
	default:
		return text[:i] + pick(random, slips) + text[i:]
	}
}

// byStructure changes a name, a value or a member; in other texts than JSON, lines.
func (m *mutator) byStructure(random *rand.Rand, text string) string {
	if !(original{text: text}).isJSON() {
		return m.byLine(random, text)
	}
	root, _ := jsontree.Parse(diag.NewSource("", text))
	var spans []diag.Span
	var objects []int // where their members begin
	var walk func(n *jsontree.Node)
	walk = func(n *jsontree.Node) {
		if n.Is(jsontree.Object) && n.Span.Start < len(text) {
			objects = append(objects, n.Span.Start+1)
		}
		for c := range n.Children() {
			if c.Key.End > c.Key.Start {
				spans = append(spans, c.Key, diag.Span{Start: c.Key.Start, End: c.Span.End})
			}
			spans = append(spans, c.Span)
			walk(c)
		}
	}
	if root != nil {
		walk(root)
	}
	spans = slices.DeleteFunc(spans, func(s diag.Span) bool { return s.Start < 0 || s.End > len(text) || s.End < s.Start })
	if len(spans) == 0 {
		return m.byByte(random, text)
	}
	s := pick(random, spans)
	part := text[s.Start:s.End]
	with := func(part string) string { return text[:s.Start] + part + text[s.End:] }
	switch random.IntN(12) {
	case 0:
		return with(pick(random, m.words))
	case 1: // a typo
		if len(part) > 3 {
			i := 1 + random.IntN(len(part)-2)
			return with(part[:i] + part[i+1:])
		}
		return with(part + part)
	case 2: // another case
		if part == strings.ToUpper(part) {
			return with(strings.ToLower(part))
		}
		return with(strings.ToUpper(part))
	case 3: // other quotes, or none
		bare := strings.Trim(part, `"`)
		return with(pick(random, []string{bare, "'" + bare + "'", `"` + part + `"`, `"` + bare + `"`}))
	case 4:
		return with(part + ", " + part)
	case 5: // one level down
		return with(pick(random, []string{"[" + part + "]", `{"name": ` + part + `}`, `{"a": ` + part + `, "b": 1}`}))
	case 6:
		return with("")
	case 7: // another part of the text
		o := pick(random, spans)
		return with(text[o.Start:o.End])
	case 8:
		return with(pick(random, extremes))
	case 9: // text inside a string
		if len(part) > 2 && part[0] == '"' {
			i := 1 + random.IntN(len(part)-1)
			return with(part[:i] + pick(random, slips) + part[i:])
		}
		return with(pick(random, extremes))
	default: // a member of any file
		if len(objects) == 0 {
			return text
		}
		at := min(pick(random, objects), len(text))
		return text[:at] + pick(random, m.members) + ", " + text[at:]
	}
}

// byLine changes a line of a text.
func (m *mutator) byLine(random *rand.Rand, text string) string {
	lines := slices.Collect(strings.Lines(text))
	if len(lines) == 0 {
		return pick(random, slips)
	}
	i, j := random.IntN(len(lines)), random.IntN(len(lines))
	switch random.IntN(7) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines = slices.Insert(lines, i, lines[j])
	case 2:
		lines[i], lines[j] = lines[j], lines[i]
	case 3:
		lines[i] = "  " + lines[i]
	case 4:
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	case 5:
		if name, _, ok := strings.Cut(lines[i], ":"); ok {
			lines[i] = name + ": " + pick(random, extremes) + "\n"
		}
	default:
		if len(m.lines) > 0 {
			lines[i] = pick(random, m.lines)
		}
	}
	return strings.Join(lines, "")
}
