package jsonlines

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	add := func(text string) {
		t.Helper()
		if err := Append(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	add("1\n")
	add("2\n3\n")
	if err := os.Truncate(path, 5); err != nil { // a crash
		t.Fatal(err)
	}
	add("4\n")
	if text, err := os.ReadFile(path); err != nil || string(text) != "1\n2\n3\n4\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Append(filepath.Join(path, "below"), nil); err == nil {
		t.Error("appends below a file")
	}
}
