package graph

import "strings"

// tips are the heads of the arrows. Each ends tipLength behind the line that it is at.
var tips = []struct{ id, class, refX, size string }{
	{"tip", "tip", "3", "8"},
	{"tip-wide", "tip", "4.5", "11.4"},
	{"tip-failure", "tip failure", "3", "8"},
	{"tip-critical", "tip critical", "4.5", "11.4"},
}

// rules are a part of the style sheet.
type rules struct {
	// shapes are the rules that hold on every ground: selector, declarations.
	shapes [][2]string
	// colours are the rules with two colours: selector, property, light, dark.
	colours [][4]string
}

const monospace = `ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace`

// basicRules are those of every picture. The colours of the statuses come in addition.
var basicRules = rules{
	shapes: [][2]string{
		{".name", "font:600 13px " + monospace},
		{".small", "font:11px " + monospace},
		{".title", "font:600 15px " + monospace},
		{".edge", "fill:none;stroke-width:1.4"},
		{".n-to-n", "stroke-width:3.5"},
		{".sequential", "stroke-dasharray:1.5 4;stroke-width:2"},
		{".always,.failure", "stroke-dasharray:6 4"},
		{".tip.failure", "stroke-dasharray:none"},
	},
	colours: [][4]string{
		{".ground", "fill", "#ffffff", "#0d1117"},
		{".box", "fill", "#f6f8fa", "#161b22"},
		{".box", "stroke", "#6e7781", "#8b949e"},
		{".sheet", "fill", "#eaeef2", "#21262d"},
		{".sheet", "stroke", "#6e7781", "#8b949e"},
		{".name", "fill", "#1f2328", "#f0f6fc"},
		{".title", "fill", "#1f2328", "#f0f6fc"},
		{".small", "fill", "#57606a", "#a5adb6"},
		{".edge", "stroke", "#6e7781", "#8b949e"},
		{".tip", "fill", "#6e7781", "#8b949e"},
		{".edge.failure", "stroke", "#d55e00", "#f0792a"},
		{".tip.failure", "fill", "#d55e00", "#f0792a"},
		{".s-other", "fill", "#000000", "#ffffff"},
	},
}

// criticalRules are those of the critical path. They come before basicRules, so that an edge
// of Failure keeps its colour.
var criticalRules = rules{
	shapes: [][2]string{
		{".node.critical .box", "stroke-width:3"},
		{".edge.critical", "stroke-width:3"},
		{".n-to-n.critical", "stroke-width:5"},
	},
	colours: [][4]string{
		{".node.critical .box", "stroke", "#1f2328", "#f0f6fc"},
		{".edge.critical", "stroke", "#1f2328", "#f0f6fc"},
		{".tip.critical", "fill", "#1f2328", "#f0f6fc"},
	},
}

// linkRules are those of links. The box of the link that has the focus stands out from one
// on the critical path, too.
var linkRules = rules{
	shapes: [][2]string{
		{"a:hover .name", "text-decoration:underline"},
		{"a:focus-visible .node .box", "stroke-width:4"},
	},
	colours: [][4]string{{"a:focus-visible .node .box", "stroke", "#0969da", "#58a6ff"}},
}

// Stylesheet is the style sheet for pages that hold SVGFragment. Its colours are pairs of
// light-dark(), so they follow the page's color-scheme. It has no @import or url.
func Stylesheet() string {
	var b strings.Builder
	rule := func(of, text string) {
		b.WriteString(strings.ReplaceAll(of, ".", "."+classPrefix) + "{" + text + "}\n")
	}
	for _, part := range []rules{criticalRules, linkRules, basicRules} {
		for _, s := range part.shapes {
			rule(s[0], s[1])
		}
		for _, c := range part.colours {
			rule(c[0], c[1]+":light-dark("+c[2]+","+c[3]+")")
		}
	}
	for _, c := range colours {
		rule(".s-"+c.status, "fill:light-dark("+c.light+","+c.dark+")")
	}
	return b.String()
}

// classPrefix begins the class names of an SVG that is part of a page.
const classPrefix = "graph-"

// styleSheet puts rules together. scope begins every selector, and prefix every class name.
func styleSheet(scope, prefix string, parts ...rules) string {
	selector := func(of string) string {
		return scope + strings.NewReplacer(".", "."+prefix, ",", ","+scope).Replace(of)
	}
	var shapes, light, dark strings.Builder
	coloured := func(of, property, onLight, onDark string) {
		light.WriteString(selector(of) + "{" + property + ":" + onLight + "}\n")
		dark.WriteString(selector(of) + "{" + property + ":" + onDark + "}\n")
	}
	for _, part := range parts {
		for _, s := range part.shapes {
			shapes.WriteString(selector(s[0]) + "{" + s[1] + "}\n")
		}
		for _, c := range part.colours {
			coloured(c[0], c[1], c[2], c[3])
		}
	}
	for _, c := range colours {
		coloured(".s-"+c.status, "fill", c.light, c.dark)
	}
	return shapes.String() + light.String() + "@media (prefers-color-scheme: dark) {\n" + dark.String() + "}\n"
}
