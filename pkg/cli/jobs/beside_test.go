package jobs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBesideIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.py", "data/in.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"train.py": "train.py", "./train.py": "train.py", "/no-such-root/scratch/1/train.py": "train.py", "/no-such-root/data/in.txt": "data/in.txt",
		"data": "data", "data/in.txt": "data/in.txt", "other/in.txt": "", "in.txt": "", "../" + filepath.Base(dir) + "/train.py": "",
		filepath.Join(dir, "train.py"): "", "/no-such-root/gone.py": "", ".": "", "/": "", "": "", "a\x00b": "",
	} {
		if got := besideIn(dir, path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
