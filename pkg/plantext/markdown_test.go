package plantext

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestInCode checks that a reader sees the text, and that no program sees anything else than text.
func TestInCode(t *testing.T) {
	form := regexp.MustCompile(`^<code>(?:[A-Za-z0-9 -]|[^\x00-\x7f]|&#[0-9]+;)+</code>$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[|`<>@#&;\\\\/*_:.!\\[\\](){}$~^\"'%\\r\\n\\t a1-]*")).Draw(t, "text")
		got := inCode(text)
		if got == "–" && strings.TrimSpace(diag.Printable(text)) == "" {
			return
		}
		if !form.MatchString(got) {
			t.Fatalf("%q becomes %q", text, got)
		}
		shown := html.UnescapeString(strings.TrimSuffix(strings.TrimPrefix(got, "<code>"), "</code>"))
		if want := diag.Printable(text); utf8.RuneCountInString(want) <= longestText && shown != want {
			t.Fatalf("%q shows %q", text, shown)
		}
	})
}
