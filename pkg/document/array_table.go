package document

import (
	"path"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// tableCells reads the table that an array names.
func tableCells(p *problems, n *jsontree.Node, o Options) *sweep.Sweep {
	if n.Str() != "" && !isTable(n.Str()) {
		p.report(RuleTableFile, n, n.Span, "name it .csv, .tsv or .json",
			"cannot tell the format of the table from the extension of %s", strconv.Quote(clip(n.Str())))
		return nil
	}
	src := readSibling(p, RuleTableFile, n, o)
	if src == nil {
		return nil
	}
	names, rows, diags := readTable(src)
	p.diags = append(p.diags, diags...)
	if len(diags) > 0 {
		return nil
	}
	return &sweep.Sweep{Kind: sweep.Table, Names: names, Rows: rows}
}

// readTable reads a table in the format of its extension. It returns problems, or names
// and at least one row.
func readTable(src *diag.Source) (names []string, rows [][]string, diags diag.List) {
	t := &table{src: src}
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".csv":
		t.separated(',')
	case ".tsv":
		t.separated('\t')
	case ".json":
		t.json()
	}
	n := len(t.names)
	if len(t.diags) > 0 || n == 0 {
		return nil, nil, t.diags
	}
	for i := 0; i < len(t.cells); i += n {
		rows = append(rows, t.cells[i:i+n:i+n])
	}
	if rows == nil {
		t.report(RuleTableRow, diag.Span{End: 0}, "add a row below the header", "the table has no rows")
	}
	return t.names, rows, t.diags
}

// isTable reports whether a table can be read from a file of that name.
func isTable(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv", ".json":
		return true
	}
	return false
}
