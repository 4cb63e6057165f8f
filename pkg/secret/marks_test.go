package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMarks holds the look that comes before a format's pattern to its promise:
// whatever the pattern matches has a mark.
func TestMarks(t *testing.T) {
	for i, f := range formats {
		expression := f.pattern().String()
		match := rapid.StringMatching(strings.NewReplacer(`\b`, ``, `(?i)`, ``).Replace(expression))
		rapid.Check(t, func(t *rapid.T) {
			value := match.Draw(t, f.what)
			if f.pattern().MatchString(value) && marksIn(value)&(1<<i) == 0 {
				t.Errorf("%s: %q matches the pattern, and is passed over", f.what, value)
			}
		})
	}
}

// TestSpeaksOfSecret holds the look at a name to its promise likewise.
func TestSpeaksOfSecret(t *testing.T) {
	parts := []string{"DB", "db", "Api", "KEY", "Key", "Token", "SECRET", "pass", "PWD", "Pat", "auth", "CREDS", "word", "Salt", "x", "PUBLIC", "apikey"}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "parts"), rapid.SampledFrom([]string{"_", "", "-", "."}).Draw(t, "between"))
		if kindOfName(name) != "" && !speaksOfSecret(name) {
			t.Errorf("%s has the kind %s, and is passed over", name, kindOfName(name))
		}
	})
}
