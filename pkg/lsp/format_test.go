package lsp

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestFormatting checks that an editor gets the layout of `batchctl fmt` for readable
// documents of batchctl, and no edits for other texts.
func TestFormatting(t *testing.T) {
	const job = `{ "name": "train", "image": "busybox:1", "environment": { "GREETING": "hi 🎉🎉" },   "resources": {"vcpus":1,"memory":512}, "timeout": "1h" }`
	for name, tt := range map[string]struct {
		text    string
		changed bool
	}{
		"one line":       {job, true},
		"CR and LF":      {"{\r\n  \"name\": \"train\",\r\n  \"image\": \"busybox:1\",\r\n  \"resources\": { \"vcpus\": 1,\r\n \"memory\": 512 }\r\n}\r\n", true},
		"laid out":       {"{\n  \"name\": \"train\",\n  \"image\": \"busybox:1\",\n  \"resources\": { \"vcpus\": 1, \"memory\": 512 }\n}\n", false},
		"a syntax error": {job[:len(job)-2], false},
		"another tool's": {`{"compilerOptions":   {"strict": true}}`, false},
		"a template":     {"Resources:\n    Queue:\n        Type: AWS::Batch::JobQueue\n", false},
	} {
		c := open(t, `{}`, Options{FindPlatform: alone})
		c.didOpen(jobURI, tt.text)
		edits := decodeAs[[]textEdit](t, c.must("textDocument/formatting", `{"textDocument":{"uri":"`+jobURI+`"},"options":{"tabSize":8,"insertSpaces":false}}`))
		want := tt.text
		if tt.changed {
			root, _ := jsontree.Parse(diag.NewSource("", tt.text))
			want = jsontree.Format(root, jsontree.Width)
		}
		if got := applied(t, tt.text, edits); edits == nil || got != want || tt.changed == (got == tt.text) {
			t.Errorf("%s: %+v make %q, want %q", name, edits, got, want)
		}
	}
	c := open(t, `{}`, Options{FindPlatform: alone})
	if got := string(c.must("textDocument/formatting", `{"textDocument":{"uri":"file:///not/open.json"}}`)); got != "[]" {
		t.Errorf("a text that is not open gets %s", got)
	}
}
