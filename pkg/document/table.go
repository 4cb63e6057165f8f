package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// maxTableProblems bounds the problems that are reported for one table: a mistake of the
// program that wrote it can be in each of a million rows.
const maxTableProblems = 20

// table reads the cells of an array from a file.
type table struct {
	src   *diag.Source
	names []string
	// cells holds the values row by row, in one slice, because a slice for each of a
	// million rows would take more memory.
	cells []string
	diags diag.List
	// full is true once maxTableProblems have been reported.
	full bool
}

// report adds a problem, up to a limit: a table may have a million rows.
func (t *table) report(rule string, span diag.Span, hint, format string, args ...any) {
	if t.full {
		return
	}
	if len(t.diags) == maxTableProblems {
		hint, format, args, t.full = "fix the others first",
			"more than %d problems in this table; the rest are not shown", []any{maxTableProblems}, true
	}
	t.diags = append(t.diags, problem(rule, t.src, span, hint, format, args...))
}

// header sets the names of the columns; spans are their locations.
func (t *table) header(names []string, spans []diag.Span) {
	t.names = names
	seen := namesSeen{}
	for i, name := range names {
		if name == "" {
			t.report(RuleTableHeader, spans[i], "give it a name: "+nameAdvice, "column %d has no name", i+1)
		} else if wrong, hint := seen.add(name, "column"); wrong != "" {
			t.report(RuleTableHeader, spans[i], hint, "%s", wrong)
		}
	}
}

// value adds the next value of the row, and reports one that no variable can have.
func (t *table) value(text string, span diag.Span) {
	if wrong, hint := badCell(text); wrong != "" {
		t.report(RuleTableRow, span, hint, "%s", wrong)
	}
	t.cells = append(t.cells, text)
}

// more reports whether another row may come.
func (t *table) more(span diag.Span) bool {
	if len(t.names) > 0 && len(t.cells)/len(t.names) == sweep.MaxCells {
		t.report(RuleArrayCells, span, "split it into several tables", "a table has at most %d rows", sweep.MaxCells)
		return false
	}
	return !t.full
}
