package lsp

import (
	"strings"
	"testing"
)

// A problem in an editor, which may log it, shows no credential, and links to the entry of
// its rule.
func TestDiagnosticsShowNoCredential(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	c.didOpen(jobURI, `{ "name": "a", "image": "b:1", "environment": { "DB_PASSWORD": hunter2 }, "timeout": "hunter2" }`)
	problems := c.diagnostics(jobURI, 1)
	slips := 0
	for _, p := range problems {
		if strings.Contains(p.Message, "hunter2") || p.Data != nil && strings.Contains(p.Data.Title, "hunter2") {
			t.Errorf("%s: %s %v", p.Code, p.Message, p.Data)
		}
		if p.CodeDescription == nil || !strings.Contains(p.CodeDescription.Href, "/docs/checks/") || !strings.HasSuffix(p.CodeDescription.Href, ".md#"+p.Code) {
			t.Errorf("%s leads to %v", p.Code, p.CodeDescription)
		}
		for _, a := range actionsAt(c, p.Range, "") {
			if strings.Contains(a.Title, "hunter2") {
				t.Errorf("%s: %s", p.Code, a.Title)
			}
			if p.Code == "json-syntax" && a.Kind == kindQuickFix {
				if edits := a.Edit.Changes[jobURI]; len(edits) == 1 && edits[0].NewText == `"hunter2"` {
					slips++ // the edit is whole
				}
			}
		}
	}
	if slips == 0 {
		t.Errorf("no fix for the missing quotes: %+v", problems)
	}
}
