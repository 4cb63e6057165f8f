package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// TextOptions say how a graph becomes lines of text.
type TextOptions struct {
	// Width is how many columns there are; 0: as many as it takes. What does not fit is
	// cut, names in their middle, and a mark stands for it.
	Width int
	// ASCII draws only with ASCII. Names stay unchanged.
	ASCII bool
	// Style colours a piece of text, which has its final width. role is StemRole,
	// NoteRole, or the status that the text tells. nil: nothing is coloured.
	Style func(role, text string) string
}

// Roles that Style is called with, besides the statuses. Names have no role and are
// not given to Style.
const (
	// StemRole is that of the lines that join a node to the one above.
	StemRole = "stem"
	// NoteRole is the role of the text after a node's name.
	NoteRole = "note"
)

// strokes are what the tree is drawn with.
type strokes struct{ tee, corner, bar, gap, cut string }

var (
	boxStrokes   = strokes{"├─ ", "└─ ", "│  ", "   ", "…"}
	asciiStrokes = strokes{"|- ", "`- ", "|  ", "   ", "..."}
)

// Text draws the graph as an indented tree, one line per node. A node is below the last node
// that it waits for, and names the others ("also after: b, c"); so everything that it waits
// for is above it. Columns are counted as terminals count them: East Asian characters take
// two.
//
// A queue that all nodes share appears once, in the first line. Links do not appear. The error is a *CycleError or
// an *EdgeError.
func (g *Graph) Text(o TextOptions) (string, error) {
	c, err := g.check()
	if err != nil {
		return "", err
	}
	t := &texter{checked: c, TextOptions: o, strokes: boxStrokes}
	if o.ASCII {
		t.strokes = asciiStrokes
	}
	t.grow(c.tree(), "", 0, true)
	return t.print(), nil
}

// texter makes the lines of a tree.
type texter struct {
	*checked
	TextOptions
	strokes
	rows []row
}

// row is a node's line before it is made to fit.
type row struct {
	stem, name string
	status     string
	queue      string
	counts     []count
	notes      []string
	also       []string
}

// grow adds the rows of branches. stem is the prefix of each row.
func (t *texter) grow(branches []*branch, stem string, depth int, roots bool) {
	for i, b := range branches {
		own, below := stem+t.tee, stem+t.bar
		switch {
		case roots:
			own, below = "", ""
		case i == len(branches)-1:
			own, below = stem+t.corner, stem+t.gap
		}
		t.rows = append(t.rows, t.row(b, own, depth))
		t.grow(b.below, below, depth+1, false)
	}
}

// row is the line of one node.
func (t *texter) row(b *branch, stem string, depth int) row {
	n := t.nodes[b.node]
	if t.Width > 0 && columns(stem) > t.Width*2/5 {
		stem = t.fit(fmt.Sprintf("(%d) ", depth), t.Width*2/5) // what is deep would have no room left
	}
	r := row{stem: stem, name: draw.OneLine(n.Name), status: draw.OneLine(n.Status),
		queue: draw.OneLine(t.queueOf(n)), counts: n.counts()}
	for _, label := range n.Labels {
		r.notes = append(r.notes, draw.OneLine(label))
	}
	kinds := slices.Clone(t.own[b.node])
	if b.under >= 0 {
		kinds = append(kinds, t.links[b.under].types...)
	}
	for _, kind := range kinds {
		if note := edgeNote(kind); !slices.Contains(r.notes, note) {
			r.notes = append(r.notes, note)
		}
	}
	if n.Critical {
		r.notes = append(r.notes, criticalPath)
	}
	for _, l := range b.also {
		other := draw.OneLine(t.nodes[t.links[l].from].Name)
		if kinds := t.links[l].types; len(kinds) > 0 {
			other += " (" + draw.OneLine(strings.Join(kinds, " + ")) + ")"
		}
		r.also = append(r.also, other)
	}
	return r
}

// edgeNote is how a node says the type of the edge above it.
func edgeNote(kind string) string {
	if kind == Always || kind == Failure {
		return "when: " + kind
	}
	return draw.OneLine(kind)
}

// print makes the rows fit and puts them below each other.
func (t *texter) print() string {
	var out strings.Builder
	if t.queue != "" {
		out.WriteString(t.styled(NoteRole, t.fit("all in "+draw.OneLine(t.queue), t.Width)) + "\n")
	}
	w := t.widths()
	for _, r := range t.rows {
		out.WriteString(strings.TrimRight(t.line(r, w), " ") + "\n")
	}
	return out.String()
}

// between is what stands between two columns.
const between = "  "

// widths are how many columns of the terminal the columns of the text take; 0: there
// is no such column.
type widths struct{ heads, statuses, queues int }

// queuesFrom is the width from which queues have their own column. Below it, they come after
// more important details.
const queuesFrom = 80

func (t *texter) widths() widths {
	var w widths
	stems, names := 0, 0
	for _, r := range t.rows {
		w.heads = max(w.heads, columns(r.stem)+columns(r.name))
		w.statuses = max(w.statuses, columns(r.status))
		w.queues = max(w.queues, columns(r.queue))
		stems, names = max(stems, columns(r.stem)), max(names, columns(r.name))
	}
	if t.Width > 0 && (t.Width < queuesFrom || w.queues > t.Width/4) {
		w.queues = 0
	}
	if t.Width == 0 {
		return w
	}
	rest := 0
	for _, r := range t.rows {
		rest = max(rest, columns(r.details(w.queues == 0)))
	}
	for _, n := range []*int{&rest, &w.statuses, &w.queues} {
		if *n > 0 {
			rest += len(between)
		}
	}
	rest += w.statuses + w.queues
	// Names get what the rest leaves, or if that is little, two fifths of the line; up
	// to three where the stems would leave hardly anything of them.
	least := max(t.Width*2/5, min(stems+min(names, 12), t.Width*3/5))
	w.heads = min(w.heads, max(t.Width-rest, least))
	return w
}

// line is a row in its columns.
func (t *texter) line(r row, w widths) string {
	name := t.shorten(r.name, w.heads-columns(r.stem))
	line := t.styled(StemRole, r.stem) + name + spaces(w.heads-columns(r.stem)-columns(name))
	left := t.Width - w.heads
	for _, cell := range []struct {
		role, text string
		width      int
	}{{r.status, r.status, w.statuses}, {NoteRole, r.queue, w.queues}} {
		if cell.width == 0 {
			continue
		}
		text := t.clip(cell.text, left-len(between))
		line += between + t.styled(cell.role, text) + spaces(cell.width-columns(text))
		left -= len(between) + cell.width
	}
	if t.Width > 0 && left <= len(between) {
		return line
	}
	return line + between + t.details(r, w.queues == 0, left-len(between))
}

// clip is a text in so many columns, where the width is bounded at all.
func (t *texter) clip(text string, width int) string {
	if t.Width == 0 {
		return text
	}
	return t.fit(text, max(width, 0))
}

func (t *texter) styled(role, text string) string {
	if t.Style == nil || text == "" || role == "" {
		return text
	}
	return t.Style(role, text)
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }
