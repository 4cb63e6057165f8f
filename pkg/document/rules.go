package document

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RuleArrayCells holds the number of children that a matrix or a table makes.
const RuleArrayCells = "array-cells"

// Names of the rules that hold the shape of a document.
const (
	RuleDocumentKind  = "document-kind"
	RuleUnknownMember = "unknown-member"
	RuleMissingMember = "missing-member"
	RuleWrongType     = "wrong-type"
	RuleBadValue      = "bad-value"
)

// clip keeps a name from the file short enough for a message.
func clip(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

// RuleCommandList holds the list of commands that an array shares.
const RuleCommandList = "command-list"

// RuleJobReference holds the form of ${name}, by which a job of a list names
// another one.
const RuleJobReference = "job-reference"

// RuleMemberConflict holds members that exclude each other.
const RuleMemberConflict = "member-conflict"

// problems is what a part of the lowering finds.
type problems struct{ diags diag.List }

func (p *problems) report(rule string, n *jsontree.Node, span diag.Span, hint, format string, args ...any) {
	p.diags = append(p.diags, problem(rule, n.Source, span, hint, format, args...))
}

func problem(rule string, src *diag.Source, span diag.Span, hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Rule: rule, Source: src, Span: span, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// RuleMatrixReference holds the texts ${{ matrix.name }}, which stand for the values
// of a child.
const RuleMatrixReference = "matrix-reference"

// RuleInputFile checks the local files and directories that inputs name.
const RuleInputFile = "input-file"

// Names of the rules that hold the table of an array.
const (
	RuleTableFile   = "table-file"
	RuleTableHeader = "table-header"
	RuleTableRow    = "table-row"
)

// Names of the rules that hold the short forms of units.
const (
	RuleResourceUnit = "resource-unit"
	RuleDuration     = "duration"
)
