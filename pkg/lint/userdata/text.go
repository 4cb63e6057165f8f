// Package userdata reads the user data of EC2 instances: scripts, cloud-config and MIME
// multi-part archives, in any encoding that templates have. It finds mistakes that keep
// a host from joining its cluster or from offering its GPUs.
package userdata

import (
	"encoding/base64"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// Text is user data as the instance reads it. Each byte has its location in the file, even
// if JSON escapes, YAML indentation, Fn::Join or base64 are between them.
type Text struct {
	// Source is the file of the locations; nil for a text without one.
	Source *diag.Source
	// Plain is true if the file contains the text itself where EC2 expects base64.
	Plain bool

	text   string
	at     []diag.Span // one for each byte of text
	filled bool        // it contains values that only CloudFormation knows
	holes  []int       // where they begin
}

// FromSource returns the text of a file as user data.
func FromSource(src *diag.Source) *Text {
	t := &Text{Source: src}
	start := len(src.Text) - len(strings.TrimPrefix(src.Text, "\ufeff"))
	end := min(len(src.Text), start+maxKept)
	for i := start; i < end; i++ {
		t.add(src.Text[i:i+1], diag.Span{Start: i, End: i + 1})
	}
	t.seal(src.Text[start:end])
	return t
}

// FromNode returns the user data of the member UserData of a template or of launch
// template data: one text, or the texts of both sides of Fn::If. It returns none if only
// CloudFormation knows the text, and none if the text is compressed. The root is the
// template, for its mappings, or nil.
func FromNode(n, root *jsontree.Node) (texts []*Text) {
	if n == nil || n.Source == nil {
		return nil
	}
	if branches := n.Get("Fn::If"); branches != nil {
		return append(FromNode(branches.Index(1), root), FromNode(branches.Index(2), root)...)
	}
	inner := n.Get("Fn::Base64")
	if branches := inner.Get("Fn::If"); branches != nil {
		for i := 1; i <= 2; i++ {
			texts = append(texts, written(branches.Index(i), root, true)...)
		}
		return texts
	}
	if inner != nil {
		return written(inner, root, true)
	}
	return written(n, root, false)
}

// written reads a text that CloudFormation encodes, or that is encoded already.
func written(n, root *jsontree.Node, encodes bool) []*Text {
	if n == nil {
		return nil
	}
	b := &builder{t: &Text{Source: n.Source}, mappings: root.Get("Mappings")}
	if !b.value(n) || len(b.t.holes) > 0 && b.t.holes[0] == 0 {
		return nil
	}
	t := b.t
	t.seal(b.text.String())
	if !encodes && t.text != "" && !t.filled {
		if decoded := t.decode(0, len(t.text)); decoded != nil {
			t = decoded
		} else {
			t.Plain = true
		}
	}
	// A gzip archive begins with these two bytes (RFC 1952).
	if t.text == "" || strings.HasPrefix(t.text, "\x1f\x8b") || !encodes && t.filled {
		return nil
	}
	return []*Text{t}
}

// JSON parses the text. The nodes have their locations in the file. The function is called for each node, and learns
// whether the text has it in quotes; a placeholder where a value belongs is a string without.
func (t *Text) JSON(visit func(n *jsontree.Node, isQuoted bool)) (root *jsontree.Node, problems diag.List) {
	root, problems = jsontree.Parse(diag.NewSource("", t.text))
	var move func(n *jsontree.Node)
	move = func(n *jsontree.Node) {
		isQuoted := strings.HasPrefix(t.text[min(n.Span.Start, len(t.text)):], `"`)
		n.Source, n.Span = t.Source, t.Place(n.Span)
		if n.Key.End > n.Key.Start {
			n.Key = t.Place(n.Key)
		}
		for c := range n.Children() {
			move(c)
		}
		visit(n, isQuoted)
	}
	if root != nil {
		move(root)
	}
	return root, problems
}

// Place returns the location in the file of a part of the text.
func (t *Text) Place(at diag.Span) diag.Span { return t.span(at.Start, at.End) }

// Compose returns a text of which each byte has the location in at.
func Compose(src *diag.Source, text string, at []diag.Span) *Text {
	return &Text{Source: src, text: text, at: at}
}

// add gives each byte of a text the same location in the file.
func (t *Text) add(s string, at diag.Span) {
	for range len(s) {
		t.at = append(t.at, at)
	}
}

// seal sets the text when its places are complete.
func (t *Text) seal(text string) { t.text = text }

// span returns the location of the bytes from start to end in the file.
func (t *Text) span(start, end int) diag.Span {
	if len(t.at) == 0 {
		return diag.Span{}
	}
	start = max(0, min(start, len(t.at)-1))
	end = max(start+1, min(end, len(t.at)))
	from, to := t.at[start], t.at[end-1]
	return diag.Span{Start: from.Start, End: max(from.End, to.End)}
}

// decode reads bytes of the text as base64; nil if they are not base64.
func (t *Text) decode(start, end int) *Text {
	var letters []byte
	var from []int
	for i := start; i < end; i++ {
		if c := t.text[i]; c != '\n' && c != '\r' && c != ' ' && c != '\t' {
			letters, from = append(letters, c), append(from, i)
		}
	}
	// The padding is optional.
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(letters), "="))
	if err != nil || len(raw) == 0 {
		return nil
	}
	out := &Text{Source: t.Source, filled: t.filled}
	for i := range raw { // three bytes are four letters
		first := i/3*4 + i%3
		out.at = append(out.at, t.span(from[first], from[min(first+1, len(from)-1)]+1))
	}
	out.seal(string(raw))
	return out
}

