package lsp

import (
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// openDocument is a text that is open in the editor.
type openDocument struct {
	uri     string
	path    string
	saved   bool // path names a file
	version int
	text    text
	src     *diag.Source

	// ours reports whether the text is a document of batchctl. known reports whether it is
	// one, or was one since it was opened: an incomplete text is not always recognized.
	ours, known bool

	// file is the file that the last check loaded; nil before the first check and for
	// documents of other tools.
	file *document.File
}

// set gives the document a new text.
func (d *openDocument) set(t text) {
	d.text, d.src = t, diag.NewSource(d.name(), t.s)
	d.ours = document.Recognize(d.src) == document.Ours
	d.known = d.known || d.ours
	d.file = nil
}

// name is the path of a file, and the URI of a text that was never saved.
func (d *openDocument) name() string {
	if d.saved {
		return d.path
	}
	return d.uri
}

// document describes the text for the check.
func (d *openDocument) document() check.Document {
	return check.Document{Path: d.name(), Named: d.ours, Source: d.src, Alone: !d.saved}
}

// openSource returns the text of an open document by its path, or nil.
func (s *server) openSource(path string) *diag.Source {
	for _, d := range s.docs {
		if d.saved && d.path == path {
			return d.src
		}
	}
	return nil
}
