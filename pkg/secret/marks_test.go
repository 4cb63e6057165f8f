package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMarks checks the fast search for marks: a text that a format's pattern matches is
// found at its mark.
func TestMarks(t *testing.T) {
	for _, f := range formats {
		body := rapid.StringMatching(strings.NewReplacer(`\b`, ``).Replace(f.body))
		back := rapid.StringMatching(strings.NewReplacer(`\b`, ``).Replace(f.back))
		marks := rapid.SampledFrom(strings.Fields(f.marks))
		pads := rapid.IntRange(0, 1)
		t.Run(f.vendor, rapid.MakeCheck(func(t *rapid.T) {
			mark := strings.ReplaceAll(marks.Draw(t, "mark"), "␣", " ")
			first := ""
			if stem, open := strings.CutSuffix(mark, "*"); open {
				first = rapid.SampledFrom(strings.Split(firstOf(f.body), "")).Draw(t, "first")
				mark = stem
			}
			rest := first + body.Draw(t, f.what)
			if f.back == "" && f.need&opens == 0 && variety(rest) < 6 {
				t.Skip("not random enough")
			}
			if f.need&digits != 0 && !mixed(rest) || f.need&cases != 0 && (!mixed(rest) || strings.ToLower(rest) == rest || strings.ToUpper(rest) == rest) {
				t.Skip("an ordinary word")
			}
			value := back.Draw(t, f.what) + mark + rest
			found := false
			eachFormat(value, func(Credential) bool { found = true; return false })
			if pad := strings.Repeat(" ", pads.Draw(t, "pad")); !suspicious(pad + value) {
				t.Errorf("%s: %q does not look suspicious", f.what, value)
			}
			if !found {
				t.Errorf("%s: %q matches the pattern, and is passed over", f.what, value)
			}
		}))
	}
}

// TestMentionsSecret checks the fast search of names in the same way: alone, and in a text at an even and an odd
// offset.
func TestMentionsSecret(t *testing.T) {
	for _, w := range secretWords {
		if !mentionsSecret(w) {
			t.Errorf("%s is not found", w)
		}
	}
	parts := []string{"DB", "db", "Api", "KEY", "Key", "Token", "SECRET", "pass", "PWD", "pw", "Pat", "auth", "CREDS", "word", "Salt", "x", "PUBLIC", "apikey", "bearer"}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "parts"), rapid.SampledFrom([]string{"_", "", "-", "."}).Draw(t, "between"))
		kind := kindOfName(name)
		if kind != "" && !mentionsSecret(name) {
			t.Errorf("%s has the kind %s, and is passed over", name, kind)
		}
		before := rapid.SampledFrom([]string{"", "x ", `{"`, " "}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", `": "x"`, "=x", " x"}).Draw(t, "after")
		if kind != "" && !suspicious(before+name+after) {
			t.Errorf("%q has the kind %s, and does not look suspicious", before+name+after, kind)
		}
	})
}

func TestHasLogin(t *testing.T) {
	for text, want := range map[string]bool{"login": true, "docker login -u": true, "xlogin": true, "ggglogin": true, "logi": false, "": false, "g": false, "gin": false, "log in": false, "lo gin": false, "Login": false} {
		if hasLogin(text) != want {
			t.Errorf("hasLogin(%q) is %v", text, !want)
		}
	}
}