// unknown replaces a value that only CloudFormation knows. It is valid as a word of a
// shell, as a number and inside quotes.
const unknown = "0"

// builder assembles a text from the values of a template.
type builder struct {
	t        *Text
	text     strings.Builder
	mappings *jsontree.Node
}

// hole adds the replacement of a value that only CloudFormation knows.
func (b *builder) hole(at diag.Span) {
	b.t.filled = true
	b.t.holes = append(b.t.holes, b.text.Len())
	b.add(unknown, at)
}

// mapped follows Fn::FindInMap if its keys are literal.
func (b *builder) mapped(n *jsontree.Node) *jsontree.Node {
	keys := n.Get("Fn::FindInMap")
	if keys.Len() != 3 {
		return n
	}
	return b.mappings.Get(keys.Index(0).Str()).Get(keys.Index(1).Str()).Get(keys.Index(2).Str())
}

// maxKept bounds the bytes of a text that are kept with their places. EC2 accepts at
// most 16 KiB.
const maxKept = 1 << 20

// add appends a text, unless the limit is reached.
func (b *builder) add(s string, at diag.Span) {
	if b.text.Len() > maxKept {
		return
	}
	b.text.WriteString(s)
	b.t.add(s, at)
}

// value adds the text of a value; it returns false if nothing of it is known.
func (b *builder) value(n *jsontree.Node) bool {
	n = b.mapped(n)
	switch {
	case n == nil:
		return false
	case n.Is(jsontree.String):
		b.quoted(n, false)
	case n.Get("Fn::Sub").Is(jsontree.String):
		b.quoted(n.Get("Fn::Sub"), true)
	case n.Get("Fn::Sub").Index(0).Is(jsontree.String):
		b.quoted(n.Get("Fn::Sub").Index(0), true)
	case b.mapped(n.Get("Fn::Join").Index(1)).Is(jsontree.Array):
		b.join(n.Get("Fn::Join"))
	default:
		return false
	}
	return true
}

// join appends the pieces of Fn::Join; a piece that is unknown becomes a hole.
func (b *builder) join(join *jsontree.Node) {
	i, delimiter := 0, join.Index(0)
	for piece := range b.mapped(join.Index(1)).Children() {
		if i > 0 {
			b.add(delimiter.Str(), delimiter.Span)
		}
		if i++; !b.value(piece) {
			b.hole(piece.Span)
		}
	}
}

// quoted adds the text of a string. In a string of Fn::Sub, ${Name} is replaced, and
// ${!Name} is the shell's ${Name}.
func (b *builder) quoted(n *jsontree.Node, sub bool) {
	at := yamltree.ByteSpans(n)
	text := n.Text
	for i := 0; i < len(text); {
		if sub && strings.HasPrefix(text[i:], "${") {
			if end := strings.IndexByte(text[i:], '}'); strings.HasPrefix(text[i:], "${!") {
				b.add("${", diag.Span{Start: at[i].Start, End: at[i+2].End})
				i += 3
				continue
			} else if end > 0 {
				b.hole(diag.Span{Start: at[i].Start, End: at[i+end].End})
				i += end + 1
				continue
			}
		}
		b.add(text[i:i+1], at[i])
		i++
	}
}
