package lsp

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// formatting formats a document as `batchctl fmt` does, whatever the client's options: a
// repository that checks its format has only one. A text that fmt rejects, and one that is not
// a batchctl document, stays unchanged.
func (s *server) formatting(p documentParams) (any, error) {
	edits := []textEdit{}
	d := s.docs[p.TextDocument.URI]
	if d == nil || !d.ours || document.IsYAML(d.src) {
		return edits, nil
	}
	root, problems := jsontree.Parse(d.src)
	if problems.HasErrors() {
		return edits, nil
	}
	if text := jsontree.Format(root, jsontree.Width); text != d.src.Text {
		edits = s.encoding.edits([]diag.Edit{smallestEdit(d.src.Text, text)}, d.text)
	}
	return edits, nil
}
