// Package lsp is the language server: diagnostics, hover, completion, quick fixes and
// formatting over the Language Server Protocol.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// Options are the options of Serve. The zero value is right for `batchctl lsp`, except for
// the version.
type Options struct {
	// Version is the version that editors show with the server's name.
	Version string
	// Log receives messages that the protocol cannot transport, one a line; nil drops
	// them.
	Log io.Writer
	// Rules returns the rules to check; nil means lint.Rules.
	Rules func() []lint.Rule
	// FindPlatform finds the platform file for the documents of a directory; nil means
	// document.FindPlatform, which also searches the parents.
	FindPlatform func(dir string) (path string, ok bool)
}

// ErrNoShutdown is the error of Serve if the client sends exit without shutdown, or closes
// the stream.
var ErrNoShutdown = errors.New("the client left without shutdown")

// Serve is a language server for job, workflow, platform and AWS request files. It reads
// the client's messages from in and writes its own to out, both in the frames of LSP 3.17,
// until the client sends exit, in ends or ctx is done. The error is nil for a client that
// follows the protocol; otherwise it is ErrNoShutdown, that of a stream, or that of ctx.
// After the end of ctx, a pending read of in continues until in is closed.
//
// Texts that batchctl does not read (see document.Recognize) get no diagnostics, so you
// can attach the server to every JSON file.
//
// Neovim (0.11 or newer), in init.lua:
//
//	vim.lsp.config("batchctl", {
//	  cmd = { "batchctl", "lsp" },
//	  filetypes = { "json" },
//	  root_markers = { "batchctl.json", ".git" },
//	})
//	vim.lsp.enable("batchctl")
//
// VS Code, with an extension that starts any language server (here
// zsol.vscode-glspc, the Generic LSP Client), in settings.json:
//
//	"glspc.server.command": "batchctl",
//	"glspc.server.commandArguments": ["lsp"],
//	"glspc.server.languageId": ["json"],
//	"editor.codeActionsOnSave": { "source.fixAll.batchctl": "explicit" }
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s := newServer(out, o)
	frames, done := make(chan frame, 64), make(chan struct{})
	defer close(done)
	go read(in, frames, done)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-frames:
			if end, err := s.take(f); end || err != nil {
				return err
			}
		}
		// While messages wait, one of them may change the text again.
		if len(frames) == 0 {
			if err := s.publish(); err != nil {
				return err
			}
		}
	}
}

// frame is one message, or the error of reading it.
type frame struct {
	body []byte
	err  error
}

// read sends frames until in ends or the receiver stops.
func read(in io.Reader, frames chan<- frame, done <-chan struct{}) {
	r := bufio.NewReader(in)
	for {
		body, err := readFrame(r)
		select {
		case frames <- frame{body, err}:
		case <-done:
			return
		}
		if _, again := errors.AsType[*frameError](err); err != nil && !again {
			return
		}
	}
}

// phase is the state of a session.
type phase uint8

const (
	starting phase = iota // before initialize
	running
	ending // after shutdown
)

// server is one session. It is for the goroutine of Serve only.
type server struct {
	out     io.Writer
	options Options
	rules   []lint.Rule

	requests, notifications map[string]handler

	phase      phase
	encoding   encoding
	client     initializeParams
	docs       map[string]*openDocument // by URI
	checker    *check.Checker           // of the last check
	platforms  []*check.Platform        // of the last check
	found      map[string]diag.List     // by URI, of the last check
	dirty      bool                     // found is of older texts
	unreported bool                     // found is not published
	published  map[string]string        // by URI, the last diagnostics sent to the client
}

