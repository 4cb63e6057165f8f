package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
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

func (t *table) report(rule string, span diag.Span, hint, format string, args ...any) {
	if t.full {
		return
	}
	if len(t.diags) == maxTableProblems {
		hint, format, args, t.full = "fix the others first", "more than %d problems in this table; the rest are not shown", []any{maxTableProblems}, true
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
		t.report(RuleArrayCells, place, "split it into several tables", "a table has at most %d rows", sweep.MaxCells)
		return false
	}
	return !t.full
}
