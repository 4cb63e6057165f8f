package diag_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// A credential keeps its width, so that carets stay in their column.
func TestMaskedText(t *testing.T) {
	quoting := mark(`{ "DB_PASSWORD": «"hunter2"», "b": 1 }`)
	quoting.Message, quoting.Hint = `the value "hunter2" is too long`, `write "hunter"`
	quoting.Fix = &diag.Fix{Message: `write "hunter2"`, Edits: []diag.Edit{{Span: quoting.Span, Text: `"hunter2x"`}}}
	var b strings.Builder
	err := diag.WriteText(&b, diag.List{
		quoting,
		mark(`{ "DB_PASSWORD": "hünter名2", "名": «1» }`),
		mark(`{ "DB_PASSWORD": "hun«ter名»2", "b": 1 }`),
		mark("{ \"DB_PASSWORD\":\t\"hun\tter2\", «\"b\"»: 1 }"),
		mark(`{ "DB_PASSWORD": "` + strings.Repeat("hunter2", 40) + `", «"b"»: 1 }`),
	}, diag.TextOptions{Width: 80})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "text", "masked", b.String())
}

// A program that applied an edit with asterisks would destroy the credential, so it gets
// no edit.
func TestNoEditShowsACredential(t *testing.T) {
	d := mark(`{ "DB_PASSWORD": «hunter2» }`)
	d.Fix = &diag.Fix{Message: `write "hunter2"`, Edits: []diag.Edit{{Span: d.Span, Text: `"hunter2"`}}}
	for _, f := range diag.Formats() {
		text := write(t, f, diag.List{d}, report())
		if strings.Contains(text, "hunter2") || strings.Contains(text, `\"*******\"`) && f.Name == "json" && strings.Contains(text, `"edits"`) {
			t.Errorf("%s:\n%s", f.Name, text)
		}
	}
	var records []struct{ Fix json.RawMessage }
	if err := json.Unmarshal([]byte(write(t, diag.Formats()[1], diag.List{d}, report())), &records); err != nil || records[0].Fix != nil {
		t.Errorf("%v, fix %s", err, records[0].Fix)
	}
	if text, n := diag.Apply(d.Source, diag.List{d}); n != 1 || text != `{ "DB_PASSWORD": "hunter2" }` {
		t.Errorf("%d fixes made: %s", n, text)
	}
}

// Another password in the same variable is the same problem, and a baseline does not show
// which password it was.
func TestFingerprintsLeaveCredentialsOut(t *testing.T) {
	baseline := func(password string) string {
		var b strings.Builder
		if err := diag.WriteBaseline(&b, diag.List{mark(`{ "DB_PASSWORD": «"` + password + `"», "b": 1 }`)}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := baseline("hunter2"), baseline("correct-horse-9"); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestRedact(t *testing.T) {
	src := diag.NewSource("job.json", `{ "DB_PASSWORD": "hunter2" }`)
	if got := src.Redact("the service refused hunter2"); got != "the service refused *******" {
		t.Error(got)
	}
}
