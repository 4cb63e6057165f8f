package lsp

import (
	"encoding/json"
	"slices"

	"github.com/batchctl/batchctl/pkg/document"
)

// initialize chooses the encoding of positions: UTF-8 if the client supports it, since
// Go's texts have it, or else UTF-16.
func (s *server) initialize(p initializeParams) (any, error) {
	s.client = p
	if slices.Contains(p.Capabilities.General.PositionEncodings, utf8Encoding) {
		s.encoding = utf8Encoding
	}
	s.phase = running
	return initializeResult{
		Capabilities: serverCapabilities{
			PositionEncoding:   s.encoding,
			TextDocumentSync:   syncOptions{OpenClose: true, Change: incrementalSync, Save: true},
			HoverProvider:      true,
			CompletionProvider: completionOptions{TriggerCharacters: []string{`"`}},
			CodeActionProvider: codeActionOptions{CodeActionKinds: []string{kindQuickFix, kindFixAll}},
			FormattingProvider: true,
		},
		ServerInfo: serverInfo{Name: "batchctl", Version: s.options.Version},
	}, nil
}

// initialized asks the client to report changes of platform files and tables on disk.
func (s *server) initialized() (any, error) {
	if !s.client.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return nil, nil
	}
	return nil, s.send(outgoing{
		ID: json.RawMessage(`"watch"`), Method: "client/registerCapability",
		Params: registrationParams{[]registration{{
			ID: "platform", Method: "workspace/didChangeWatchedFiles",
			Options: watchOptions{[]watcher{{"**/" + document.PlatformFile}, {"**/*.csv"}, {"**/*.tsv"}}},
		}}},
	})
}

// shutdown ends the work; the client then sends exit.
func (s *server) shutdown() (any, error) {
	s.phase = ending
	return nil, nil
}

// didOpen, didChange and didClose keep the texts of the documents. The check follows once
// no more messages wait.
func (s *server) didOpen(p didOpenParams) (any, error) {
	d := &openDocument{uri: p.TextDocument.URI, version: p.TextDocument.Version}
	d.path, d.saved = pathOf(d.uri)
	d.set(newText(p.TextDocument.Text))
	s.docs[d.uri] = d
	return s.filesChanged()
}

func (s *server) didChange(p didChangeParams) (any, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil, fault(codeInvalidParams, "%s is not open", p.TextDocument.URI)
	}
	if p.TextDocument.Version != nil {
		d.version = *p.TextDocument.Version
	}
	d.set(d.text.apply(p.ContentChanges, s.encoding))
	return s.filesChanged()
}

func (s *server) didClose(p documentParams) (any, error) {
	delete(s.docs, p.TextDocument.URI)
	return s.filesChanged()
}

// filesChanged marks the results as outdated, after a change in the editor or on disk.
func (s *server) filesChanged() (any, error) {
	s.dirty = true
	return nil, nil
}
