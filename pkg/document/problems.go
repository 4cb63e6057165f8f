package document

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// problems collects the problems of one part of the lowering.
type problems struct{ diags diag.List }

func (p *problems) report(rule string, n *jsontree.Node, span diag.Span, hint, format string, args ...any) {
	p.diags = append(p.diags, problem(rule, n.Source, span, hint, format, args...))
}

func problem(rule string, src *diag.Source, span diag.Span, hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Rule: rule, Source: src, Span: span, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// unitError is the error for an unreadable value, with a hint.
type unitError struct{ message, hint string }

func (e unitError) Error() string { return e.message }

// hintOf returns the hint of an error about a value.
func hintOf(err error) string {
	e, _ := errors.AsType[unitError](err)
	return e.hint
}
