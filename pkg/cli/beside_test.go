package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	jobs := filepath.Join(dir, "here", "jobs")
	if err := os.MkdirAll(filepath.Join(jobs, "lists"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret": "root:x", "here/cwd.csv": "a", "here/jobs/lists/in.csv": "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.csv": filepath.Join(dir, "secret"), "in.csv": "lists/in.csv", "gone.csv": "nothing"} {
		if err := os.Symlink(to, filepath.Join(jobs, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(dir, "here"))
	read := beside(filepath.Join("jobs", "job.json"))
	for path, want := range map[string]string{
		"lists/in.csv": "b", "in.csv": "b", "../cwd.csv": "a", filepath.Join(jobs, "in.csv"): "b",
		"../../secret": "outside", "out.csv": "outside", "/etc/passwd": "outside",
		"none.csv": "no such file", "gone.csv": "no such file", "lists": "no regular file",
	} {
		src, err := read(path)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = src.Text
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
