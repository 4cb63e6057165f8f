package lsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
)

const slips = `{
  "name": "a🎉",
  "image": "b:1",
  "timeout": "1h",,
  "resources": { "vcpus": 1, "memory": "1 GiB", },
}
`

func actionsAt(c *client, r textRange, only string) []codeAction {
	c.t.Helper()
	return decodeAs[[]codeAction](c.t, c.must("textDocument/codeAction", fmt.Sprintf(
		`{"textDocument":{"uri":%q},"range":%s,"context":{"diagnostics":[]%s}}`, jobURI, jsonOf(r), only)))
}

// TestQuickFix checks that each applied quick fix leaves one problem fewer, until none is
// left.
func TestQuickFix(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	text := slips
	c.didOpen(jobURI, text)
	problems := c.diagnostics(jobURI, 1)
	if len(problems) != 3 {
		t.Fatalf("want three slips, got %+v", problems)
	}
	for version := 2; len(problems) > 0; version++ {
		p := problems[0]
		actions := actionsAt(c, p.Range, `,"only":["quickfix"]`)
		if len(actions) != 1 || actions[0].Kind != "quickfix" || !actions[0].IsPreferred || actions[0].Title == "" ||
			len(actions[0].Diagnostics) != 1 || actions[0].Diagnostics[0].Message != p.Message {
			t.Fatalf("actions for %+v: %+v", p, actions)
		}
		edits := actions[0].Edit.Changes[jobURI]
		if p.Data == nil || jsonOf(p.Data.Edits) != jsonOf(edits) {
			t.Errorf("data %+v, edits %+v", p.Data, edits)
		}
		text = applied(t, text, edits)
		c.notify("textDocument/didChange", jsonOf(didChangeParams{documentID{jobURI, &version}, []contentChange{{Text: text}}}))
		left := c.diagnostics(jobURI, version)
		if len(left) != len(problems)-1 {
			t.Fatalf("%d problems became %d in\n%s", len(problems), len(left), text)
		}
		problems = left
	}
	if actions := actionsAt(c, textRange{End: position{99, 0}}, ""); len(actions) != 0 {
		t.Errorf("nothing is left to fix: %+v", actions)
	}
}

func TestFixAll(t *testing.T) {
	c := open(t, `{"workspace":{"workspaceEdit":{"documentChanges":true}}}`, Options{FindPlatform: alone})
	c.didOpen(jobURI, slips)
	actions := actionsAt(c, textRange{}, `,"only":["source.fixAll"]`)
	if len(actions) != 1 || actions[0].Kind != "source.fixAll.batchctl" {
		t.Fatalf("actions %+v", actions)
	}
	change := actions[0].Edit.DocumentChanges[0]
	if change.TextDocument.URI != jobURI || *change.TextDocument.Version != 1 || actions[0].Edit.Changes != nil {
		t.Errorf("changes %+v", actions[0].Edit)
	}
	fixed := applied(t, slips, change.Edits)
	next := 2
	c.notify("textDocument/didChange", jsonOf(didChangeParams{documentID{jobURI, &next}, []contentChange{{Text: fixed}}}))
	if left := c.diagnostics(jobURI, next); len(left) != 0 {
		t.Errorf("left %+v in\n%s", left, fixed)
	}
}

// TestKindsOfActions requests actions of certain kinds, and for a range.
func TestKindsOfActions(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	c.didOpen(jobURI, slips)
	all := textRange{End: position{99, 0}}
	for only, want := range map[string]int{
		``: 4, `,"only":[]`: 4, `,"only":["quickfix"]`: 3, `,"only":["source"]`: 1, `,"only":["refactor"]`: 0, `,"only":["source.fix"]`: 0,
	} {
		if got := actionsAt(c, all, only); len(got) != want {
			t.Errorf("%s: %d actions, want %d", only, len(got), want)
		}
	}
	if got := actionsAt(c, textRange{position{1, 3}, position{1, 3}}, `,"only":["quickfix"]`); len(got) != 0 {
		t.Errorf("no problem there: %+v", got)
	}
}

// TestFixAllIsSmall checks that the edit covers only what changes, in whole characters.
func TestFixAllIsSmall(t *testing.T) {
	for _, test := range []struct {
		old, fixed string
		want       diag.Edit
	}{
		{"abc", "axc", diag.Edit{Span: diag.Span{Start: 1, End: 2}, Text: "x"}},
		{"aéz", "aèz", diag.Edit{Span: diag.Span{Start: 1, End: 3}, Text: "è"}},
		{"a🎉", "a🎊", diag.Edit{Span: diag.Span{Start: 1, End: 5}, Text: "🎊"}},
		{"x", "xx", diag.Edit{Span: diag.Span{Start: 1, End: 1}, Text: "x"}},
		{"xx", "x", diag.Edit{Span: diag.Span{Start: 1, End: 2}}},
	} {
		if got := smallestEdit(test.old, test.fixed); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.old, got, test.want)
		}
	}
	if _, ok := fixAll(diag.List{{Source: diag.NewSource("a", ""), Message: "no fix"}}); ok {
		t.Error("a fix out of nothing")
	}
}

// An unknown member is renamed if its value is valid, and hover explains the problem.
func TestQuickFixRenames(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	text := `{ "name": "a", "image": "b:1", "comand": ["x"] }`
	c.didOpen(jobURI, text)
	for _, p := range c.diagnostics(jobURI, 1) {
		if p.Code != "unknown-member" {
			continue
		}
		actions := actionsAt(c, p.Range, `,"only":["quickfix"]`)
		if len(actions) != 1 {
			t.Fatalf("actions: %+v", actions)
		}
		if got := applied(t, text, actions[0].Edit.Changes[jobURI]); got != `{ "name": "a", "image": "b:1", "command": ["x"] }` {
			t.Errorf("became %s", got)
		}
		return
	}
	t.Error("the unknown member is not found")
}

// TestFixAllLosesNothing checks that a fix which removes text is offered only on its own:
// it is neither the preferred fix nor part of all fixes.
func TestFixAllLosesNothing(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone, Rules: lint.Rules})
	c.didOpen(jobURI, `{ "jobDefinitionName": "a", "type": "Container", "timeout": { "attemptDurationSeconds": 60 },
		"containerProperties": { "image": "b:1", "_comment": "a", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }] } }`)
	all := textRange{End: position{99, 0}}
	quick := actionsAt(c, all, `,"only":["quickfix"]`)
	if len(quick) != 2 || !quick[0].IsPreferred || quick[1].IsPreferred || !strings.HasSuffix(quick[1].Title, ": remove _comment") {
		t.Errorf("quick fixes %+v", quick)
	}
	fixAll := actionsAt(c, all, `,"only":["source.fixAll"]`)
	if len(fixAll) != 1 || len(fixAll[0].Edit.Changes[jobURI]) != 1 || fixAll[0].Edit.Changes[jobURI][0].NewText != "c" {
		t.Errorf("fix all %+v", fixAll)
	}
}
