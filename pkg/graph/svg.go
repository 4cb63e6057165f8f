package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// SVG is the graph as a picture: from left to right, each node in the column of the
// first stage in which it could start. It fits the light or dark ground that its reader
// prefers. A legend stands below it where kinds of edges or the colours of children's
// statuses need one; a status itself is written in its box. The error is a *CycleError
// or an *EdgeError.
func (g *Graph) SVG() (string, error) { return g.paint(false) }

// SVGFragment is the picture of SVG as a part of an HTML page. It has no style sheet of its
// own and no style attributes: the page takes Stylesheet. Class names begin with "graph-",
// that of the svg element is graph-picture. The size is that of SVG, so a wide picture needs
// an element around it that scrolls. The ids of the arrow heads are the same in every picture.
func (g *Graph) SVGFragment() (string, error) { return g.paint(true) }

func (g *Graph) paint(inline bool) (string, error) {
	c, err := g.check()
	if err != nil {
		return "", err
	}
	p := &painter{layout: c.arrange(), inline: inline}
	top := p.heading(draw.OneLine(g.Name))
	p.dx, p.dy = margin, margin+top
	for _, critical := range []bool{false, true} { // the critical path is drawn over the other edges
		for i, l := range p.links {
			if l.critical == critical {
				p.edge(i)
			}
		}
	}
	for i := range p.nodes {
		p.node(i)
	}
	p.legend()
	return p.page(draw.OneLine(g.Name)), nil
}

// painter writes the elements of the picture.
type painter struct {
	*layout
	draw.SVG
	inline bool
	dx, dy int // where the layout begins
}

// class is the value of a class attribute.
func (p *painter) class(names string) string {
	if !p.inline {
		return names
	}
	return classPrefix + strings.ReplaceAll(names, " ", " "+classPrefix)
}

// px is a length in pixels.
func px(tenths int) string { return strconv.FormatFloat(float64(tenths)/pixel, 'f', -1, 64) }

// text writes a line of text whose ground is at y.
func (p *painter) text(class string, x, y int, text string) {
	p.Element("text", text, "class", p.class(class), "x", px(x), "y", px(y))
}

// heading writes the graph's name and the queue of all, and returns their height.
func (p *painter) heading(name string) (height int) {
	if name != "" {
		height += 200
		p.text("title", margin, margin+120, name)
		p.width = max(p.width, columns(name)*92)
	}
	if p.queue != "" {
		height += 160
		all := "all in " + draw.OneLine(p.queue)
		p.text("small", margin, margin+height-50, all)
		p.width = max(p.width, columns(all)*smallChar)
	}
	if height > 0 {
		height += 120
	}
	return height
}

// edgeClasses are how the types of edges are drawn.
var edgeClasses = map[string]string{NToN: " n-to-n", Sequential: " sequential", Always: " always", Failure: " failure"}

// edgeClass are the classes of a type of edge.
func edgeClass(style string, critical bool) string {
	class := "edge" + edgeClasses[style]
	if critical {
		class += " critical"
	}
	return class
}

// edge draws a link: straight through the columns that it passes, bent between them.
func (p *painter) edge(i int) {
	l, way := p.links[i], p.ways[i]
	var path strings.Builder
	way = slices.Clone(way)
	way[len(way)-1].x -= tipLength
	x, y := func(q point) string { return px(q.x + p.dx) }, func(q point) string { return px(q.y + p.dy) }
	fmt.Fprintf(&path, "M%s %s", x(way[0]), y(way[0]))
	for k := 1; k < len(way); k++ {
		a, b := way[k-1], way[k]
		if k%2 == 0 || a.y == b.y {
			fmt.Fprintf(&path, "H%s", x(b))
			continue
		}
		middle := point{x: (a.x + b.x) / 2}
		fmt.Fprintf(&path, "C%s %s %s %s %s %s", x(middle), y(a), x(middle), y(b), x(b), y(b))
	}
	title := draw.OneLine(p.nodes[l.from].Name) + " → " + draw.OneLine(p.nodes[l.to].Name)
	if len(l.types) > 0 {
		title += " (" + draw.OneLine(l.label("")) + ")"
	}
	p.Titled(title, "path", "class", p.class(edgeClass(l.style(), l.critical)), "d", path.String(),
		"marker-end", tipOf(l.style(), l.critical))
}

// tipLength is how much of an edge its arrow head stands for, so that it ends in a point.
const tipLength = 50

// tipOf refers to the arrow head of a type of edge.
func tipOf(style string, critical bool) string {
	switch {
	case style == Failure:
		return "url(#batchctl-tip-failure)"
	case critical:
		return "url(#batchctl-tip-critical)"
	case style == NToN:
		return "url(#batchctl-tip-wide)"
	}
	return "url(#batchctl-tip)"
}

