package document

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RuleArrayCells checks the number of children that a matrix or a table defines.
const RuleArrayCells = "array-cells"

// The names of the rules about the schema of a document.
const (
	RuleDocumentKind  = "document-kind"
	RuleUnknownMember = "unknown-member"
	RuleMissingMember = "missing-member"
	RuleWrongType     = "wrong-type"
	RuleBadValue      = "bad-value"
)

// clip shortens a name from the file for a message.
//
//go:noinline
func clip(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

// RuleCommandList checks the list of commands that an array shares.
const RuleCommandList = "command-list"

// RuleJobReference checks ${name}, by which a job of a job list names another one.
const RuleJobReference = "job-reference"

// RuleMemberConflict reports members that exclude each other.
const RuleMemberConflict = "member-conflict"

// problems collects the problems of one part of the lowering.
type problems struct{ diags diag.List }

func (p *problems) report(rule string, n *jsontree.Node, span diag.Span, hint, format string, args ...any) {
	p.diags = append(p.diags, problem(rule, n.Source, span, hint, format, args...))
}

func problem(rule string, src *diag.Source, span diag.Span, hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Rule: rule, Source: src, Span: span, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// RuleMatrixReference checks the texts ${{ matrix.name }}, which are replaced by the
// values of a child.
const RuleMatrixReference = "matrix-reference"

// RuleInputFile checks the local files and directories that inputs name.
const RuleInputFile = "input-file"

// The names of the rules about the table of an array.
const (
	RuleTableFile   = "table-file"
	RuleTableHeader = "table-header"
	RuleTableRow    = "table-row"
)

// The names of the rules about units in short forms.
const (
	RuleResourceUnit = "resource-unit"
	RuleDuration     = "duration"
)
