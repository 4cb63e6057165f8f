package jsontree

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Each case marks a value of a text, and has the hint, the text with the fix, and the fix's class.
func TestSpell(t *testing.T) {
	for _, c := range []struct {
		text, value, hint, want string
		class                   diag.Class
	}{
		{`{"a": 3600}`, `3600`, `write "3600s"`, `{"a": "3600s"}`, diag.Automatic},
		{`{"a": "4Gi"}`, `"4Gi"`, `write "4 GiB": powers of two`, `{"a": "4 GiB"}`, diag.Automatic},
		{`{"a": "8 GB"}`, `"8 GB"`, `write "8 GiB"`, `{"a": "8 GiB"}`, diag.Automatic},
		{`{"a": "4"}`, `"4"`, `write 4`, `{"a": 4}`, diag.Automatic},
		{`{"a": 2}`, `2`, `write 4`, `{"a": 4}`, diag.Loss},
		{`{"a": "4 GiB"}`, `"4 GiB"`, `write "40 GiB"`, `{"a": "40 GiB"}`, diag.Loss},
		{`{"a": null, "b": 1}`, `null`, `remove it`, `{"b": 1}`, diag.Automatic},
		{`{"a": [], "b": 1}`, `[`, `remove it; no list can be empty`, `{"b": 1}`, diag.Automatic},
		{`{"a": true, "b": 1}`, `"a"`, `remove it`, `{"b": 1}`, diag.Loss},
		{`{"a": ["x", ""]}`, `""`, `remove it`, `{"a": ["x"]}`, diag.Automatic},
		// The hint leaves a choice or a gap, marks a part of a value or a placeholder, or names a member.
		{`{"a": 1}`, `1`, `write 2 or 3`, "", 0},
		{`{"a": 1}`, `1`, `write "b": 2`, "", 0},
		{`{"a": 1}`, `1`, `write "arn:aws:<account>"`, "", 0},
		{`{"a": 1}`, `1`, `write { "b": ... }`, "", 0},
		{`{"a": 1}`, `1`, `remove it, or write 2`, "", 0},
		{`{"a": 1}`, `"a"`, `write "b"`, "", 0},
		{`{"a": "x y"}`, `x`, `write "z"`, "", 0},
		{`{"a": "${x}"}`, `"${x}"`, `write "z"`, "", 0},
		{`{"a": "${x}"}`, `"${x}"`, `remove it`, "", 0},
		{`{}`, `{`, `remove it`, "", 0},
	} {
		src := diag.NewSource("t.json", c.text)
		root, _ := Parse(src)
		d := diag.Diagnostic{Source: src, Hint: c.hint, Span: spanOf(c.text, c.value)}
		Spell(root, &d)
		got, n := diag.Apply(src, diag.List{d})
		switch {
		case c.want == "" && d.Fix != nil, c.want != "" && (n != 1 || got != c.want || d.Fix.Class != c.class):
			t.Errorf("%s, %s: %q, %+v", c.text, c.hint, got, d.Fix)
		}
	}
}

// spanOf returns the location of the last occurrence of a value.
func spanOf(text, value string) (s diag.Span) {
	for i := 0; i+len(value) <= len(text); i++ {
		if text[i:i+len(value)] == value {
			s = diag.Span{Start: i, End: i + len(value)}
		}
	}
	return s
}

func TestMove(t *testing.T) {
	for text, want := range map[string]string{
		`{"cpu": 2, "r": {"m": 1}}`:     `{"r": {"m": 1, "vcpus": 2}}`,
		`{"r": {"m": 1}, "cpu": 2}`:     `{"r": {"m": 1, "vcpus": 2}}`,
		`{"r": {}, "cpu": [1, {}]}`:     `{"r": {"vcpus": [1, {}]}}`,
		`{"cpu": 2, "b": 1}`:            `{"r": { "vcpus": 2 }, "b": 1}`,
		`{"cpu": 2, "r": {"vcpus": 1}}`: "",
		`{"cpu": 2, "r": []}`:           "",
		`{"cpu": "${x}"}`:               "",
	} {
		src := diag.NewSource("t.json", text)
		root, _ := Parse(src)
		fix := Move(root.Get("cpu"), root.Get("r"), "r", "vcpus")
		got, _ := diag.Apply(src, diag.List{{Source: src, Fix: fix}})
		if want == "" && fix != nil || want != "" && got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
