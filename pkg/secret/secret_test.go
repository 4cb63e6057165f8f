package secret

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The text between « and » must be hidden, and no other text.
func TestPlaces(t *testing.T) {
	for _, marked := range []string{
		`{ "environment": { "DB_PASSWORD": "«hunter2»", "MODE": "fast" } }`,
		`{ "environment": [ { "name": "DB_PASSWORD", "value": "«hunter2»" }, { "value": "«s3cr3t-x»", "name": "API_TOKEN" } ] }`,
		`{ "env": [ { "name": "A", "value": "plain" }, { "name": "X", "value": "«AKIAIOSFODNN7EXAMPLF»" } ] }`,
		`{ "URL": "postgres://app:«s3cret»@db.internal/app", "DSN": "Server=db;Password=«abc!def»;" }`,
		`{ "PASSWORD": "${PASSWORD}", "TOKEN_LIMIT": "4096", "MAX_TOKENS": 5000, "DB_PASSWORD_FILE": "/run/secrets/db" }`,
		`{ "DB_PASSWORD": "«h\u0075nter\"2»" }`,                    // escapes
		`{ "DB_PASSWORD": ["«hunter2»"], "B_SECRET": «12x45678» }`, // of a wrong type
		`{ DB_PASSWORD: «hunter2 x» }`, `{ 'DB_PASSWORD' = '«hunter2»' }`, `DB_PASSWORD=«hunter2»`, // no JSON
		"{ \"DB_PASSWORD\": \"«hunter2,»\n \"a\": 1 }", `{ "DB_PASSWORD": "«hunter2»`, `"DB_PASSWORD": "«hunter2»" } ] }`,
		"// password: «hunter2»\n{}",
		`{ "command": ["run", "--password", "«hunter2»", "--mode", "fast"] }`,
		`{ "command": ["run", "--password=«hunter2»", "export API_TOKEN=«abc123def456» && x", "-e MODE=fast"] }`,
		`{ "DB_PASSWORD": "«hunter2»", "command": ["login", "«hunter2»"], "name": "hunter" }`,
		`{ "secrets": { "DB_PASSWORD": "prod/db-password", "B_PASSWORD": "«hunter2»" } }`,
		`{ "secrets": [ { "name": "DB_PASSWORD", "valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/x" }, { "name": "DB_PASSWORD", "valueFrom": "«hunter2»" } ] }`,
		"{ \"K\": \"«-----BEGIN RSA PRIVATE KEY-----\\nMIIE»\" }", "{ \"K\": \"«-----BEGIN PRIVATE KEY-----\nMIIEabc\n-----END PRIVATE KEY-----»\" }",
		// a plain word is hidden only where it is the value
		`{ "POSTGRES_PASSWORD": "«postgres»", "image": "postgres:16" }`,
		strings.Repeat("[", 500) + `{ "DB_PASSWORD": "«hunter2»" }` + strings.Repeat("]", 500) + `, "B_PASSWORD": "«hunter3»"`,
		"", "{", `"`, "[", `{"a":`, "\\",
	} {
		text := strings.NewReplacer("«", "", "»", "").Replace(marked)
		var b strings.Builder
		at := 0
		for _, p := range In(text).Spans() {
			b.WriteString(text[at:p.Start] + "«" + text[p.Start:p.End] + "»")
			at = p.End
		}
		if d := cmp.Diff(marked, b.String()+text[at:]); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

func TestRedact(t *testing.T) {
	text := `{ "DB_PASSWORD": "hun\"ter22", "PGPASSWORD": "word", "API_TOKEN": "correcthorse9battery7staple" }`
	s := In(text)
	at := Span{strings.Index(text, "word\""), strings.Index(text, "word\"") + 4}
	for _, c := range []struct {
		message string
		at      Span
		want    string
	}{
		{"", Span{}, ""},
		{"a password is too long", Span{}, "a password is too long"},
		{`not "hun\"ter22", but hun"ter22`, Span{}, `not "**********", but *********`},
		{"write correcthorse9battery…", Span{}, "write ********************…"},
		{`the word "word"`, Span{}, `the word "word"`},
		{`the value "word"`, at, `the value "****"`},
	} {
		if got := s.Redact(c.message, c.at); got != c.want {
			t.Errorf("%q at %v: %q, want %q", c.message, c.at, got, c.want)
		}
	}
	if got := (*Secrets)(nil).Redact("hunter2", Span{}); got != "hunter2" {
		t.Errorf("without secrets: %q", got)
	}
}

func TestMask(t *testing.T) {
	text := "{ \"DB_PASSWORD\": \"hünter名2\" }\n"
	if got := Mask("", text); got != "{ \"DB_PASSWORD\": \"********\" }\n" {
		t.Errorf("%q", got)
	}
}

func TestMaskNamed(t *testing.T) {
	for _, c := range [][3]string{
		{"DB_PASSWORD", "hunter2", "*******"},
		{"", "no job at postgres://app:hunter2@db/x, key AKIAIOSFODNN7EXAMPLF", "no job at postgres://app:*******@db/x, key ********************"},
		{"", "credentials: no role found for EC2 at 12:30", "credentials: no role found for EC2 at 12:30"},
	} {
		if got := Mask(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q, want %q", c[0], got, c[2])
		}
	}
}

// AWS's documentation uses these keys, and no account has them.
func TestDocumentedKeys(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "X": "AKIAI44QH8DHBEXAMPLE", "": "ASIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "Y": "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
		"AWS_SESSION_TOKEN": "AQoDYXdzEJr1K21heGZldzBqMnF3ZXJ0eXVpb3Bhc2RmZ2hqa2x6eGN2Ym5tMTIzNDU2Nzg5MEXAMPLETOKEN",
	} {
		for _, text := range []string{value, name + "=" + value, `{ "` + name + `": "` + value + `" }`, "export " + name + "='" + value + "'", `[{ "name": "` + name + `", "value": "` + value + `" }]`, "configure set aws_secret_access_key " + value} {
			if got := Mask("", text); got != text {
				t.Errorf("%s is masked as %s", text, got)
			}
		}
		if found := Find(name, value); len(found) > 0 {
			t.Errorf("%s=%s: %v", name, value, found)
		}
		if real := strings.Replace(value, "EXAMPLE", "EXEMPLA", 1); len(Find(name, real)) == 0 {
			t.Errorf("%s=%s is not found", name, real)
		}
	}
	if got := Mask("DB_PASSWORD", "my4EXAMPLE"); got != "**********" {
		t.Errorf("a password with the word: %s", got)
	}
}

// A credential that the rule finds in a variable is hidden in every text that contains it.
func TestWhatIsFoundIsHidden(t *testing.T) {
	layouts := []string{`{ "environment": { %[1]s: %[2]s } }`, "{\n  \"environment\": [\n    { \"name\": %[1]s,\n \"value\": %[2]s } ] }", `{ "value": %[2]s, "name": %[1]s }`,
		`{ "environment": { "A": "b", %[1]s: %[2]s,`, `%[1]s: %[2]s`, `[[{ "x": {}, %[1]s: [ %[2]s ] }`}
	rapid.Check(t, func(t *rapid.T) {
		m := maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		v := m.positive()
		if len(Find(v.name, v.value)) == 0 {
			t.Skip("not found")
		}
		text := fmt.Sprintf(rapid.SampledFrom(layouts).Draw(t, "layout"), strconv.Quote(v.name), strconv.Quote(v.value))
		got := Mask("", text)
		shown, _ := decode(between(got, strconv.Quote(v.value), text))
		if len(Find(v.name, shown)) > 0 || got == text {
			t.Fatalf("%s", got)
		}
	})
}

// between returns the part of a masked text that replaces a value.
func between(masked, value, text string) string {
	start := strings.Index(text, value)
	return masked[start+1 : min(len(masked), start+len(value)-1)]
}

func FuzzIn(f *testing.F) {
	for _, seed := range []string{`{"a":{"DB_PASSWORD":"hunter2"}}`, `[{"name":"X_TOKEN","value":"a1b2c3d4"}]`, `{'K'='-----BEGIN PRIVATE KEY-----`, "X_SECRET: \"\\u00zz12345678\"", `"--password=abcd efgh://u:pass@h"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		s := In(text)
		for _, p := range s.Spans() {
			if p.Start < end || p.End <= p.Start || p.End > len(text) {
				t.Fatalf("%v of %d bytes", p, len(text))
			}
			end = p.End
		}
		if got := Mask("", text); utf8.RuneCountInString(got) != utf8.RuneCountInString(text) {
			t.Fatalf("%q has another length: %q", text, got)
		}
		s.Redact(text, Span{0, len(text)})
	})
}
