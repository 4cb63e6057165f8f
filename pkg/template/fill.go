// Package template reads the templates of a platform file, wherever they are, and fills in their parameters.
package template

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// placeholder matches {{ name }}, and \{{ name }} for the text itself. Docker's {{.Name}}, CloudFormation's
// {{resolve:x}} and a shell's ${name} do not match: they keep their meaning.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\\?)\{\{[ \t]*([A-Za-z][A-Za-z0-9_-]*)[ \t]*\}\}`)
})

// walk calls visit for a node and everything below it.
func walk(n *jsontree.Node, visit func(*jsontree.Node)) {
	visit(n)
	for child := range n.Children() {
		walk(child, visit)
	}
}

// Parse reads the text of a template. A problem is everything that makes it no JSON, placeholders outside of strings
// among them.
func Parse(src *diag.Source) (*jsontree.Node, diag.List) {
	root, problems := jsontree.Parse(src)
	for i := range problems {
		if problems[i].Rule == jsontree.RulePlaceholder {
			problems[i].Message = "a placeholder outside of quotes: " +
				src.Text[problems[i].Span.Start:problems[i].Span.End]
			problems[i].Hint = `write it as a string, such as "{{ name }}": a number or a boolean replaces the quotes, too`
		}
	}
	return root, problems
}

// Fill returns the text of a template with values in place of its placeholders, and a problem for each placeholder
// without a value. A string that is one placeholder becomes the value itself: a number stays a number. Elsewhere the
// value's text becomes a part of the string. Values are written as JSON, and their own text is not filled in again.
func Fill(root *jsontree.Node, values map[string]*jsontree.Node) (string, diag.List) {
	var problems diag.List
	var edits []diag.Edit
	fill := func(span diag.Span, text string, isName bool) {
		value, missing := filled(text, values, isName)
		if missing != "" {
			problems = append(problems, diag.Diagnostic{Source: root.Source, Span: span,
				Message: fmt.Sprintf("the template has no parameter %s", missing),
				Hint:    fmt.Sprintf(`add it to the "parameters" of the template, or write \\{{ %s }} for the text itself`, missing)})
		} else if value != nil {
			edits = append(edits, diag.Edit{Span: span, Text: string(value.AppendJSON(nil))})
		}
	}
	walk(root, func(n *jsontree.Node) {
		if n.Key.End > n.Key.Start {
			fill(n.Key, n.Name, true)
		}
		if n.Is(jsontree.String) {
			fill(n.Span, n.Text, false)
		}
	})
	slices.SortStableFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(root.Source.Text[at:e.Span.Start])
		b.WriteString(e.Text)
		at = e.Span.End
	}
	b.WriteString(root.Source.Text[at:])
	return b.String(), problems
}

// filled returns the value that replaces a string, or nil for a string without placeholders. missing is the first
// placeholder without a value. The name of a member always stays a string.
func filled(text string, values map[string]*jsontree.Node, isName bool) (value *jsontree.Node, missing string) {
	found := placeholder().FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return nil, ""
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m[0]])
		at = m[1]
		if m[2] < m[3] { // \{{ name }}
			b.WriteString(text[m[3]:m[1]])
			continue
		}
		name := text[m[4]:m[5]]
		v, ok := values[name]
		if !ok {
			return nil, name
		}
		if m[0] == 0 && m[1] == len(text) && !isName {
			return v, ""
		}
		b.WriteString(v.Text)
	}
	b.WriteString(text[at:])
	return jsontree.NewString(b.String(), nil), ""
}

// HasPlaceholder reports whether a text may have a placeholder.
func HasPlaceholder(text string) bool { return placeholder().MatchString(text) }
