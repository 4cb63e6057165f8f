package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const jobURI = "file:///project/jobs/train.json"

const brokenJob = `{
  "name": "train",
  "image": "registry.example.com/train:1.4.0",
  "environment": { "GREETING": "hi 🎉🎉" }, "retrys": 3,
  "resources": { "vcpus": 1, "memory": "2" }
}
`

func TestSession(t *testing.T) {
	c := open(t, `{}`, Options{Version: "1.2.3", FindPlatform: alone})
	c.didOpen(jobURI, brokenJob)
	got := c.diagnostics(jobURI, 1)
	if len(got) != 2 {
		t.Fatalf("want two problems, got %+v", got)
	}
	// The two characters before it take four bytes and two units each.
	start := strings.Index(strings.Split(brokenJob, "\n")[3], `"retrys"`) - 2*(4-2)
	want := textRange{position{3, start}, position{3, start + len(`"retrys"`)}}
	if got[0].Range != want || got[0].Code != "unknown-member" || got[0].Severity != 1 || got[0].Source != "batchctl" {
		t.Errorf("unknown member: %+v, want it at %v", got[0], want)
	}
	if !strings.Contains(got[0].Message, "retrys") || !strings.Contains(got[0].Message, "\nfix: ") || !strings.Contains(got[0].Message, "retryStrategy") {
		t.Errorf("message %q", got[0].Message)
	}
	if got[1].Code != "memory-min-4" || got[1].Range.Start != (position{4, 39}) {
		t.Errorf("memory: %+v", got[1])
	}

	text := c.edit(jobURI, 2, brokenJob, `"retrys"`, `"retryStrategy"`)
	if got := c.diagnostics(jobURI, 2); len(got) != 1 {
		t.Errorf("one problem is fixed, got %+v", got)
	}
	c.edit(jobURI, 3, text, `"2"`, `"2 GiB"`)
	if got := c.diagnostics(jobURI, 3); got == nil || len(got) != 0 {
		t.Errorf("both problems are fixed, got %+v", got)
	}

	c.notify("textDocument/didChange", `{"textDocument":{"uri":"`+jobURI+`","version":4},"contentChanges":[{"text":"{}"},{"text":"[1, 2]"}]}`)
	if got := c.diagnostics(jobURI, 4); len(got) != 0 {
		t.Errorf("the text is not ours any more, got %+v", got)
	}
	c.notify("textDocument/didClose", `{"textDocument":{"uri":"`+jobURI+`"}}`)
	if got := c.diagnostics(jobURI, -1); len(got) != 0 {
		t.Errorf("a closed text has problems: %+v", got)
	}
	if rest, err := c.quit(); err != nil || len(rest) != 0 {
		t.Errorf("quit: %v, left over %s", err, jsonOf(rest))
	}
}

func TestInitialize(t *testing.T) {
	for offered, want := range map[string]encoding{
		`{}`: utf16Encoding,
		`{"general":{"positionEncodings":["utf-32"]}}`:         utf16Encoding,
		`{"general":{"positionEncodings":["utf-16","utf-8"]}}`: utf8Encoding,
	} {
		c := dial(t, Options{Version: "1.2.3"})
		got := decodeAs[initializeResult](t, c.must("initialize", `{"capabilities":`+offered+`}`))
		want := initializeResult{
			serverCapabilities{want, syncOptions{true, 2, true}, true, completionOptions{[]string{`"`}},
				codeActionOptions{[]string{"quickfix", "source.fixAll.batchctl"}}, true},
			serverInfo{"batchctl", "1.2.3"},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", offered, d)
		}
	}
}

func TestBytesAsPositions(t *testing.T) {
	c := open(t, `{"general":{"positionEncodings":["utf-8"]}}`, Options{FindPlatform: alone})
	c.didOpen(jobURI, brokenJob)
	got := c.diagnostics(jobURI, 1)
	want := position{3, strings.Index(strings.Split(brokenJob, "\n")[3], `"retrys"`)}
	if len(got) != 2 || got[0].Range.Start != want {
		t.Errorf("got %+v, want the first at %v", got, want)
	}
}

func TestOtherPeoplesTexts(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	const uri = "file:///project/package.json"
	c.didOpen(uri, `{"name": "site", "version": 1, "image": }`[:20]+`}`)
	c.didOpen("file:///project/other.json", `{"jobs": {"build": 1,}}`)
	if got := c.must("textDocument/hover", `{"textDocument":{"uri":"`+uri+`"},"position":{"line":0,"character":3}}`); string(got) != "null" {
		t.Errorf("hover: %s", got)
	}
	list := decodeAs[completionList](t, c.must("textDocument/completion", `{"textDocument":{"uri":"`+uri+`"},"position":{"line":0,"character":1}}`))
	if len(list.Items) != 0 {
		t.Errorf("completion: %+v", list)
	}
	if got := c.must("textDocument/codeAction", `{"textDocument":{"uri":"`+uri+`"},"range":{},"context":{"diagnostics":[]}}`); string(got) != "[]" {
		t.Errorf("actions: %s", got)
	}
	if rest, err := c.quit(); err != nil || len(rest) != 0 {
		t.Errorf("quit: %v, published %s", err, jsonOf(rest))
	}
}

