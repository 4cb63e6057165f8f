package jsontree

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestMend applies the edits that slips carry: what comes out parses.
func TestMend(t *testing.T) {
	long := strings.Repeat("long", 50)
	for in, want := range map[string]string{
		`{"a": 1,}`:                      `{"a": 1}`,
		`[1, 2,,]`:                       `[1, 2]`,
		`[1,, 2]`:                        `[1, 2]`,
		`{"a": 1 "b": 2}`:                `{"a": 1, "b": 2}`,
		`{"a" = 1; "b": 2}`:              `{"a" : 1, "b": 2}`,
		`{"a" 1}`:                        `{"a": 1}`,
		`{a: 'x', b: True}`:              `{"a": "x", "b": true}`,
		`{"a": 007, "b": nginx:1}`:       `{"a": 7, "b": "nginx:1"}`,
		`['` + long + `', ` + long + `]`: `["` + long + `", "` + long + `"]`,
		`{"a": [1, 2}`:                   `{"a": [1, 2}`, // which bracket is meant is not ours to say
	} {
		src := diag.NewSource("t", in)
		_, list := Parse(src)
		got, _ := diag.Apply(src, list)
		if _, left := Parse(diag.NewSource("t", got)); got != want {
			t.Errorf("%s becomes %s, want %s (left: %v)", in, got, want, left)
		}
	}
}

// FuzzMend holds the fixes to their promise: as long as every slip has one,
// applying them round after round ends with a text that parses. In the midst of
// garbage no edit is certain.
func FuzzMend(f *testing.F) {
	for _, s := range []string{`{"a": 1,}`, `[1 2]`, `{a: 'b'}`, `{"a" = "b";}`, `[.5, 1., +3]`, `{"a": [1,}`, `{,]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before := text
		for range 10 {
			src := diag.NewSource("t", text)
			_, list := Parse(src)
			if len(list) == 0 || slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Fix == nil }) {
				return
			}
			text, _ = diag.Apply(src, list)
		}
		t.Errorf("%q is still %q after ten rounds", before, text)
	})
}
