package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
)

// publish sends the client the problems that changed.
func (s *server) publish() (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.logf("check: panic: %v", r)
			s.logf("%s", debug.Stack())
		}
	}()
	s.check()
	if !s.unreported {
		return nil
	}
	s.unreported = false
	now := map[string]publishParams{}
	for uri := range s.published {
		now[uri] = publishParams{URI: uri}
	}
	for uri := range s.found {
		now[uri] = publishParams{URI: uri}
	}
	for uri, d := range s.docs {
		if d.ours || s.published[uri] != "" {
			now[uri] = publishParams{URI: uri, Version: &d.version}
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(now)) {
		p := now[uri]
		p.Diagnostics = s.encoding.diagnostics(s.found[uri])
		if err := s.publishProblems(p); err != nil {
			return err
		}
	}
	return nil
}

// publishProblems publishes the problems of one text, unless they are the same as before.
func (s *server) publishProblems(p publishParams) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode diagnostics: %w", err)
	}
	if s.published[p.URI] == string(encoded) {
		return nil
	}
	s.published[p.URI] = string(encoded)
	if len(p.Diagnostics) == 0 && s.docs[p.URI] == nil {
		delete(s.published, p.URI)
	}
	return s.send(outgoing{Method: "textDocument/publishDiagnostics", Params: json.RawMessage(encoded)})
}

// The protocol's numbers for severities.
var severities = map[diag.Severity]int{diag.Error: 1, diag.Warning: 2}

// information is the protocol's number for a waived problem.
const information = 3

// diagnostics converts problems of one text. Positions need its lines, which are found
// once.
func (e encoding) diagnostics(list diag.List) []diagnostic {
	out := make([]diagnostic, 0, len(list))
	var t text
	for i, d := range list {
		if i == 0 {
			t = newText(d.Source.Text)
		}
		out = append(out, e.diagnostic(d, t))
	}
	return out
}

// diagnostic converts a problem to the protocol; t is its text. The message is masked,
// because an editor may log it. The edits are not, since masked edits would destroy the
// credential.
func (e encoding) diagnostic(d diag.Diagnostic, t text) diagnostic {
	d = d.Masked()
	out := diagnostic{
		Range: t.spanToRange(d.Span, e), Severity: severities[d.Severity],
		Code: d.Rule, Source: "batchctl", Message: diag.Printable(d.Message),
	}
	if r, ok := lint.Lookup(d.Rule); ok {
		out.CodeDescription = &codeDescription{r.URL()}
	}
	if d.Waived != nil {
		out.Severity, out.Message = information, "waived: "+out.Message+"\nreason: "+diag.Printable(d.Waived.String())
		return out
	}
	if d.Hint != "" {
		out.Message += "\n" + d.Label() + ": " + diag.Printable(d.Hint)
	}
	if d.Fix != nil && len(d.Fix.Edits) > 0 {
		out.Data = &fixData{Title: diag.Printable(d.Fix.Message), Edits: e.edits(d.Fix.Edits, t)}
	}
	return out
}

// edits converts edits of one text.
func (e encoding) edits(edits []diag.Edit, t text) []textEdit {
	out := make([]textEdit, len(edits))
	for i, edit := range edits {
		out[i] = textEdit{t.spanToRange(edit.Span, e), edit.Text}
	}
	return out
}
