package diag_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

// hostile draws texts with characters that control a terminal, hide in it, or end the
// syntax of a format.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOf(rapid.SampledFrom([]string{"\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\u009b2J", "\u0085", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff",
		"\r", "\n", "\t", "\x00", "\x7f", "\b", "\xff", "\xc3", "\ufffe", "\U000e0001", "]]>", "::error::", "](", "%0a", "<b>", "&", "\"", "\\", "a", "名", "é", " "}))
	return strings.Join(parts.Draw(t, "parts"), "")
})

// For any names, texts and messages, the output has only printing characters, line ends
// and tabs.
func TestNothingSteersATerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src := diag.NewSource("a/"+hostile.Draw(rt, "name"), hostile.Draw(rt, "before")+"\n"+hostile.Draw(rt, "text"))
		at := rapid.IntRange(0, len(src.Text)).Draw(rt, "start")
		d := diag.Diagnostic{
			Source: src, Span: diag.Span{Start: at, End: rapid.IntRange(at, len(src.Text)).Draw(rt, "end")},
			Rule: hostile.Draw(rt, "rule"), Message: hostile.Draw(rt, "message"), Hint: hostile.Draw(rt, "hint"),
		}
		d.Fix = &diag.Fix{Message: hostile.Draw(rt, "fix"), Edits: []diag.Edit{{Span: d.Span, Text: hostile.Draw(rt, "edit")}}}
		nowhere := d
		nowhere.Source, nowhere.Fix = nil, nil
		l := diag.List{d, nowhere}
		for _, f := range diag.Formats() {
			text := write(t, f, l, diag.Report{Files: []string{src.Name}, Tool: diag.Tool{Name: "batchctl"}})
			harmless(rt, f.Name, text)
			if f.Name == "json" || f.Name == "sarif" || f.Name == "gitlab" {
				if !json.Valid([]byte(text)) {
					rt.Fatalf("%s is no JSON: %q", f.Name, text)
				}
			}
		}
		var b strings.Builder
		if err := diag.WriteBaseline(&b, l); err != nil {
			rt.Fatal(err)
		}
		if err := diag.WriteSummary(&b, l); err != nil {
			rt.Fatal(err)
		}
		harmless(rt, "baseline and summary", b.String())
		harmless(rt, "Error", d.Error()+nowhere.Error())
		diff := diag.UnifiedDiff(src.Name, src.Text, "x"+src.Text)
		harmless(rt, "the head of a diff", strings.Join(strings.SplitN(diff, "\n", 3)[:2], "\n"))
		harmless(rt, "a diff", diag.PrintableLines(diff))
		harmless(rt, "JSON", string(diag.PrintableJSON([]byte(src.Text))))
	})
}

func harmless(t *rapid.T, what, text string) {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r != '\n' && r != '\t' && diag.Printable(text[i:i+size]) != text[i:i+size] {
			t.Fatalf("%s holds %q: %q", what, text[i:i+size], text)
		}
	}
}
