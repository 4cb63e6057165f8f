package userdata

import (
	"iter"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// config checks the commands of a #cloud-config: cloud-init combines the items of runcmd
// into one script, and those of bootcmd into another.
func (c *check) config(p part) {
	root, _ := yamltree.Parse(diag.NewSource("", p.body()))
	for list := range root.Children() {
		// Other members, such as write_files, run nothing.
		if (list.Name == "runcmd" || list.Name == "bootcmd") && list.Is(jsontree.Array) {
			if t := commands(p, list); len(t.text) <= maxRead {
				c.parse(part{Text: t, to: len(t.text)}, 0, t.text)
			}
		}
	}
}

// commands returns the script that cloud-init builds from a list (util.shellify): a text
// becomes a line unchanged, and a list becomes a command with each word in quotes.
func commands(p part, list *jsontree.Node) *Text {
	t := &Text{Source: p.Source, filled: p.filled}
	var script strings.Builder
	add := func(text string, at diag.Span) {
		script.WriteString(text)
		t.add(text, p.span(p.from+at.Start, p.from+at.End))
	}
	// Aliases can expand beyond the size of any user data.
	full := func() bool { return script.Len() > maxRead }
	for item := range list.Children() {
		if full() {
			break
		}
		switch item.Kind {
		case jsontree.Null:
			continue
		case jsontree.Object:
			add(":", item.Span) // cloud-init rejects this item
		case jsontree.Array:
			for arg := range item.Children() {
				if full() {
					break
				}
				add("'", arg.Span)
				for text, at := range letters(arg) {
					add(strings.ReplaceAll(text, "'", `'\''`), at)
				}
				add("' ", arg.Span)
			}
		default:
			for text, at := range letters(item) {
				add(text, at)
			}
		}
		add("\n", diag.Span{Start: item.Span.End - 1, End: item.Span.End})
	}
	t.seal(script.String())
	return t
}

// letters are the bytes of a value with their places.
func letters(n *jsontree.Node) iter.Seq2[string, diag.Span] {
	return func(yield func(string, diag.Span) bool) {
		spans := yamltree.ByteSpans(n)
		for i := range len(n.Text) {
			at := n.Span
			if spans != nil {
				at = spans[i]
			}
			if !yield(n.Text[i:i+1], at) {
				return
			}
		}
	}
}
