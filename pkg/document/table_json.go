package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// json reads an array of objects with the same members. Values are strings, booleans, or
// numbers, which keep their spelling. The first object sets the order.
func (t *table) json() {
	root, diags := jsontree.Parse(t.src)
	if t.diags = diags; len(diags) > 0 {
		return
	}
	if !root.Is(jsontree.Array) {
		t.report(RuleTableRow, brace(root), `write rows such as [{"lr": 0.1, "seed": 1}, {"lr": 0.2, "seed": 1}]`,
			"a JSON table is an array of objects, not %s", root.Kind)
		return
	}
	for row := range root.Children() {
		if !t.more(brace(row)) {
			return
		}
		t.object(row)
	}
	if root.Len() == 0 {
		t.report(RuleTableRow, brace(root), "add an object for each child", "the table has no rows")
	}
}

// object reads one row.
func (t *table) object(row *jsontree.Node) {
	if !row.Is(jsontree.Object) {
		t.report(RuleTableRow, brace(row), "", "a row is an object, not %s", row.Kind)
		return
	}
	if t.names == nil {
		t.firstObject(row)
	}
	for m := range row.Children() {
		if !slices.Contains(t.names, m.Name) {
			t.unknown(m)
			return
		}
	}
	for _, name := range t.names {
		m := row.Get(name)
		switch {
		case m == nil:
			t.report(RuleTableRow, brace(row), "give all rows the members of the first", "this row has no %s",
				strconv.Quote(clip(name)))
			return
		case !isScalar(m):
			t.report(RuleTableRow, m.Span, "use a string, a number, true or false", "%s is %s",
				strconv.Quote(clip(name)), m.Kind)
			return
		}
		t.value(m.Text, m.Span)
	}
}

// firstObject reads the columns from the members of the first row.
func (t *table) firstObject(row *jsontree.Node) {
	names, spans := []string{}, []diag.Span{}
	for m := range row.Children() {
		names, spans = append(names, m.Name), append(spans, m.Key)
	}
	if len(names) == 0 {
		t.report(RuleTableHeader, brace(row), "", "the first row has no members, so the columns have no names")
	}
	t.header(names, spans)
}

// unknown reports a member that the first row does not have.
func (t *table) unknown(m *jsontree.Node) {
	hint := "give all rows the members of the first"
	if near := diag.Near(m.Name, slices.Values(t.names)); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "?"
	}
	t.report(RuleTableRow, m.Key, hint, "the first row has no %s", strconv.Quote(clip(m.Name)))
}

// isScalar reports whether a value can be that of a cell.
func isScalar(n *jsontree.Node) bool {
	return n.Is(jsontree.String) || n.Is(jsontree.Number) || n.Is(jsontree.Bool)
}
