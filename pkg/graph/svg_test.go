package graph

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/draw"
)

// rectangle is a box of an SVG, in pixels.
type rectangle struct{ x, y, width, height float64 }

func (a rectangle) overlaps(b rectangle) bool {
	return a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+b.height && b.y < a.y+a.height
}

// picture is what can be read from an SVG.
type picture struct {
	page     rectangle
	elements map[string]bool
	nodes    map[string][]rectangle // a node's box, and the sheets of its stack
	edges    []string
}

// read reads an SVG as XML does.
func read(t *rapid.T, svg string) picture {
	p := picture{elements: map[string]bool{}, nodes: map[string][]rectangle{}}
	var path []xml.StartElement
	node := ""
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return p
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch v := token.(type) {
		case xml.StartElement:
			path = append(path, v.Copy())
			p.elements[v.Name.Local] = true
			switch class := attribute(v, "class"); {
			case v.Name.Local == "svg":
				p.page = rectangleOf(t, v)
			case class == "box", class == "sheet":
				p.nodes[node] = append(p.nodes[node], rectangleOf(t, v))
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) < 2 || path[len(path)-1].Name.Local != "title" {
				continue
			}
			title, _, _ := strings.Cut(string(v), "\n")
			if path[len(path)-2].Name.Local == "g" {
				if node = title; p.nodes[node] != nil {
					t.Fatalf("%s is there twice", node)
				}
				continue
			}
			edge, _, _ := strings.Cut(title, " (")
			p.edges = append(p.edges, strings.Replace(edge, " → ", " ", 1))
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 {
		return ""
	}
	return e.Attr[i].Value
}

func rectangleOf(t *rapid.T, e xml.StartElement) rectangle {
	var v [4]float64
	for i, name := range []string{"x", "y", "width", "height"} {
		text := attribute(e, name)
		if text == "" {
			continue
		}
		var err error
		if v[i], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return rectangle{v[0], v[1], v[2], v[3]}
}

// TestPicture: each node and each edge is drawn once, on the page; boxes do not overlap,
// and edges lead from left to right.
func TestPicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		svg, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		p := read(t, svg)
		if len(p.nodes) != len(g.Nodes) {
			t.Fatalf("%d boxes for %d nodes", len(p.nodes), len(g.Nodes))
		}
		for _, a := range g.Nodes {
			if len(p.nodes[a.Name]) == 0 {
				t.Fatalf("%s is not there", a.Name)
			}
			for _, r := range p.nodes[a.Name] {
				if r.x < 0 || r.y < 0 || r.x+r.width > p.page.width || r.y+r.height > p.page.height {
					t.Fatalf("%s is not on the page: %v", a.Name, r)
				}
				for _, b := range g.Nodes {
					if a.Name != b.Name && slices.ContainsFunc(p.nodes[b.Name], r.overlaps) {
						t.Fatalf("%s is above %s\n%s", a.Name, b.Name, svg)
					}
				}
			}
		}
		slices.Sort(p.edges)
		if !slices.Equal(p.edges, said(g)) {
			t.Fatalf("edges %v, want %v", p.edges, said(g))
		}
		for _, e := range p.edges {
			from, to, _ := strings.Cut(e, " ")
			for _, r := range p.nodes[from] {
				if r.x+r.width >= p.nodes[to][0].x {
					t.Fatalf("%s begins before %s ends", to, from)
				}
			}
		}
	})
}

// TestEdgesPassBoxes: where an edge is straight, no box is in its way. Where it bends,
// it is between two columns, where there are none.
func TestEdgesPassBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		c, err := g.check()
		if err != nil {
			t.Fatal(err)
		}
		d := c.arrange()
		for i, way := range d.ways {
			for k := 1; k < len(way); k++ {
				if way[k-1].x >= way[k].x {
					t.Fatalf("an edge goes back: %v", way)
				}
				if k%2 == 1 {
					continue
				}
				for n, b := range d.boxes {
					at := d.at[n]
					if way[k].y >= at.y && way[k].y <= at.y+b.height+b.below && way[k].x > at.x && way[k-1].x < at.x+b.width {
						t.Fatalf("edge %v goes through %s", c.links[i], g.Nodes[n].Name)
					}
				}
			}
		}
	})
}

