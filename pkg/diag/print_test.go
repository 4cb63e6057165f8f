package diag_test

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain text, \"a\\b\"":   "plain text, \"a\\b\"",
		"naïve 名前 😀 e\u0301":     "naïve 名前 😀 e\u0301",
		"a\nb\rc\td":             `a\nb\rc\td`,
		"\x00\x1b[31m\x7f":       `\x00\x1b[31m\x7f`,
		"\u0080\u009b":           `\u0080\u009b`,
		"\u202a\u202e\u2066":     `\u202a\u202e\u2066`,
		"\u2069\u200e\u200f":     `\u2069\u200e\u200f`,
		"\u061c\ufeff\u200b":     `\u061c\ufeff\u200b`,
		"\u00a0\u00ad\u2028":     `\u00a0\u00ad\u2028`,
		"\U000e0041":             `\U000e0041`,
		"caf\xe9 \xf0\x9f":       `caf\xe9 \xf0\x9f`,
		"the real one \ufffd is": "the real one \ufffd is",
	} {
		got := diag.Printable(in)
		if got != want {
			t.Errorf("Printable(%q) = %s, want %s", in, got, want)
		}
		if again := diag.Printable(got); again != got {
			t.Errorf("Printable(%q) is not printable: %s", got, again)
		}
	}
}

func TestPrintableLeavesTextAlone(t *testing.T) {
	s := "a perfectly ordinary line of text"
	if n := testing.AllocsPerRun(10, func() { s = diag.Printable(s) }); n != 0 {
		t.Errorf("%v allocations for a plain string", n)
	}
}
