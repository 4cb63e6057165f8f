package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMalformed sends invalid messages, and checks that each gets its error and that the
// server continues.
func TestMalformed(t *testing.T) {
	tests := map[string]struct {
		send, id string
		code     int
	}{
		"not JSON":             {`{"jsonrpc":"2.0","id":1,`, "null", codeParseError},
		"nothing":              {``, "null", codeParseError},
		"two values":           {`{} {}`, "null", codeParseError},
		"a batch":              {`[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]`, "null", codeInvalidRequest},
		"a number":             {`7`, "null", codeInvalidRequest},
		"an empty object":      {`{}`, "null", codeInvalidRequest},
		"old version":          {`{"jsonrpc":"1.0","id":1,"method":"shutdown"}`, "1", codeInvalidRequest},
		"no method":            {`{"jsonrpc":"2.0","id":1}`, "1", codeInvalidRequest},
		"method is a number":   {`{"jsonrpc":"2.0","id":"a","method":5}`, `"a"`, codeInvalidRequest},
		"id is an object":      {`{"jsonrpc":"2.0","id":{},"method":"shutdown"}`, "null", codeInvalidRequest},
		"unknown method":       {`{"jsonrpc":"2.0","id":1,"method":"textDocument/rename","params":{}}`, "1", codeMethodNotFound},
		"unknown $ method":     {`{"jsonrpc":"2.0","id":1,"method":"$/what"}`, "1", codeMethodNotFound},
		"notification with id": {`{"jsonrpc":"2.0","id":1,"method":"textDocument/didOpen","params":{}}`, "1", codeMethodNotFound},
		"no params":            {`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}`, "1", codeInvalidParams},
		"params are null":      {`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":null}`, "1", codeInvalidParams},
		"wrong params":         {`{"jsonrpc":"2.0","id":-1,"method":"textDocument/hover","params":{"position":{"line":"x"}}}`, "-1", codeInvalidParams},
		"params are a list":    {`{"jsonrpc":"2.0","id":1,"method":"textDocument/completion","params":[]}`, "1", codeInvalidParams},
		"initialize again":     {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "1", codeInvalidRequest},
	}
	c := open(t, `{}`, Options{FindPlatform: alone})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.send(test.send)
			m := c.wait(func(received) bool { return true })
			if id := string(m.ID); id != test.id || m.Error == nil || m.Error.Code != test.code || m.Error.Message == "" {
				t.Errorf("answer under %s: %+v, want %d under %s", id, m.Error, test.code, test.id)
			}
		})
	}
	if _, err := c.quit(); err != nil {
		t.Error(err)
	}
}

// TestIgnored sends messages without an answer.
func TestIgnored(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`,
		`{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///no","version":1},"contentChanges":[]}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":7}`,
		`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///no"}}}`,
		`{"jsonrpc":"2.0","id":"watch","error":{"code":-32601,"message":"no\u001b[31m"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`,
	} {
		c.send(body)
	}
	if rest, err := c.quit(); err != nil || len(rest) != 0 {
		t.Errorf("quit: %v, answers %s", err, jsonOf(rest))
	}
	if log := c.log.String(); strings.Contains(log, "\x1b") || strings.Count(log, "\n") != 4 {
		t.Errorf("log: %q", log)
	}
}

func TestBeforeInitialize(t *testing.T) {
	c := dial(t, Options{FindPlatform: alone})
	c.didOpen(jobURI, brokenJob)
	if _, bad := c.call("textDocument/hover", `{}`); bad == nil || bad.Code != codeNotInitialized {
		t.Errorf("got %v", bad)
	}
	c.must("initialize", `{}`)
	if rest, err := c.quit(); err != nil || len(rest) != 0 {
		t.Errorf("quit: %v, sent %s", err, jsonOf(rest))
	}
}