func TestPlatformFile(t *testing.T) {
	dir := project(t)
	platform, job := uriOf(filepath.Join(dir, "batchctl.json")), uriOf(filepath.Join(dir, "jobs", "a b.json"))
	c := open(t, `{"workspace":{"didChangeWatchedFiles":{"dynamicRegistration":true}}}`, Options{})
	watch := c.wait(func(m received) bool { return m.Method == "client/registerCapability" })
	if !strings.Contains(string(watch.Params), `**/batchctl.json`) {
		t.Errorf("watches %s", watch.Params)
	}
	c.send(`{"jsonrpc":"2.0","id":` + string(watch.ID) + `,"result":null}`)

	text := `{"name": "a", "image": "b:1", "queue": "big", "resources": {"vcpus": 1, "memory": "1 GiB"}}`
	c.didOpen(job, text)
	if got := c.diagnostics(job, 1); len(got) != 1 || got[0].Code != "submit-queue-exists" {
		t.Fatalf("no such queue: %+v", got)
	}

	renamed := strings.Replace(platformText, `"cpu":`, `"big":`, 1)
	if err := os.WriteFile(filepath.Join(dir, "batchctl.json"), []byte(renamed), 0o644); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", `{"changes":[{"uri":"`+platform+`","type":2}]}`)
	if got := c.diagnostics(job, 1); len(got) != 0 {
		t.Errorf("the platform file on disk has it now: %+v", got)
	}

	c.didOpen(platform, platformText)
	if got := c.diagnostics(job, 1); len(got) != 1 {
		t.Errorf("the editor's text of the platform file has not: %+v", got)
	}
	if got := c.diagnostics(platform, 1); len(got) != 0 {
		t.Errorf("platform file: %+v", got)
	}
	broken := c.edit(platform, 2, platformText, `"EC2"`, `7`)
	if got := c.diagnostics(platform, 2); len(got) != 1 || got[0].Code != "wrong-type" {
		t.Errorf("platform file: %+v", got)
	}
	c.edit(platform, 3, broken, `"cpu":`, `"big":`)
	if got := c.diagnostics(job, 1); len(got) != 0 {
		t.Errorf("the editor's text has it now: %+v", got)
	}
	if got := c.diagnostics(platform, 3); len(got) != 1 {
		t.Errorf("the other slip is still there: %+v", got)
	}
	c.notify("textDocument/didClose", `{"textDocument":{"uri":"`+platform+`"}}`)
	if got := c.diagnostics(platform, -1); len(got) != 0 {
		t.Errorf("the text on disk has no problem: %+v", got)
	}
	if _, err := c.quit(); err != nil {
		t.Error(err)
	}
}

// TestAcrossFiles checks that a submission is compared with the definition in another
// file, and that the server notices when that file is closed.
func TestAcrossFiles(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	const definition, submit = "file:///w/definition.json", "file:///w/submit.json"
	c.didOpen(submit, `{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "parameters": {"epochs": "1"}}`)
	if got := c.diagnostics(submit, 1); len(got) != 0 {
		t.Errorf("alone: %+v", got)
	}
	c.didOpen(definition, `{"jobDefinitionName": "d", "type": "container", "containerProperties": {"image": "a:1", "command": ["x"],
		"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}}`)
	if got := c.diagnostics(submit, 1); len(got) != 1 || got[0].Severity != 2 {
		t.Errorf("the definition uses no parameter: %+v", got)
	}
	c.notify("textDocument/didClose", `{"textDocument":{"uri":"`+definition+`"}}`)
	if got := c.diagnostics(submit, 1); len(got) != 0 {
		t.Errorf("alone again: %+v", got)
	}
}

// TestVersions sends many changes at once, and checks that the published versions increase
// and include the last one.
func TestVersions(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	c.didOpen(jobURI, brokenJob)
	text := brokenJob
	const last = 60
	for v := 2; v <= last; v++ {
		old, new := "2", "3"
		if v%2 == 1 {
			old, new = new, old
		}
		text = c.edit(jobURI, v, text, `"memory": "`+old, `"memory": "`+new)
	}
	before := 0
	c.wait(func(m received) bool {
		p := decodeAs[publishParams](t, m.Params)
		if *p.Version <= before || len(p.Diagnostics) != 2 {
			t.Errorf("version %d after %d: %+v", *p.Version, before, p.Diagnostics)
		}
		before = *p.Version
		return before == last
	})
}

