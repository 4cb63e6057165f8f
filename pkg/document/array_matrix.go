package document

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/text"
)

// matrixReader builds the cells of a matrix, and reports mistakes at their location.
type matrixReader struct {
	problems
	// node is the matrix; nodes are its axes.
	node  *jsontree.Node
	nodes []*jsontree.Node
	axes  []sweep.Axis
	// excludes and includes are the valid entries; matches and rows are their values.
	excludes, includes []*jsontree.Node
	matches            []sweep.Match
	rows               [][]string
}

// matrixCells returns the cells of the matrix of an array; nil if something is wrong.
func matrixCells(p *problems, array *jsontree.Node) *sweep.Sweep {
	m := &matrixReader{node: array.Get("matrix")}
	m.readAxes()
	var s *sweep.Sweep
	if len(m.diags) == 0 { // otherwise the names in the entries are ambiguous
		s = m.cells(array)
	}
	p.diags = append(p.diags, m.diags...)
	if len(m.diags) > 0 {
		return nil
	}
	return s
}

// cells returns the combinations of the axes, without those of exclude and with those of
// include. It reports entries that change nothing.
func (m *matrixReader) cells(array *jsontree.Node) *sweep.Sweep {
	for entry := range array.Get("exclude").Children() {
		m.exclude(entry)
	}
	for entry := range array.Get("include").Children() {
		m.include(entry)
	}
	s, slips := sweep.NewMatrix(m.axes, m.matches, m.rows)
	for _, slip := range slips {
		m.slip(slip, array)
	}
	return s
}

// readAxes reads the axes and their values, which become text: 0.10 stays 0.10.
func (m *matrixReader) readAxes() {
	seen := namesSeen{}
	for n := range m.node.Children() {
		if wrong, hint := seen.add(n.Name, "axis"); wrong != "" {
			m.report(RuleMatrixAxis, n, n.Key, hint, "%s", wrong)
		}
		axis := sweep.Axis{Name: n.Name, Values: make([]string, 0, n.Len())}
		for v := range n.Children() {
			m.checkValue(RuleMatrixAxis, v)
			axis.Values = append(axis.Values, v.Text)
		}
		m.nodes, m.axes = append(m.nodes, n), append(m.axes, axis)
	}
	if len(m.axes) == 0 {
		m.report(RuleMatrixAxis, m.node, brace(m.node), `write axes such as { "lr": [0.1, 0.01], "seed": [1, 2, 3] }`,
			"the matrix has no axes")
	}
}

// checkValue reports a value that no environment variable can have.
func (m *matrixReader) checkValue(rule string, v *jsontree.Node) {
	if wrong, hint := badCell(v.Text); wrong != "" {
		m.report(rule, v, v.Span, hint, "%s", wrong)
	}
}

// exclude reads an entry of exclude.
func (m *matrixReader) exclude(entry *jsontree.Node) {
	match := sweep.Match{}
	for v := range entry.Children() {
		if a := m.axis(RuleMatrixExclude, v); a >= 0 {
			match[a] = v.Text
		}
	}
	switch {
	case entry.Len() == 0:
		m.report(RuleMatrixExclude, entry, brace(entry), "name an axis and the value to leave out, or remove it",
			"an entry without axes would exclude the whole matrix")
	case len(match) == entry.Len():
		m.excludes, m.matches = append(m.excludes, entry), append(m.matches, match)
	}
}

// include reads an entry of include.
func (m *matrixReader) include(entry *jsontree.Node) {
	before := len(m.diags)
	row := make([]string, len(m.axes))
	for v := range entry.Children() {
		if a := m.axis(RuleMatrixInclude, v); a >= 0 {
			m.checkValue(RuleMatrixInclude, v)
			row[a] = v.Text
		}
	}
	for _, axis := range m.axes {
		if len(m.diags) == before && entry.Get(axis.Name) == nil {
			m.report(RuleMatrixInclude, entry, brace(entry), fmt.Sprintf("add %q: ...", axis.Name),
				"this entry has no value for %s", strconv.Quote(clip(axis.Name)))
		}
	}
	if len(m.diags) == before {
		m.includes, m.rows = append(m.includes, entry), append(m.rows, row)
	}
}

// axis returns the index of the axis that a member of an entry names, or -1.
func (m *matrixReader) axis(rule string, member *jsontree.Node) int {
	a := slices.IndexFunc(m.axes, func(axis sweep.Axis) bool { return axis.Name == member.Name })
	if a < 0 {
		m.report(rule, member, member.Key, m.axisHint(member.Name), "the matrix has no axis %s",
			strconv.Quote(clip(member.Name)))
	}
	return a
}

// axisHint suggests a similar axis, or lists all.
func (m *matrixReader) axisHint(name string) string {
	var names []string
	for _, axis := range m.axes {
		names = append(names, axis.Name)
	}
	return namesHint(name, names)
}

// slip reports a mistake that package sweep found.
func (m *matrixReader) slip(s sweep.Slip, array *jsontree.Node) {
	switch s.Kind {
	case sweep.TooMany:
		m.report(RuleArrayCells, m.node, m.node.Key, "split it into several jobs",
			"a matrix has at most %d cells, and this one has more", sweep.MaxCells)
	case sweep.NoCells:
		exclude := array.Get("exclude")
		m.report(RuleArrayCells, exclude, exclude.Key, "exclude fewer cells", "exclude removes all cells of the matrix")
	case sweep.NoValues:
		n := m.nodes[s.Entry]
		m.report(RuleMatrixAxis, n, brace(n), "write its values, or remove it", "the axis %s has no values",
			strconv.Quote(clip(n.Name)))
	case sweep.SameValue:
		n := m.nodes[s.Entry]
		v := n.Index(s.Value)
		m.report(RuleMatrixAxis, v, v.Span, "remove it", "the value %s appears twice on the axis %s", clip(v.Text),
			strconv.Quote(clip(n.Name)))
	case sweep.NoSuchValue:
		axis := m.nodes[s.Value]
		v := m.excludes[s.Entry].Get(axis.Name)
		m.report(RuleMatrixExclude, v, v.Span, valueHint(v, axis), "the axis %s has no value %s",
			strconv.Quote(clip(axis.Name)), clip(v.Text))
	case sweep.SameCell:
		n := m.includes[s.Entry]
		m.report(RuleMatrixInclude, n, brace(n), "remove it", "the matrix has this cell already")
	default:
		panic(fmt.Sprintf("slip %d of a matrix that was read", s.Kind)) // WrongLength: rows are as long as the axes
	}
}

// valueHint suggests a value of an axis: the same number in another spelling, or a similar
// text.
func valueHint(v, axis *jsontree.Node) string {
	near := diag.Near(v.Text, texting(axis))
	f, err := strconv.ParseFloat(v.Text, 64)
	for n := range axis.Children() {
		g, wrong := strconv.ParseFloat(n.Text, 64)
		if n.Text == near || err == nil && wrong == nil && f == g {
			return "write " + clip(string(n.AppendJSON(nil)))
		}
	}
	var values []string
	for n := range axis.Children() {
		if values = append(values, clip(string(n.AppendJSON(nil)))); len(values) == 10 {
			break
		}
	}
	return "its values are " + text.And(values)
}

// texting yields the elements of a list as text.
func texting(list *jsontree.Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := range list.Children() {
			if !yield(n.Text) {
				return
			}
		}
	}
}
