package lsp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// The kinds of code actions that the server offers.
const (
	kindQuickFix = "quickfix"
	kindFixAll   = "source.fixAll.batchctl"
)

// codeAction offers the fixes of the problems in a range, and all fixes of the text at once.
// The problems are those of the current text, not those that the client remembers.
func (s *server) codeAction(p codeActionParams) (any, error) {
	actions := []codeAction{}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return actions, nil
	}
	s.check()
	problems := s.found[d.uri]
	if asked(p.Context.Only, kindQuickFix) {
		span := d.text.rangeToSpan(p.Range, s.encoding)
		for _, problem := range problems {
			near := problem.Span.Start <= span.End && span.Start <= problem.Span.End
			if near && isFixable(problem) {
				actions = append(actions, s.quickFix(d, problem))
			}
		}
	}
	if edit, ok := fixAll(problems); ok && asked(p.Context.Only, kindFixAll) {
		actions = append(actions, codeAction{
			Title: "fix all problems that batchctl can fix", Kind: kindFixAll,
			Edit: s.workspaceEdit(d, []diag.Edit{edit}),
		})
	}
	return actions, nil
}

// isFixable reports whether the problem has a fix that can be applied.
func isFixable(problem diag.Diagnostic) bool {
	_, n := diag.Apply(problem.Source, diag.List{problem})
	return n > 0
}

// asked reports whether the client wants actions of that kind. A kind includes the kinds
// below it.
func asked(only []string, kind string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
		return o == "" || o == kind || strings.HasPrefix(kind, o+".")
	})
}

// quickFix returns the action for one problem. Credentials in its title are masked; the
// edits are unchanged.
func (s *server) quickFix(d *openDocument, problem diag.Diagnostic) codeAction {
	problem = problem.Masked()
	return codeAction{
		// Editors apply preferred actions without a question.
		Title: diag.Printable(problem.Message + ": " + problem.Fix.Message), Kind: kindQuickFix,
		IsPreferred: problem.Fix.Class == diag.Automatic,
		Diagnostics: []diagnostic{s.encoding.diagnostic(problem, d.text)},
		Edit:        s.workspaceEdit(d, problem.Fix.Edits),
	}
}

// workspaceEdit returns the edits with the version of the document if the client can check
// it, so that it rejects edits of an older text.
func (s *server) workspaceEdit(d *openDocument, edits []diag.Edit) workspaceEdit {
	list := s.encoding.edits(edits, d.text)
	if s.client.Capabilities.Workspace.WorkspaceEdit.DocumentChanges {
		version := d.version
		return workspaceEdit{DocumentChanges: []documentEdit{{documentID{d.uri, &version}, list}}}
	}
	return workspaceEdit{Changes: map[string][]textEdit{d.uri: list}}
}

// fixAll returns the edit that does the same as one round of validate --fix.
func fixAll(problems diag.List) (diag.Edit, bool) {
	if len(problems) == 0 {
		return diag.Edit{}, false
	}
	src := problems[0].Source
	fixed, applied := jsontree.Repair(src, problems)
	if len(applied) == 0 {
		return diag.Edit{}, false
	}
	return smallestEdit(src.Text, fixed), true
}

// smallestEdit returns the edit from one text to another that covers only the difference,
// in whole characters and line ends: the protocol has no position between CR and LF.
func smallestEdit(old, fixed string) diag.Edit {
	start := 0
	for start < min(len(old), len(fixed)) && old[start] == fixed[start] {
		start++
	}
	for !separable(old, start) || !separable(fixed, start) {
		start--
	}
	end := 0
	for end < min(len(old), len(fixed))-start && old[len(old)-1-end] == fixed[len(fixed)-1-end] {
		end++
	}
	for !separable(old, len(old)-end) || !separable(fixed, len(fixed)-end) {
		end--
	}
	return diag.Edit{Span: diag.Span{Start: start, End: len(old) - end}, Text: fixed[start : len(fixed)-end]}
}

// separable reports whether an edit may begin or end at an offset.
func separable(s string, i int) bool {
	switch {
	case i == len(s):
		return true
	case i > 0 && s[i-1] == '\r' && s[i] == '\n':
		return false
	}
	return utf8.RuneStart(s[i])
}
