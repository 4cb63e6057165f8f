package graph

import "slices"

// entry is one line of the legend: an edge or a colour, and what it means.
type entry struct {
	edge, status, text string
	critical           bool
}

// criticalPath is the name of the critical path in texts and legends.
const criticalPath = "critical path"

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
	if c.hasCritical() {
		text := criticalPath
		if c.criticalNote != "" {
			text += ", " + c.criticalNote
		}
		all = append(all, entry{critical: true, text: text})
	}
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
		width := sample + columns(e.text)*smallChar
		if e.status != "" {
			width -= sample - 200
		}
		if x > 0 && x+width > p.width {
			x, y = 0, y+row
		}
		p.entry(e, x+p.dx, y+p.dy, x+width+p.dx-columns(e.text)*smallChar)
		x += width + gap
	}
	p.height = y + row
}

// entry draws one of them, its text at a place of its own.
func (p *painter) entry(e entry, x, y, text int) {
	if e.status != "" {
		p.rect("fill "+statusClass(e.status), x, y+30, 120, 100, 20)
	} else {
		p.Shape("path", "class", p.class("sample "+edgeClass(e.edge, e.critical)),
			"d", "M"+px(x)+" "+px(y+80)+"H"+px(x+250), "marker-end", tipOf(e.edge, e.critical))
	}
	p.text("small", text, y+120, e.text)
}