// node draws a box and its text, and around them the link.
func (p *painter) node(i int) {
	n, b := p.nodes[i], p.boxes[i]
	x, y := p.at[i].x+p.dx, p.at[i].y+p.dy
	class, title := "node", p.label(i)
	// The name of the link begins with the visible text: people who speak to their browser say what they see.
	name := strings.Join(slices.Concat(b.name, b.small, b.status), " ")
	if n.Critical {
		class, title, name = class+" critical", append(title, criticalPath), name+", "+criticalPath
	}
	if n.Link != "" {
		p.Open("a", "href", draw.OneLine(n.Link), "aria-label", name)
	}
	p.Open("g", "class", p.class(class))
	p.Element("title", strings.Join(title, "\n"))
	radius := 60
	if n.Kind == Join {
		radius = min(b.height/2, 240)
	}
	if n.Kind == Array {
		for step := 2 * stackStep; step > 0; step -= stackStep {
			p.rect("sheet", x+step, y+step, b.width, b.height, radius)
		}
	}
	p.rect("box", x, y, b.width, b.height, radius)
	if n.Status != "" {
		p.rect("fill "+statusClass(n.Status), x+45, y+80, 35, b.height-160, 15)
	}
	line := y + 90
	for _, part := range []struct {
		class  string
		lines  []string
		height int
	}{{"name", b.name, nameLine}, {"small", b.small, smallLine}, {"small", b.status, smallLine}} {
		for _, text := range part.lines {
			line += part.height
			p.text(part.class, x+padding, line-40, text)
		}
	}
	if b.bar {
		p.bar(n.counts(), x+padding, line+40, b.width-2*padding)
	}
	p.Close("g")
	if n.Link != "" {
		p.Close("a")
	}
}

func (p *painter) rect(class string, x, y, width, height, radius int) {
	p.Shape("rect", "class", p.class(class), "x", px(x), "y", px(y), "width", px(width), "height", px(height),
		"rx", px(radius))
}

// bar draws the counts as parts of a line. Each is long enough to be seen.
func (p *painter) bar(counts []count, x, y, width int) {
	total := 0
	for _, c := range counts {
		total += c.n
	}
	const least = 2 * pixel
	left := width - least*len(counts)
	for i, c := range counts {
		part := least + int(float64(left)*(float64(c.n)/float64(total)))
		if i == len(counts)-1 {
			part = max(width, least)
		}
		p.rect("fill "+statusClass(c.status), x, y, part, barHeight, 0)
		x, width = x+part, width-part
	}
}

// statusClass is the class of a status's colour.
func statusClass(status string) string {
	if slices.Contains(statuses, status) {
		return "s-" + status
	}
	return "s-other"
}

// page puts the parts together.
func (p *painter) page(name string) string {
	width, height := p.width+2*margin, p.height+p.dy+margin
	label := "jobs and what they wait for"
	if name != "" {
		label = name + ": " + label
	}
	critical, links := p.hasCritical(), slices.ContainsFunc(p.nodes, func(n Node) bool { return n.Link != "" })
	class, role := "batchctl-graph", "img" // whose children are no elements of their own for a screen reader
	if links || p.inline {
		role = "group"
	}
	rules := basicRules
	if critical {
		rules += criticalRules
	}
	if links {
		rules += linkRules
	}
	if p.inline {
		class = classPrefix + "picture"
	}
	var s draw.SVG
	s.Open("svg", "xmlns", "http://www.w3.org/2000/svg", "class", class, "role", role, "aria-label", label,
		"width", px(width), "height", px(height), "viewBox", "0 0 "+px(width)+" "+px(height))
	if !p.inline {
		// Every rule begins with the picture's class, because a page that holds the picture reads it too.
		s.WriteString("<style>\n" + draw.Sheet(rules+lastRules, "."+class+" ") + "</style>\n")
	}
	p.tips(&s, critical)
	s.Shape("rect", "class", p.class("ground"), "width", px(width), "height", px(height))
	s.WriteString(p.String())
	s.Close("svg")
	return s.String()
}

// tips writes the definitions of the arrow heads.
func (p *painter) tips(s *draw.SVG, critical bool) {
	s.Open("defs")
	for _, t := range tips {
		if t.id == "tip-critical" && !critical {
			continue
		}
		s.Open("marker", "id", "batchctl-"+t.id, "class", p.class(t.class), "viewBox", "0 0 8 8", "refX", t.refX,
			"refY", "4", "markerWidth", t.size, "markerHeight", t.size, "markerUnits", "userSpaceOnUse",
			"orient", "auto")
		s.Shape("path", "d", "M0 0.5 8 4 0 7.5Z")
		s.Close("marker")
	}
	s.Close("defs")
}