// TestLegendFits: below a narrow picture the legend takes as many rows as it needs.
func TestLegendFits(t *testing.T) {
	one := Node{Name: "a", Kind: Array, Counts: map[string]int{}}
	for _, status := range statuses {
		one.Counts[status] = 1
	}
	svg, err := (&Graph{Nodes: []Node{one, {Name: "b"}}, Edges: []Edge{{From: 0, To: 1, Type: Always}}}).SVG()
	if err != nil {
		t.Fatal(err)
	}
	var page, x float64
	explained := map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch v := token.(type) {
		case xml.StartElement:
			x, _ = strconv.ParseFloat(attribute(v, "x"), 64)
			if v.Name.Local == "svg" {
				page, _ = strconv.ParseFloat(attribute(v, "width"), 64)
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(v)); slices.Contains(statuses, text) {
				explained[text] = true
				if end := x + float64(len(text)*smallChar)/10; end > page {
					t.Errorf("%s ends at %v of %v", text, end, page)
				}
			}
		}
	}
	if len(explained) != len(statuses) {
		t.Errorf("%v are explained, of %v", explained, statuses)
	}
}

// TestTextsAreTexts: whatever a name holds, the SVG has the same elements, and DOT the
// same strings.
func TestTextsAreTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `\"`, "<script>", "&amp;", "]]>", "\x00", "\xff", "\ufffe", "${{"})).Draw(t, "text")
		// The second name differs from the first, whatever that is.
		g := &Graph{Name: text, Nodes: []Node{{Name: text, Queue: text, Labels: []string{text}, Status: text, Counts: map[string]int{text: 1}, Link: text, Critical: true}, {Name: "b" + text}},
			CriticalNote: text,
			Edges:        []Edge{{From: 0, To: 1, Type: text}}}
		svg, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for name := range read(t, svg).elements {
			if !slices.Contains([]string{"svg", "style", "defs", "marker", "path", "rect", "g", "title", "text", "a"}, name) {
				t.Fatalf("element %s in\n%s", name, svg)
			}
		}
		dot, err := g.DOT()
		if err != nil {
			t.Fatal(err)
		}
		if got := dotStrings(t, dot); got[0] != strings.NewReplacer("&", "&amp;").Replace(draw.OneLine(text)) {
			t.Fatalf("%q of %q in\n%s", got[0], text, dot)
		}
	})
}

// dotStrings are the quoted strings of a DOT text, read as Graphviz does.
func dotStrings(t *rapid.T, dot string) (all []string) {
	for i := 0; i < len(dot); i++ {
		if dot[i] != '"' {
			if !strings.ContainsRune("digraphnolesbxwtyckpmuv0123456789 {}[]=,->\nABCDEFGHIJKLMNOPQRSTUVWXYZfz", rune(dot[i])) {
				t.Fatalf("%q outside of strings in\n%s", dot[i], dot)
			}
			continue
		}
		text := ""
		for i++; dot[i] != '"'; i++ {
			if dot[i] == '\\' {
				i++
			}
			text += string(dot[i : i+1])
		}
		all = append(all, text)
	}
	return all
}

// TestFragment: a fragment is the picture without a style sheet, with other classes, all of which
// the page's style sheet may name. No element has a style attribute.
func TestFragment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		for i := range g.Nodes {
			if rapid.Bool().Draw(t, "linked") {
				g.Nodes[i].Link = fmt.Sprintf("/jobs/%d?a=b&c=<", i)
			}
		}
		if _, err := g.MarkCritical(make([]Times, len(g.Nodes))); err != nil {
			t.Fatal(err)
		}
		if len(g.Nodes) > 0 {
			g.Nodes[0].Critical = rapid.Bool().Draw(t, "critical")
		}
		alone, err := g.SVG()
		if err != nil {
			t.Fatal(err)
		}
		inline, err := g.SVGFragment()
		if err != nil {
			t.Fatal(err)
		}
		without := regexp.MustCompile(`(?s)<style>.*</style>\n`).ReplaceAllString(alone, "")
		prefixed := regexp.MustCompile(`class="[^"]+"`).ReplaceAllStringFunc(without, func(class string) string {
			return strings.ReplaceAll(strings.Replace(class, `"`, `"graph-`, 1), " ", " graph-")
		})
		want := strings.NewReplacer("graph-batchctl-graph", "graph-picture", `role="img"`, `role="group"`).Replace(prefixed)
		if inline != want {
			t.Fatalf("%s\nwant\n%s", inline, want)
		}
		links := map[string]string{} // by address
		for d := xml.NewDecoder(strings.NewReader(inline)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if attribute(e, "style") != "" || e.Name.Local == "style" {
				t.Fatalf("style of its own in\n%s", inline)
			}
			if e.Name.Local == "a" {
				links[attribute(e, "href")] = attribute(e, "aria-label")
			}
		}
		for i, n := range g.Nodes {
			name, isLinked := links[n.Link]
			switch {
			case n.Link == "":
			case !isLinked || !strings.HasPrefix(name, n.Name) || !strings.Contains(name, n.Status):
				t.Fatalf("link of node %d is %q, want its name %q and status %q", i, name, n.Name, n.Status)
			case n.Critical != strings.HasSuffix(name, ", critical path"):
				t.Fatalf("link of node %d is %q, critical: %v", i, name, n.Critical)
			}
		}
	})
}

