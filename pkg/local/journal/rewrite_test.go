package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, _, records := book()
	path := filepath.Join(dir, "journal")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("not understood")
	n := 0
	err = Rewrite(root, "journal", func(r []byte) ([]byte, error) {
		if n++; n == 2 {
			return nil, broken
		}
		return r, nil
	})
	if now, _ := os.ReadFile(path); !errors.Is(err, broken) || string(now) != string(data) {
		t.Fatalf("a rewrite that fails: %v, and the journal is %q", err, now)
	}
	n = 0
	err = Rewrite(root, "journal", func(r []byte) ([]byte, error) {
		if n++; n == 2 {
			return nil, nil
		}
		return r, nil
	})
	now, _ := os.ReadFile(path)
	got, _, bad := readAll(now)
	if err != nil || bad != nil || len(got) != 2 || got[0] != records[0] || got[1] != records[2] {
		t.Errorf("%v, %v: %q", err, bad, got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("files are left: %v", entries)
	}
}
