package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// AnyMember is the name in File.Unknown for a placeholder in place of whole members, such as { ${more} }, and for a
// syntax error that may hide members, such as { ... }.
const AnyMember = "*"

// placeholders reports the strings that another program or a person has to complete, and fills Unknown. The parser has
// reported those without quotes.
func (f *File) placeholders(reported diag.List) (out diag.List) {
	if len(reported) == 0 && !mayHavePlaceholder(f.Source.Text) {
		return nil
	}
	bare := 0 // the placeholders of the parser that stand for a value
	var visit func(n *jsontree.Node, member string, in context)
	visit = func(n *jsontree.Node, member string, in context) {
		if n.Name != "" {
			member = n.Name
		}
		if in == anywhere && len(n.Name) <= longestContext { // inside, a path or a variable can have any name
			if c, ok := contexts[plain(n.Name)]; ok {
				in = c
			}
		}
		if in == anywhere && n.Name == "metrics" && n.Is(jsontree.Object) {
			return // (?P<loss>.+) has a named group, and ${{ is reported with the references
		}
		if in == ignored || n.Name != "" && (strings.HasPrefix(n.Name, "$") || strings.HasPrefix(n.Name, "_")) {
			return
		}
		if n.Is(jsontree.String) {
			found := placeholderIn(f.platform.fills(n.Text), in)
			if in == inShell && n.Name != "" && found == "" && len(placeholderIn(n.Text, anywhere)) == len(n.Text) {
				found = n.Text // a whole command, which the shell does not expand
			}
			isBare := slices.ContainsFunc(reported, func(d diag.Diagnostic) bool {
				return d.Rule == jsontree.RulePlaceholder && d.Span.Start == n.Span.Start
			})
			if isBare {
				bare++
			}
			if found != "" || isBare {
				f.Unknown = append(f.Unknown, UnknownMember{member, n.Span})
			}
			if found != "" && n.Source == f.Source && !isBare {
				d := problem(jsontree.RulePlaceholder, n.Source, n.Span, jsontree.PlaceholderHint, "%s",
					jsontree.PlaceholderMessage(found))
				d.Severity = diag.Warning
				out = append(out, d)
			}
		}
		for child := range n.Children() {
			visit(child, member, in)
		}
	}
	visit(f.Root, "", anywhere)
	for _, d := range reported {
		if d.Rule == jsontree.RulePlaceholder {
			bare--
		}
	}
	if bare < 0 || slices.ContainsFunc(reported, hidesMembers) {
		f.Unknown = append(f.Unknown, UnknownMember{Name: AnyMember})
	}
	return out
}

// hidesMembers reports whether the parser may have skipped members at a syntax error: where it knows the edit, it has
// read what the author means.
func hidesMembers(d diag.Diagnostic) bool {
	return d.Rule == jsontree.RuleSyntax && d.Fix == nil && !jsontree.IsComment(d)
}
