package graph

import (
	"slices"
	"strings"
)

// entry is one line of the legend: an edge or a colour, and what it means.
type entry struct{ edge, status, text string }

// meanings of the types of edges, in the order of the legend.
var meanings = []entry{
	{edge: NToN, text: "N_TO_N: each child after its counterpart"},
	{edge: Sequential, text: "SEQUENTIAL: one child after the other"},
	{edge: Always, text: "when: always, however it ended"},
	{edge: Failure, text: "when: failure"},
}

// entries are what of the picture needs words.
func (c *checked) entries() []entry {
	var all []entry
	for _, m := range meanings {
		if slices.ContainsFunc(c.links, func(l link) bool { return l.style() == m.edge }) {
			all = append(all, m)
		}
	}
	for _, status := range statuses {
		if slices.ContainsFunc(c.nodes, func(n Node) bool { return n.Counts[status] > 0 }) {
			all = append(all, entry{status: status, text: status})
		}
	}
	return all
}

// legend draws the entries below the picture, as many in a row as fit.
func (p *painter) legend() {
	const sample, gap, row, least = 360, 240, 220, 4200
	entries := p.entries()
	if len(entries) == 0 {
		return
	}
	p.width = max(p.width, least)
	p.height += partGap
	x, y := 0, p.height
	for _, e := range entries {
		width := sample + len(e.text)*smallChar
		if e.status != "" {
			width -= sample - 200
		}
		if x > 0 && x+width > p.width {
			x, y = 0, y+row
		}
		p.entry(e, x+p.dx, y+p.dy, x+width+p.dx-len(e.text)*smallChar)
		x += width + gap
	}
	p.height = y + row
}

// entry draws one of them, its text at a place of its own.
func (p *painter) entry(e entry, x, y, text int) {
	if e.status != "" {
		p.rect("fill "+statusClass(e.status), x, y+30, 120, 100, 20)
	} else {
		p.printf(`<path class="sample edge%s" d="M%s %sH%s" marker-end="url(#batchctl-%s)"/>`+"\n",
			edgeClasses[e.edge], px(x), px(y+80), px(x+250), tipOf(e.edge))
	}
	p.text("small", text, y+120, e.text)
}

// tips are the heads of the arrows. Each ends tipLength behind the line that it is at.
const tips = `<defs>
<marker id="batchctl-tip" class="tip" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 8 4 0 7.5Z"/></marker>
<marker id="batchctl-tip-wide" class="tip" viewBox="0 0 8 8" refX="4.5" refY="4" markerWidth="11.4" markerHeight="11.4" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 8 4 0 7.5Z"/></marker>
<marker id="batchctl-tip-failure" class="tip failure" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 8 4 0 7.5Z"/></marker>
</defs>
`

// ground are the colours besides those of the statuses: class, property, light, dark.
var ground = [][4]string{
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
}

// style is the style sheet. Every rule begins with the picture's class, because a page
// that holds the picture reads it too.
func style() string {
	const scope = ".batchctl-graph "
	light, dark := "", ""
	rule := func(class, property, l, d string) {
		light += scope + class + "{" + property + ":" + l + "}\n"
		dark += scope + class + "{" + property + ":" + d + "}\n"
	}
	for _, g := range ground {
		rule(g[0], g[1], g[2], g[3])
	}
	for _, c := range colours {
		rule(".s-"+c.status, "fill", c.light, c.dark)
	}
	return "<style>\n" + strings.ReplaceAll(shapes, "\n.", "\n"+scope+".")[1:] + light +
		"@media (prefers-color-scheme: dark) {\n" + dark + "}\n</style>\n"
}

// shapes are the rules that hold on every ground.
const shapes = `
.name{font:600 13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.small{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.title{font:600 15px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.edge{fill:none;stroke-width:1.4}
.n-to-n{stroke-width:3.5}
.sequential{stroke-dasharray:1.5 4;stroke-width:2}
.always,.batchctl-graph .failure{stroke-dasharray:6 4}
.tip.failure{stroke-dasharray:none}
`
