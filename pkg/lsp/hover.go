package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
)

// hover explains the member at the cursor, and the problems there.
func (s *server) hover(p positionParams) (any, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil, nil
	}
	file, _ := s.read(d)
	if file == nil {
		return nil, nil
	}
	offset := d.text.offset(p.Position, s.encoding)
	var parts []string
	span, about := explainAt(file, offset)
	if about != "" {
		parts = append(parts, about)
	}
	for _, problem := range s.found[d.uri] {
		if !covers(problem.Span, offset) {
			continue
		}
		if doc := ruleDoc(problem.Rule); doc != "" && !slices.Contains(parts, doc) {
			parts = append(parts, doc)
			if about == "" {
				span = problem.Span
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return hoverResult{*markdown(strings.Join(parts, "\n\n---\n\n")), d.text.spanToRange(span, s.encoding)}, nil
}

// covers reports whether the span contains the offset. An empty span contains its start.
func covers(s diag.Span, offset int) bool {
	return s.Start <= offset && offset < max(s.End, s.Start+1)
}

// ruleDoc returns a rule's description as Markdown; "" for a problem without a rule.
func ruleDoc(name string) string {
	r, ok := lint.Lookup(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("**[%s](%s)** (%s)\n\n%s\n\n%s", r.Name, r.URL(), r.Severity, r.MarkdownDoc(),
		r.MarkdownSource())
}

// explainAt returns the explanation of the member at that offset, and its span; "" if
// there is no explanation.
func explainAt(file *document.File, offset int) (diag.Span, string) {
	nodes := nodesAt(file.Root, offset)
	if len(nodes) == 0 {
		return diag.Span{}, ""
	}
	// The description of a list is better than that of its elements.
	for len(nodes) > 1 && nodes[len(nodes)-1].Name == "" {
		nodes = nodes[:len(nodes)-1]
	}
	n := nodes[len(nodes)-1]
	if n.Name == "" {
		return diag.Span{}, ""
	}
	steps := stepsTo(nodes)
	owner := topOf(file.Kind).at(steps[:len(steps)-1])
	p := owner.step(steps[len(steps)-1])
	if p == nil {
		return diag.Span{}, ""
	}
	text := p.explain(known(owner, n.Name), owner.link())
	if becomes := lowered(file, n); becomes != "" {
		text += "\n\n" + becomes
	}
	return n.Key, text
}

// nodesAt returns the values around an offset, outermost first, down to the member whose name
// or scalar value is there. It is empty between values.
func nodesAt(root *jsontree.Node, offset int) []*jsontree.Node {
	if root == nil {
		return nil
	}
	nodes := []*jsontree.Node{root}
	for {
		last := nodes[len(nodes)-1]
		var inner *jsontree.Node
		for child := range last.Children() {
			if covers(child.Span, offset) || child.Key.End > 0 && covers(child.Key, offset) {
				inner = child
			}
		}
		if inner == nil {
			onName := last.Key.End > 0 && covers(last.Key, offset)
			if onName || last.Kind < jsontree.Array {
				return nodes
			}
			return nil
		}
		nodes = append(nodes, inner)
	}
}

// stepsTo returns the path to the last of the nodes from the first.
func stepsTo(nodes []*jsontree.Node) []step {
	var steps []step
	for i, n := range nodes[1:] {
		steps = append(steps, step{name: n.Name, element: nodes[i].Is(jsontree.Array)})
	}
	return steps
}

// known returns the name if the schema has it. Other names, such as those of variables,
// are not repeated in Markdown.
func known(owner applicable, name string) string {
	for _, schema := range owner {
		if schema.Get("properties").Get(name) != nil {
			return name
		}
	}
	return ""
}

// explain returns the Markdown about a member. The link is that of the structure around
// it, for members without a description.
func (p applicable) explain(name, link string) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	title, types := p.title(), strings.Join(p.types(), " or ")
	if name != "" {
		name = "`" + name + "`"
	}
	if title != "" {
		title = "**" + title + "**"
	}
	add("%s", strings.TrimSpace(strings.Join(slices.DeleteFunc([]string{title, name, types},
		func(s string) bool { return s == "" }), " · ")))
	if text := p.description(); text != "" {
		add("%s", text)
	}
	if values := sources(p.each("enum")); len(values) > 0 {
		add("Values: %s", strings.Join(values, ", "))
	}
	if examples := sources(p.each("examples")); len(examples) > 0 {
		add("Example: %s", examples[0])
	}
	if own := p.link(); own != "" {
		link = own
	}
	if link != "" {
		add("[AWS Batch API reference](%s)", link)
	}
	return strings.Join(parts, "\n\n")
}