// newServer returns a session before initialize. Unknown methods have no handler.
func newServer(out io.Writer, o Options) *server {
	s := &server{
		out: out, options: o, encoding: utf16Encoding,
		docs: map[string]*openDocument{}, published: map[string]string{},
	}
	if s.options.FindPlatform == nil {
		s.options.FindPlatform = document.FindPlatform // absolute paths, as those of the documents
	}
	rules := o.Rules
	if rules == nil {
		rules = lint.Rules
	}
	s.rules = rules()
	s.requests = map[string]handler{
		"initialize":              with(s.initialize),
		"shutdown":                bare(s.shutdown),
		"textDocument/hover":      with(s.hover),
		"textDocument/completion": with(s.completion),
		"textDocument/codeAction": with(s.codeAction),
		"textDocument/formatting": with(s.formatting),
	}
	s.notifications = map[string]handler{
		"initialized":                     bare(s.initialized),
		"textDocument/didOpen":            with(s.didOpen),
		"textDocument/didChange":          with(s.didChange),
		"textDocument/didSave":            bare(s.filesChanged),
		"textDocument/didClose":           with(s.didClose),
		"workspace/didChangeWatchedFiles": bare(s.filesChanged),
	}
	return s
}

// logf writes a line to the log, with control characters escaped.
func (s *server) logf(format string, args ...any) {
	if s.options.Log != nil {
		fmt.Fprintln(s.options.Log, diag.Printable(fmt.Sprintf(format, args...)))
	}
}

// take handles one message; end is true for the last one.
func (s *server) take(f frame) (end bool, err error) {
	if f.err != nil {
		if bad, ok := errors.AsType[*frameError](f.err); ok {
			return false, s.respond(nullID, nil, fault(codeParseError, "%s", bad.message))
		}
		if f.err == io.EOF {
			return true, s.leave()
		}
		return true, fmt.Errorf("read message: %w", f.err)
	}
	m, bad := decode(f.body)
	switch {
	case bad != nil:
		s.logf("bad message: %v", bad)
		return false, s.respond(m.ID, nil, bad)
	case m.isResponse():
		if m.Error != nil {
			s.logf("the client rejected request %s: %s", m.ID, m.Error)
		}
		return false, nil
	case m.isRequest():
		result, err := s.request(m)
		return false, s.respond(m.ID, result, err)
	case *m.Method == "exit":
		return true, s.leave()
	}
	s.notify(m)
	return false, nil
}

// leave returns the error for the end of the session.
func (s *server) leave() error {
	if s.phase != ending {
		return ErrNoShutdown
	}
	return nil
}

// request answers a request, if the phase of the session allows it.
func (s *server) request(m *message) (any, error) {
	handle := s.requests[*m.Method]
	switch first := *m.Method == "initialize"; {
	case s.phase == starting && !first:
		return nil, fault(codeNotInitialized, "the first request must be initialize")
	case s.phase != starting && first:
		return nil, fault(codeInvalidRequest, "initialize was already sent")
	case s.phase == ending:
		return nil, fault(codeInvalidRequest, "no request is allowed after shutdown")
	case handle == nil:
		return nil, fault(codeMethodNotFound, "no method %s", *m.Method)
	}
	return s.guard(m, handle)
}

// notify handles a notification. The protocol allows no answer to an invalid one, and
// requires that unknown ones are ignored.
func (s *server) notify(m *message) {
	handle := s.notifications[*m.Method]
	if handle == nil || s.phase != running {
		return
	}
	if _, err := s.guard(m, handle); err != nil {
		s.logf("%s: %v", *m.Method, err)
	}
}

// guard turns a panic of a handler into an error. Otherwise one text would end the session
// for all files.
func (s *server) guard(m *message, handle handler) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.logf("%s: panic: %v", *m.Method, r)
			s.logf("%s", debug.Stack())
			result, err = nil, fault(codeInternalError, "internal error: %v", r)
		}
	}()
	return handle(m.Params)
}

// respond sends the answer to a request. An error without a code is an internal one.
func (s *server) respond(id json.RawMessage, result any, err error) error {
	answer := outgoing{ID: id}
	if err != nil {
		bad, ok := errors.AsType[*rpcError](err)
		if !ok {
			bad = fault(codeInternalError, "%v", err)
		}
		answer.Error = bad
		return s.send(answer)
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	answer.Result = encoded
	return s.send(answer)
}

// send writes one message to the client.
func (s *server) send(m outgoing) error {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if err := writeFrame(s.out, body); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}
