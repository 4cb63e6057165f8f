package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// editor is the client of a language server that runs in this process, `batchctl lsp`.
type editor struct {
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

// newEditor starts a server that counts positions in bytes.
func newEditor(t *testing.T) *editor {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	go func() {
		cli.Main(t.Context(), []string{"batchctl", "lsp"}, term.Streams{In: toServer, Out: fromServer, Err: io.Discard})
		fromServer.Close()
		toServer.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
	})
	e := &editor{in: in, out: bufio.NewReader(out)}
	var ready struct {
		Capabilities struct{ PositionEncoding string }
	}
	if err := e.call("initialize", `{"capabilities": {"general": {"positionEncodings": ["utf-8"]}}}`, &ready); err != nil || ready.Capabilities.PositionEncoding != "utf-8" {
		t.Fatalf("initialize: %+v, %v", ready, err)
	}
	if err := e.send(`{"jsonrpc": "2.0", "method": "initialized", "params": {}}`); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *editor) send(body string) error {
	_, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// call sends a request and waits for its answer.
func (e *editor) call(method, params string, result any) error {
	e.last++
	if err := e.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": %q, "params": %s}`, e.last, method, params)); err != nil {
		return err
	}
	for {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		body, err := e.receive()
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		switch {
		case err != nil:
			return err
		case string(m.ID) != strconv.Itoa(e.last):
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

func (e *editor) receive() ([]byte, error) {
	size := 0
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(n); err != nil {
				return nil, err
			}
		}
	}
	body := make([]byte, size)
	_, err := io.ReadFull(e.out, body)
	return body, err
}

// textEdit is an edit of the protocol, with positions in bytes of a line.
type textEdit struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	NewText string
}

// save opens the text, which is valid UTF-8, and returns it after the server's fix-all and
// after its formatting.
func (e *editor) save(path, text string) (fixed, formatted string, err error) {
	uri, _ := json.Marshal("file://" + path)
	encoded, _ := json.Marshal(text)
	document := fmt.Sprintf(`"textDocument": {"uri": %s}`, uri)
	if err := e.send(fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": %s, "languageId": "json", "version": 1, "text": %s}}}`, uri, encoded)); err != nil {
		return text, text, err
	}
	var actions []struct {
		Edit struct{ Changes map[string][]textEdit }
	}
	err = e.call("textDocument/codeAction", fmt.Sprintf(`{%s, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "context": {"diagnostics": [], "only": ["source.fixAll"]}}`, document), &actions)
	if err != nil {
		return text, text, err
	}
	fixed = text
	for _, a := range actions {
		for _, edits := range a.Edit.Changes {
			fixed = edited(text, edits)
		}
	}
	var edits []textEdit
	err = e.call("textDocument/formatting", fmt.Sprintf(`{%s, "options": {"tabSize": 2, "insertSpaces": true}}`, document), &edits)
	if err != nil {
		return fixed, text, err
	}
	return fixed, edited(text, edits), e.send(fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {%s}}`, document))
}

// edited applies edits, the last one first, so that the positions of the others stay valid.
func edited(text string, edits []textEdit) string {
	offset := func(line, character int) int {
		i := 0
		for ; line > 0 && i < len(text); i++ {
			if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i:], "\r\n") {
				line--
			}
		}
		return min(i+character, len(text))
	}
	for i := len(edits) - 1; i >= 0; i-- {
		r := edits[i].Range
		text = text[:offset(r.Start.Line, r.Start.Character)] + edits[i].NewText + text[offset(r.End.Line, r.End.Character):]
	}
	return text
}
