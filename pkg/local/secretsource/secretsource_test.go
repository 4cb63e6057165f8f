package secretsource

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// marker is part of every value, and of no error.
const marker = "hidden"

const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf"

func fileOf(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFile(t *testing.T) {
	path := fileOf(t, `{"NAME": "hidden name", "OBJECT": {"a": [1, "hidden"]}, "EMPTY": "", "NUL": "hidden\u0000", "NULL": null, "NUMBER": 7,
		"`+arn+`": {"user": "hidden user", "port": 5432, "none": ""}, "`+arn+`:user:AWSPREVIOUS:": "hidden previous",
		"`+arn+`2": "{\"user\": \"hidden as text\"}", "`+arn+`3": "hidden plain", "/prod/db": "hidden parameter"}`, 0o600)
	s, err := Open("file:" + path)
	if err != nil || s.String() != "file:"+path {
		t.Fatal(err, s)
	}
	for _, c := range []struct{ name, valueFrom, want, problem string }{
		{"NAME", "/other", "hidden name", ""},
		{"NAME", "", "hidden name", ""},
		{"NAME", arn + ":user::", "hidden user", ""}, // the ARN comes before the name
		{"NAME", arn + "9:user::", "hidden name", ""},
		{"X", "/prod/db", "hidden parameter", ""},
		{"X", arn, `{"user":"hidden user","port":5432,"none":""}`, ""},
		{"X", arn + ":user::", "hidden user", ""},
		{"X", arn + ":user:AWSCURRENT:", "hidden user", ""},
		{"X", arn + ":user:AWSPREVIOUS:", "hidden previous", ""},
		{"X", arn + ":port::", "5432", ""},
		{"X", arn + ":::", `{"user":"hidden user","port":5432,"none":""}`, ""},
		{"X", arn + "2:user::", "hidden as text", ""},
		{"X", arn + "3", "hidden plain", ""},
		{"OBJECT", "", `{"a":[1,"hidden"]}`, ""},
		{"NUMBER", "", "7", ""},
		{"X", arn + ":gone::", "", path + ": the value of " + arn + " has no key gone"},
		{"X", arn + ":none::", "", path + ": key none of " + arn + " is empty"},
		{"X", arn + "3:user::", "", path + ": the value of " + arn + "3 is not a JSON object, and valueFrom names its key user"},
		{"EMPTY", "", "", path + ": EMPTY is empty"},
		{"NULL", "", "", path + ": NULL is empty"},
		{"NUL", "", "", path + ": NUL contains a NUL byte, which an environment variable cannot"},
		{"X", "/gone", "", path + " contains neither its name nor its valueFrom"},
		{"X", "arn:aws:ssm:us-east-1:123456789012:parameter/a:b:c:d", "", path + " contains neither its name nor its valueFrom"},
	} {
		got, err := s.Lookup(Key{c.name, c.valueFrom})
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if got != c.want || problem != c.problem || strings.Contains(problem, marker) {
			t.Errorf("%s from %s: %q, %q; want %q, %q", c.name, c.valueFrom, got, problem, c.want, c.problem)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("A_SECRET", "hidden\nlines")
	t.Setenv("EMPTY_SECRET", "")
	s, err := Open("env")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Lookup(Key{"A_SECRET", arn + ":user::"}); got != "hidden\nlines" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for name, want := range map[string]string{"EMPTY_SECRET": "the environment variable EMPTY_SECRET is empty",
		"NO_SUCH_SECRET": "the environment variable NO_SUCH_SECRET is not set (--secrets-from env)"} {
		if got, err := s.Lookup(Key{Name: name}); got != "" || err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestOpen(t *testing.T) {
	if s, err := Open(""); s != nil || err != nil {
		t.Errorf("no source: %v, %v", s, err)
	}
	for _, flag := range []string{"file:", "FILE", "environment", "env:X", "/a", "filed:x"} {
		if _, err := Open(flag); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	t.Chdir(t.TempDir())
	if _, err := Open("file"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), DefaultFile) {
		t.Errorf("no default file: %v", err)
	}
	if err := os.WriteFile(DefaultFile, []byte(`{"A": "hidden"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open("file"); err != nil {
		t.Error(err)
	} else if got, err := s.Lookup(Key{Name: "A"}); got != "hidden" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "null", `["hidden"]`, `{"A": hidden}`, `hidden`} {
		if _, err := Open("file:" + fileOf(t, text, 0o600)); err == nil || strings.Contains(err.Error(), marker) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Open("file:" + fileOf(t, strings.Repeat(" ", maxFile+1), 0o600)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false} {
		path := fileOf(t, "{}", 0o600)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("file:" + path); (err == nil) != ok || err != nil && !strings.HasSuffix(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestHeader(t *testing.T) {
	if text, err := Encode(nil); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	want := Value{"A", arn, "hidden\r\n\x00 ü"}
	text, err := Encode([]Value{want})
	if err != nil || strings.ContainsAny(text, " \r\n") {
		t.Fatal(text, err)
	}
	if got, err := Decode(text); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%v, %v", got, err)
	}
}
