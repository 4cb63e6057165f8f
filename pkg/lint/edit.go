package lint

import (
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// replace returns the fix that replaces a string or number by another value, with or
// without quotes as before. It returns nil if the text is not the value itself, such as
// "2 GiB" for 2048 in the compact form.
func replace(n *jsontree.Node, value string) *diag.Fix { return replaced(n, value, jsontree.WriteFix) }

// replaceTypo is replace for a value that AWS Batch certainly rejects, and the only similar one.
func replaceTypo(n *jsontree.Node, value string) *diag.Fix {
	return replaced(n, value, jsontree.TypoFix)
}

func replaced(n *jsontree.Node, value string, fix func(*jsontree.Node, string) *diag.Fix) *diag.Fix {
	src, span := n.Location()
	if src == nil || span.End > len(src.Text) {
		return nil
	}
	switch src.Text[span.Start:span.End] {
	case strconv.Quote(n.Text):
		value = strconv.Quote(value)
	case n.Text:
	default:
		return nil
	}
	return fix(n, value)
}

// rewrite returns the fix that replaces a value by JSON text.
func rewrite(n *jsontree.Node, text string) *diag.Fix {
	if src, _ := n.Location(); src == nil {
		return nil
	}
	return jsontree.WriteFix(n, text)
}

// unquote returns the fix for a whole number in quotes.
func unquote(n *jsontree.Node) *diag.Fix {
	// A number of more than 15 digits may lose precision as a float64, and JSON does not
	// allow leading zeros.
	if !isWhole(n.Str()) || len(n.Text) > 15 || len(n.Text) > 1 && n.Text[0] == '0' {
		return nil
	}
	return rewrite(n, n.Text)
}

// rename returns the fix that renames a member.
func rename(n *jsontree.Node, name string) *diag.Fix {
	if n.Source == nil || n.Key.Start == n.Key.End {
		return nil
	}
	text := strconv.Quote(name)
	return &diag.Fix{Message: "write " + text, Edits: []diag.Edit{{Span: n.Key, Text: text}}}
}

// fixIf is replace if the condition holds.
func fixIf(ok bool, n *jsontree.Node, value string) *diag.Fix {
	if !ok {
		return nil
	}
	return replace(n, value)
}

// lowerFix returns the fix that writes a name in lower case; nil if the result would still
// not match the pattern.
func lowerFix(n *jsontree.Node, p pattern) *diag.Fix {
	return fixIf(p().MatchString(lowered(n.Text)), n, lowered(n.Text))
}

// disjoint returns the fix unless two of its edits touch the same text.
func disjoint(f *diag.Fix) *diag.Fix {
	for i, a := range f.Edits {
		for _, b := range f.Edits[i+1:] {
			if a.Span.Start < b.Span.End && b.Span.Start < a.Span.End {
				return nil
			}
		}
	}
	return f
}
