package document

import (
	"path"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Names of the rules that hold the table of an array.
const (
	RuleTableFile   = "table-file"
	RuleTableHeader = "table-header"
	RuleTableRow    = "table-row"
)

// maxTableProblems bounds what is reported of one table: of a million rows a slip
// of the program that wrote them would be in each.
const maxTableProblems = 20

// table reads the cells of an array from a file.
type table struct {
	src   *diag.Source
	names []string
	// cells are the values row by row, so that a million rows are not as many
	// pieces of memory.
	cells []string
	diags diag.List
	// full says that there are as many problems as are reported.
	full bool
}

// readTable reads a table in the form that its ending says. There are problems, or
// names and at least one row.
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

func (t *table) report(rule string, span diag.Span, hint, format string, args ...any) {
	if t.full {
		return
	}
	if len(t.diags) == maxTableProblems {
		hint, format, args, t.full = "mend the others first", "more than %d problems in this table, the rest is not shown", []any{maxTableProblems}, true
	}
	t.diags = append(t.diags, problem(rule, t.src, span, hint, format, args...))
}

// header takes the names of the columns, each with its place.
func (t *table) header(names []string, places []diag.Span) {
	t.names = names
	seen := namesSeen{}
	for i, name := range names {
		if name == "" {
			t.report(RuleTableHeader, places[i], "give it a name: "+nameAdvice, "column %d has no name", i+1)
		} else if wrong, hint := seen.add(name, "column"); wrong != "" {
			t.report(RuleTableHeader, places[i], hint, "%s", wrong)
		}
	}
}

// value takes the next value of the row, and reports one that no variable can hold.
func (t *table) value(text string, place diag.Span) {
	if wrong, hint := badCell(text); wrong != "" {
		t.report(RuleTableRow, place, hint, "%s", wrong)
	}
	t.cells = append(t.cells, text)
}

// more reports whether another row may come.
func (t *table) more(place diag.Span) bool {
	if len(t.names) > 0 && len(t.cells)/len(t.names) == sweep.MaxCells {
		t.report(RuleArrayCells, place, "make it several tables", "a table has at most %d rows", sweep.MaxCells)
		return false
	}
	return !t.full
}

// badCell says what is wrong with a value, which a child finds in a variable and on
// a line of a text; "" if nothing is.
func badCell(text string) (wrong, hint string) {
	switch {
	case sweep.ValidValue(text):
		return "", ""
	case strings.ContainsAny(text, "\n\r"):
		return "a value holds no line break", "write it on one line, or put it into a file and name that"
	case strings.ContainsRune(text, 0):
		return "a value holds no NUL", "no environment variable can hold one"
	}
	return "a value is text in UTF-8, and this is none", "save the file as UTF-8"
}
