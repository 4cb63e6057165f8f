package secret

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool"
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
			if f.need&pem != 0 {
				rest = strings.TrimSuffix(rest, "-----") + "PRIVATE KEY-----"
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

// TestGrammar checks that the patterns match as they do in package regexp, also texts that nearly match.
func TestGrammar(t *testing.T) {
	letter := rapid.SampledFrom(strings.Split("aZf09_-./+=~ %!$:", ""))
	for _, f := range formats {
		t.Run(f.vendor, rapid.MakeCheck(func(t *rapid.T) {
			change := func(text, what string) string {
				for range rapid.IntRange(0, 2).Draw(t, "changes of "+what) {
					at := rapid.IntRange(0, len(text)).Draw(t, "at")
					text = text[:at] + letter.Draw(t, "letter") + text[min(len(text), at+rapid.IntRange(0, 1).Draw(t, "instead of")):]
				}
				return text
			}
			plain := strings.NewReplacer(`\b`, ``)
			text := change(rapid.StringMatching(plain.Replace(f.body)).Draw(t, "body")+letter.Draw(t, "after"), "body")
			want := -1
			if loc := regexp.MustCompile("^(?:" + f.body + ")").FindStringIndex(text); loc != nil {
				want = loc[1]
			}
			g := lazyGrammar(f.body)()
			r := reader{text: text, runs: make([]Span, g.runs)}
			if got := r.forward(g.items, 0); got != want {
				t.Fatalf("%s: %s matches %q until %d, want %d", f.what, f.body, text, got, want)
			}
			text = change(letter.Draw(t, "before")+rapid.StringMatching(plain.Replace(f.back)).Draw(t, "back"), "back")
			want = -1
			if loc := regexp.MustCompile("(?:" + f.back + ")$").FindStringIndex(text); loc != nil {
				want = loc[0]
			}
			g = lazyGrammar(f.back)()
			r = reader{text: text, runs: make([]Span, g.runs)}
			if got := r.backward(g.items, len(text), 0); got != want {
				t.Fatalf("%s: %s matches the end of %q from %d, want %d", f.what, f.back, text, got, want)
			}
		}))
	}
}

// hostileMarks returns the text of every mark of formats, and of every pattern a text that it matches.
func hostileMarks(t *testing.T) (all []string) {
	seen := map[string]bool{}
	for _, f := range formats {
		for _, m := range strings.Fields(f.marks) {
			m = strings.ReplaceAll(strings.TrimSuffix(m, "*"), "␣", " ")
			body := rapid.StringMatching(strings.ReplaceAll(f.body, `\b`, ``)).Example(len(seen))
			back := rapid.StringMatching(f.back).Example(len(seen))
			for _, unit := range []string{m, back + m, m + body, back + m + body} {
				if !seen[unit] {
					seen[unit] = true
					all = append(all, unit)
				}
			}
		}
	}
	if len(all) < 1000 {
		t.Fatalf("%d texts", len(all))
	}
	return all
}

// stepsOf returns how many bytes and items the search of a text compares.
func stepsOf(text string) (steps int) {
	s := &search{text: text}
	s.each(func(Credential) bool { return true })
	for _, f := range s.seen {
		if f != nil {
			steps += f.steps
		}
	}
	return steps
}

// TestLinear checks that the search reads no part of a text again for each mark: the steps are at most so many times
// the length of the text, whatever it repeats. A mark has three letters and looks at most 100 bytes back and 150 ahead,
// so that a search that forgets nothing stays below the limit.
func TestLinear(t *testing.T) {
	const size, limit = 1 << 15, 100
	check := func(unit string) {
		t.Helper()
		text := strings.Repeat(unit, size/len(unit))
		if steps := stepsOf(text); steps > limit*len(text) {
			t.Errorf("%d steps for %d bytes of %q", steps, len(text), unit)
		}
	}
	units := hostileMarks(t)
	for _, unit := range units {
		for _, after := range []string{"", "-", "_", ".", "=", "/", " ", "\n", `"`, "%"} {
			check(unit + after)
		}
	}
	r := rand.New(rand.NewPCG(1, 55))
	for range testtool.Count(2000, 60) {
		var mixture strings.Builder
		for range 1 + r.IntN(20) {
			mixture.WriteString(units[r.IntN(len(units))])
			mixture.WriteString([]string{"", "", "-", "_", ".", "=", " ", "\n", `"`, "AAAA", "aaaaaaaa"}[r.IntN(11)])
		}
		check(mixture.String())
		var random strings.Builder
		for random.Len() < size {
			random.WriteString(units[r.IntN(len(units))])
		}
		check(random.String())
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
