package logs

import (
	"slices"
	"strings"
	"testing"
)

func TestFilterPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "anything", true},
		{"ERROR", "an ERROR here", true},
		{"ERROR", "an error here", false},
		{"ERROR disk", "disk ERROR", true},
		{"ERROR disk", "ERROR", false},
		{`"disk full"`, "the disk is full", false},
		{`"disk full" now`, "now the disk full", true},
		{"?a ?b", "xbx", true},
		{"?a ?b", "xcx", false},
		{`ERROR -"retry soon"`, "ERROR retry soon", false},
		{`ERROR -"retry soon"`, "ERROR", true},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil || p.Matches(c.text) != c.want {
			t.Errorf("%q in %q: %v, %v", c.pattern, c.text, !c.want, err)
		}
	}
	for _, text := range []string{`{ $.a = 1 }`, `[a, b]`, `%a.*%`, `"open`} {
		if _, err := ParsePattern(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add(`a -"b c" ?d`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		for _, term := range slices.Concat(p.all, p.any, p.not) {
			if err == nil && (term == "" || !strings.Contains(text, term)) {
				t.Errorf("%q: term %q", text, term)
			}
		}
	})
}