// TestWaitingChangesComeFirst checks that problems of a text are not published while a
// change of it waits.
func TestWaitingChangesComeFirst(t *testing.T) {
	var out strings.Builder
	s := newServer(&out, Options{FindPlatform: alone})
	s.phase = running
	d := didOpenParams{}
	d.TextDocument.URI, d.TextDocument.Text = jobURI, brokenJob
	if _, err := s.didOpen(d); err != nil {
		t.Fatal(err)
	}
	s.check() // a request looked at the problems
	version := 2
	if _, err := s.didChange(didChangeParams{documentID{jobURI, &version}, []contentChange{{Text: brokenJob}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.publish(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "publishDiagnostics"); got != 1 || !strings.Contains(out.String(), `"version":2`) {
		t.Errorf("published %s", out.String())
	}
}

func TestEnds(t *testing.T) {
	ends := map[string]struct {
		do   func(*client)
		want error
	}{
		"exit after shutdown":         {func(c *client) { c.must("shutdown", "null"); c.notify("exit", "null") }, nil},
		"end of input after shutdown": {func(c *client) { c.must("shutdown", "null"); c.in.Close() }, nil},
		"exit":                        {func(c *client) { c.notify("exit", "null") }, ErrNoShutdown},
		"end of input":                {func(c *client) { c.in.Close() }, ErrNoShutdown},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			c := open(t, `{}`, Options{})
			end.do(c)
			if err := <-c.done; !errors.Is(err, end.want) {
				t.Errorf("Serve: %v, want %v", err, end.want)
			}
		})
	}
	t.Run("in a message", func(t *testing.T) {
		c := open(t, `{}`, Options{})
		c.raw("Content-Length: 10\r\n\r\n{")
		c.in.Close()
		if err := <-c.done; err == nil || errors.Is(err, ErrNoShutdown) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Run("requests after shutdown", func(t *testing.T) {
		c := open(t, `{}`, Options{})
		c.must("shutdown", "null")
		if _, bad := c.call("textDocument/hover", `{}`); bad == nil || bad.Code != codeInvalidRequest {
			t.Errorf("got %v", bad)
		}
	})
}

func TestResultOfShutdownIsNull(t *testing.T) {
	c := open(t, `{}`, Options{})
	c.send(`{"jsonrpc":"2.0","id":"x","method":"shutdown"}`)
	m := c.wait(func(m received) bool { return string(m.ID) == `"x"` })
	if m.Error != nil || !json.Valid(m.Result) || string(m.Result) != "null" {
		t.Errorf("result %s, error %v", m.Result, m.Error)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, client := io.Pipe()
	defer client.Close()
	done := make(chan error)
	go func() { done <- Serve(ctx, in, io.Discard, Options{}) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}

// TestUnsavedText checks that a text without a path has no platform file.
func TestUnsavedText(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: func(dir string) (string, bool) {
		t.Errorf("looks for a platform file in %s", dir)
		return "", false
	}})
	const uri = "untitled:Untitled-1"
	c.didOpen(uri, brokenJob)
	if got := c.diagnostics(uri, 1); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestUnreadablePlatformFile checks that an unreadable platform file does not apply, and
// that the log has the reason.
func TestUnreadablePlatformFile(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "batchctl.json")
	c := open(t, `{}`, Options{FindPlatform: func(string) (string, bool) { return gone, true }})
	c.didOpen(jobURI, brokenJob)
	if got := c.diagnostics(jobURI, 1); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
	if _, err := c.quit(); err != nil || !strings.Contains(c.log.String(), "read platform file") {
		t.Errorf("quit: %v, log %q", err, c.log)
	}
}

// TestProblemInTheDefaults checks that the problem of a default is shown in the platform
// file, which is not open, and is removed together with the job.
func TestProblemInTheDefaults(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "batchctl.json")
	if err := os.WriteFile(path, []byte(`{"defaults": {"resources": {"vcpus": 1, "memory": 2}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	c := open(t, `{}`, Options{})
	job := uriOf(filepath.Join(dir, "job.json"))
	c.didOpen(job, `{"name": "a", "image": "b:1"}`)
	got := c.diagnostics(uriOf(path), -1)
	if len(got) != 1 || got[0].Code != "memory-min-4" || got[0].Range.Start != (position{0, 50}) {
		t.Errorf("got %+v", got)
	}
	c.notify("textDocument/didClose", `{"textDocument":{"uri":"`+job+`"}}`)
	if got := c.diagnostics(uriOf(path), -1); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
