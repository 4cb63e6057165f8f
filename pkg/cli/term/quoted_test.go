package term

import "testing"

func TestQuoted(t *testing.T) {
	for _, c := range []struct{ system, arg, want string }{
		{"linux", "jobs/a.json", "jobs/a.json"},
		{"linux", "a b", "'a b'"},
		{"darwin", "it's", `'it'\''s'`},
		{"linux", `C:\x`, `'C:\x'`},
		{"windows", `C:\jobs\a.json`, `C:\jobs\a.json`},
		{"windows", `C:\My Jobs\a.json`, `"C:\My Jobs\a.json"`},
		{"windows", "it's", `"it's"`},
		{"windows", "$(x) it's", "'$(x) it''s'"},
	} {
		if got := quotedFor(c.system, c.arg); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.arg, c.system, got, c.want)
		}
	}
}