// TestPanic checks that a panic of a handler affects one answer, and not the session.
func TestPanic(t *testing.T) {
	var out, log bytes.Buffer
	s := newServer(&out, Options{Log: &log})
	s.phase = running
	s.requests["boom"] = bare(func() (any, error) { panic("boom") })
	end, err := s.take(frame{body: []byte(`{"jsonrpc":"2.0","id":1,"method":"boom"}`)})
	if end || err != nil || !strings.Contains(out.String(), `"code":-32603`) || !strings.Contains(log.String(), "rpc_test.go") {
		t.Errorf("end %v, error %v, sent %s, logged %s", end, err, &out, &log)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDeafClient(t *testing.T) {
	in := strings.NewReader("Content-Length: 2\r\n\r\n{}")
	if err := Serve(t.Context(), in, brokenPipe{}, Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Serve: %v", err)
	}
}

func TestReadFrame(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string // "" stands for a frame error
		end  error
	}{
		"one":                {"Content-Length: 2\r\n\r\n{}", []string{"{}"}, io.EOF},
		"two":                {"Content-Length: 2\r\n\r\n{}Content-Length: 1\r\n\r\n7", []string{"{}", "7"}, io.EOF},
		"other headers":      {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n{}", []string{"{}"}, io.EOF},
		"bare line feeds":    {"Content-Length: 2\n\n{}", []string{"{}"}, io.EOF},
		"blank lines before": {"\r\n\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}, io.EOF},
		"no length":          {"Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}", []string{"", "{}"}, io.EOF},
		"no number":          {"Content-Length: x\r\n\r\n{}Content-Length: 2\r\n\r\n{}", []string{"", "{}"}, io.EOF},
		"negative":           {"Content-Length: -1\r\n\r\nContent-Length: 2\r\n\r\n{}", []string{"", "{}"}, io.EOF},
		"far too long line":  {strings.Repeat("x", 1<<17) + "\r\n\r\nContent-Length: 2\r\n\r\n{}", []string{"", "{}"}, io.EOF},
		"end in header":      {"Content-Length: 2\r\n", nil, io.ErrUnexpectedEOF},
		"end in line":        {"Content-Le", nil, io.ErrUnexpectedEOF},
		"end in body":        {"Content-Length: 2\r\n\r\n{", nil, io.ErrUnexpectedEOF},
		"end in huge body":   {"Content-Length: 999999999999\r\n\r\n{", nil, io.ErrUnexpectedEOF},
		"nothing":            {"", nil, io.EOF},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, end := frames(test.in)
			if d := cmp.Diff(test.want, got); d != "" || !errors.Is(end, test.end) {
				t.Errorf("ended with %v, want %v (-want +got):\n%s", end, test.end, d)
			}
		})
	}
}

// frames reads all messages; "" stands for a frame error.
func frames(in string) (list []string, end error) {
	for r := bufio.NewReader(strings.NewReader(in)); ; {
		body, err := readFrame(r)
		if _, again := errors.AsType[*frameError](err); err != nil && !again {
			return list, err
		}
		list = append(list, string(body))
	}
}

// FuzzServe checks that the server survives any bytes, and writes only whole messages.
func FuzzServe(f *testing.F) {
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	f.Add("Content-Length: 2\r\n\r\n{}")
	f.Add("Content-Length: x\r\n\r\n{}garbage\n\n")
	for _, body := range []string{initialize, `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"untitled:a","text":"{\"name\":\"a\",\"image\":\"b\"}"}}}`, `[]`} {
		var b bytes.Buffer
		if err := writeFrame(&b, []byte(body)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.String())
	}
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		err := Serve(t.Context(), strings.NewReader(in), &out, Options{FindPlatform: alone})
		if err == nil && !strings.Contains(in, "shutdown") {
			t.Error("no request asked for the end")
		}
		for r := bufio.NewReader(&out); ; {
			if _, err := readFrame(r); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("the server wrote a bad frame: %v", err)
			}
		}
	})
}

func TestURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///jobs/a%20b/job.json": "/jobs/a b/job.json",
		"file:///project/../x.json":   "/x.json",
		"file:///%C3%A9.json":         "/é.json",
		"untitled:Untitled-1":         "",
		"file://":                     "",
		"%zz":                         "",
	} {
		if got, ok := pathOf(uri); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", uri, got, ok)
		}
	}
	if got := uriOf("/jobs/a b/é#?.json"); got != "file:///jobs/a%20b/%C3%A9%23%3F.json" {
		t.Errorf("URI %s", got)
	}
}