// TestStylesheet: the page's style sheet names the classes of fragments and no others, so that
// the rest of the page keeps its look.
func TestStylesheet(t *testing.T) {
	sheet := Stylesheet()
	for line := range strings.Lines(sheet) {
		selectors, _, ok := strings.Cut(line, "{")
		if !ok {
			t.Errorf("line %q is no rule", line)
		}
		for selector := range strings.SplitSeq(selectors, ",") {
			if !regexp.MustCompile(`^(a:[a-z-]+ )?(\.graph-[a-zA-Z-]+ ?)+(\.graph-[a-z-]+)*$`).MatchString(selector) {
				t.Errorf("selector %q", selector)
			}
		}
	}
	for _, status := range statuses {
		if strings.Count(sheet, ".graph-s-"+status+"{fill:light-dark(") != 1 {
			t.Errorf("%s has no colour for each ground", status)
		}
	}
}

// TestLarge: many nodes are drawn in no time to speak of; a tangle that took time in a
// power of its size would not end.
func TestLarge(t *testing.T) {
	for name, g := range map[string]*Graph{"random": randomGraph(1000, 1), "fan": fan(5000), "singles": {Nodes: fan(3000).Nodes}} {
		svg, err := g.SVG()
		if err != nil || strings.Count(svg, `class="node"`) != len(g.Nodes) {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := g.Text(TextOptions{Width: 100}); err != nil || strings.Count(text, "\n") < len(g.Nodes) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUntangled holds the order of layers to what the eye finds at once.
func TestUntangled(t *testing.T) {
	ladder := &Graph{} // two chains whose jobs alternate in the file, joined at every step
	for i := range 10 {
		ladder.Nodes = append(ladder.Nodes, Node{Name: fmt.Sprint(i)})
		if i > 1 {
			ladder.Edges = append(ladder.Edges, Edge{From: i - 2, To: i})
		}
	}
	twisted := &Graph{Nodes: make([]Node, 12)} // six pairs, written crosswise
	for i := range 6 {
		twisted.Edges = append(twisted.Edges, Edge{From: i, To: 11 - i})
	}
	tree := &Graph{Nodes: make([]Node, 40)}
	for i := 1; i < 40; i++ {
		tree.Edges = append(tree.Edges, Edge{From: (i - 1) / 3, To: i})
	}
	for name, g := range map[string]*Graph{"ladder": ladder, "twisted": twisted, "tree": tree, "diamond": diamond(), "fan": fan(20)} {
		c, err := g.check()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range c.parts() {
			if n := c.layer(part, make([]box, len(g.Nodes))).crossings(); n != 0 {
				t.Errorf("%s: %d crossings", name, n)
			}
		}
	}
}

// TestNeighboursAreExchanged: sorting by means leaves pairs in a layer that cross less the
// other way round.
func TestNeighboursAreExchanged(t *testing.T) {
	for seed, most := range map[uint64]int{7: 2, 10: 5, 20: 1} {
		g := randomGraph(4+int(seed%12), seed)
		c, err := g.check()
		if err != nil {
			t.Fatal(err)
		}
		crossings := 0
		for _, part := range c.parts() {
			crossings += c.layer(part, make([]box, len(g.Nodes))).crossings()
		}
		if crossings > most {
			t.Errorf("graph %d: %d crossings, and %d can be had", seed, crossings, most)
		}
	}
}
