package packed

import (
	"bytes"
	"testing"
	"testing/fstest"
)

func TestPack(t *testing.T) {
	files := fstest.MapFS{"a/b.txt": {Data: []byte("b")}, "a/c.txt": {Data: bytes.Repeat([]byte("c"), 1e5)}, "d.txt": {Data: nil}, "e.json": {}}
	archive, err := Pack(files, "*/*.txt", "d.txt", "a/b.txt")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Pack(files, "d.txt", "a/*")
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("the same files have another archive, %v", err)
	}
	if len(archive) > 1000 {
		t.Errorf("%d bytes", len(archive))
	}
	if err := fstest.TestFS(Files(string(archive)), "a/b.txt", "a/c.txt", "d.txt"); err != nil {
		t.Error(err)
	}
	if text := Text(Files(string(archive)), "a/b.txt"); text != "b" {
		t.Errorf("%q", text)
	}
	if _, err := Pack(files, "*.txt", "*.csv"); err == nil {
		t.Error("no error for a pattern that matches nothing")
	}
}
