package lsp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/batchctl/batchctl/pkg/lint"
)

// client is the editor's side of a session over pipes.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	from chan received
	done chan error
	last int
	// seen is every notification and request of the server so far.
	seen []received
	log  *strings.Builder
}

type received struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *rpcError
}

// dial starts a server, and a client that has not sent anything.
func dial(t *testing.T, o Options) *client {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	c := &client{t: t, in: in, from: make(chan received, 4096), done: make(chan error, 1), log: &strings.Builder{}}
	o.Log = c.log
	if o.Rules == nil {
		o.Rules = few
	}
	go func() {
		err := Serve(t.Context(), toServer, fromServer, o)
		fromServer.Close()
		toServer.Close() // what the client still writes must not block it
		c.done <- err
	}()
	go func() {
		defer close(c.from)
		for r := bufio.NewReader(out); ; {
			body, err := readFrame(r)
			if err != nil {
				return
			}
			var m received
			if err := json.Unmarshal(body, &m); err != nil || !strings.HasPrefix(string(body), `{"jsonrpc":"2.0"`) {
				t.Errorf("the server sent %s: %v", body, err)
			}
			c.from <- m
		}
	}()
	t.Cleanup(func() { in.Close() })
	return c
}

// open starts a session with these client capabilities.
func open(t *testing.T, capabilities string, o Options) *client {
	t.Helper()
	c := dial(t, o)
	c.must("initialize", `{"processId":null,"rootUri":null,"capabilities":`+capabilities+`}`)
	c.notify("initialized", `{}`)
	return c
}

func (c *client) raw(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(body string) {
	c.t.Helper()
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (c *client) notify(method, params string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// call sends a request and waits for its answer.
func (c *client) call(method, params string) (json.RawMessage, *rpcError) {
	c.t.Helper()
	c.last++
	id := fmt.Sprint(c.last)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	m := c.wait(func(m received) bool { return string(m.ID) == id && m.Method == "" })
	return m.Result, m.Error
}

func (c *client) must(method, params string) json.RawMessage {
	c.t.Helper()
	result, bad := c.call(method, params)
	if bad != nil {
		c.t.Fatalf("%s: %v", method, bad)
	}
	return result
}

// wait reads messages up to the first one that fits.
func (c *client) wait(fits func(received) bool) received {
	c.t.Helper()
	for m := range c.from {
		if fits(m) {
			return m
		}
		c.seen = append(c.seen, m)
	}
	c.t.Fatalf("the server has gone: %v", <-c.done)
	panic("unreachable")
}

// diagnostics waits for the diagnostics of that version of a text.
func (c *client) diagnostics(uri string, version int) []diagnostic {
	c.t.Helper()
	var p publishParams
	fits := func(m received) bool {
		p = publishParams{}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil {
			return false
		}
		return p.URI == uri && (version < 0 || p.Version != nil && *p.Version == version)
	}
	for i, m := range c.seen {
		if fits(m) {
			c.seen = append(c.seen[:i:i], c.seen[i+1:]...)
			return p.Diagnostics
		}
	}
	c.wait(fits)
	return p.Diagnostics
}

// quit ends the session in order. It returns the result of Serve, and the remaining
// messages of the server.
func (c *client) quit() ([]received, error) {
	c.t.Helper()
	c.must("shutdown", `null`)
	c.notify("exit", `null`)
	for m := range c.from {
		c.seen = append(c.seen, m)
	}
	return c.seen, <-c.done
}

func (c *client) didOpen(uri, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", fmt.Sprintf(
		`{"textDocument":{"uri":%q,"languageId":"json","version":1,"text":%s}}`, uri, jsonOf(text)))
}

// edit replaces the first occurrence of old in text, as an editor reports it, and returns
// the new text.
func (c *client) edit(uri string, version int, text, old, new string) string {
	c.t.Helper()
	at := strings.Index(text, old)
	if at < 0 {
		c.t.Fatalf("%q is not in the text", old)
	}
	change := contentChange{Range: &textRange{utf16Position(text, at), utf16Position(text, at+len(old))}, Text: new}
	c.notify("textDocument/didChange", jsonOf(didChangeParams{
		TextDocument: documentID{uri, &version}, ContentChanges: []contentChange{change},
	}))
	return text[:at] + new + text[at+len(old):]
}

// at sends a request about the position of | in an open text.
func (c *client) at(method, uri, text, marked string) json.RawMessage {
	c.t.Helper()
	before, after, ok := strings.Cut(marked, "|")
	i := strings.Index(text, before+after)
	if !ok || i < 0 {
		c.t.Fatalf("%q is not in %s", marked, text)
	}
	return c.must(method, jsonOf(positionParams{documentID{URI: uri}, utf16Position(text, i+len(before))}))
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func decodeAs[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// utf16Position returns the position of a byte offset in UTF-16, counted from the start.
func utf16Position(text string, offset int) position {
	before := text[:offset]
	line := strings.Count(before, "\n")
	last := before[strings.LastIndex(before, "\n")+1:]
	return position{line, len(utf16.Encode([]rune(last)))}
}

// applied applies edits to a text as an editor does: all of them to the same text.
func applied(t *testing.T, text string, edits []textEdit) string {
	t.Helper()
	for i := len(edits) - 1; i >= 0; i-- { // the server sends them in order
		text = splice(text, edits[i].Range, edits[i].NewText)
	}
	return text
}

// splice replaces a range of a text, counted in UTF-16, the way an editor's own
// model does: as an array of lines of code units.
func splice(text string, r textRange, with string) string {
	units := utf16.Encode([]rune(text))
	index := func(p position) int {
		i := 0
		for line := 0; line < p.Line; line++ {
			for i < len(units) && units[i] != '\n' && units[i] != '\r' {
				i++
			}
			if i == len(units) {
				return i
			}
			if units[i] == '\r' && i+1 < len(units) && units[i+1] == '\n' {
				i++
			}
			i++
		}
		for n := 0; n < p.Character && i < len(units) && units[i] != '\n' && units[i] != '\r'; n++ {
			i++
		}
		if i < len(units) && i > 0 && utf16.IsSurrogate(rune(units[i])) && units[i] >= 0xdc00 {
			i--
		}
		return i
	}
	a, b := index(r.Start), index(r.End)
	a, b = min(a, b), max(a, b)
	return string(utf16.Decode(units[:a])) + with + string(utf16.Decode(units[b:]))
}

// platformText is a platform file with two queues.
const platformText = `{
  "targets": { "prod": { "region": "us-east-1" } },
  "queues": {
    "cpu": { "jobQueue": "cpu-job-queue", "computeEnvironments": [{ "type": "EC2", "instanceTypes": ["c5"], "maxvCpus": 256 }] },
    "gpu": { "jobQueue": "gpu-job-queue", "computeEnvironments": [{ "type": "EC2", "instanceTypes": ["g5"], "maxvCpus": 256 }] }
  }
}
`

// project creates a directory with a platform file and returns its path.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "batchctl.json"), []byte(platformText), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// alone finds no platform file.
func alone(string) (string, bool) { return "", false }

// few are the rules that the tests depend on, so that new rules do not change their
// results.
func few() []lint.Rule {
	return slices.DeleteFunc(slices.Clone(lint.Rules()), func(r lint.Rule) bool {
		return !slices.Contains([]string{"memory-min-4", "submit-queue-exists", "parameter-unused"}, r.Name)
	})
}
