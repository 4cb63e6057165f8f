package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// DOT is the graph for Graphviz, from left to right. Arrays are boxes with a depth,
// joins are ellipses, edges of a type say it, and those of "when" are dashed. The
// colours are those of SVG. The critical path has the thickest lines. The error is a *CycleError or an *EdgeError.
func (g *Graph) DOT() (string, error) {
	c, err := g.check()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\n", quoted(draw.OneLine(g.Name)))
	out.WriteString("  rankdir=LR\n  node [shape=box, fontname=\"monospace\", fontsize=11]\n  edge [fontname=\"monospace\", fontsize=9]\n")
	if c.queue != "" {
		fmt.Fprintf(&out, "  label=%s\n  labelloc=t\n", quoted("all in "+draw.OneLine(c.queue)))
	}
	for i, n := range c.nodes {
		fmt.Fprintf(&out, "  n%d [label=%s%s]\n", i, quoted(strings.Join(c.label(i), "\n")), dotShape(n))
	}
	for _, l := range c.links {
		fmt.Fprintf(&out, "  n%d -> n%d%s\n", l.from, l.to, dotEdge(l))
	}
	out.WriteString("}\n")
	return out.String(), nil
}

// label are the lines of a node's box.
func (c *checked) label(i int) []string {
	n := c.nodes[i]
	lines := []string{draw.OneLine(n.Name)}
	var labels []string
	for _, l := range n.Labels {
		labels = append(labels, draw.OneLine(l))
	}
	for _, kind := range c.own[i] {
		labels = append(labels, draw.OneLine(kind))
	}
	if len(labels) > 0 {
		lines = append(lines, strings.Join(labels, ", "))
	}
	if queue := c.queueOf(n); queue != "" {
		lines = append(lines, draw.OneLine(queue))
	}
	if n.Status != "" {
		lines = append(lines, draw.OneLine(n.Status))
	}
	var counts []string
	for _, k := range n.counts() {
		counts = append(counts, draw.OneLine(k.String()))
	}
	if len(counts) > 0 {
		lines = append(lines, strings.Join(counts, ", "))
	}
	return lines
}

func dotShape(n Node) string {
	text, width := "", 2
	switch n.Kind {
	case Array:
		text = ", shape=box3d"
	case Join:
		text = ", shape=ellipse"
	}
	if slices.Contains(statuses, n.Status) {
		text += fmt.Sprintf(", color=%s", quoted(draw.Light(n.Status)))
	}
	if n.Critical {
		width = 4
	}
	if n.Critical || n.Status != "" {
		text += fmt.Sprintf(", penwidth=%d", width)
	}
	if n.Link != "" {
		text += ", URL=" + quoted(draw.OneLine(n.Link))
	}
	return text
}

func dotEdge(l link) string {
	var with []string
	if len(l.types) > 0 {
		with = append(with, "label="+quoted(draw.OneLine(l.label(""))))
	}
	switch l.style() {
	case Always, Failure:
		with = append(with, "style=dashed")
	case NToN:
		with = append(with, "style=bold")
	case Sequential:
		with = append(with, "style=dotted")
	}
	if l.critical {
		with = append(with, "penwidth=3")
	}
	if len(with) == 0 {
		return ""
	}
	return " [" + strings.Join(with, ", ") + "]"
}

// style is the type that a link is drawn by, of several the one that says most.
func (l link) style() string {
	for _, kind := range []string{Failure, Always, NToN, Sequential} {
		for _, t := range l.types {
			if t == kind {
				return kind
			}
		}
	}
	return ""
}

// quoted is a text as a string of DOT. Graphviz reads a backslash as the beginning of
// an escape, and HTML's entities as the characters that they name.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "&", "&amp;").Replace(text) + `"`
}
