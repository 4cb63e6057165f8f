//go:build unix

package document

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestDirectoryOf(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(base, name) }
	t.Chdir(base)
	if err := errors.Join(os.Mkdir("d", 0o700), os.WriteFile("d/job.json", nil, 0o600), syscall.Mkfifo("d/pipe", 0o600),
		os.Symlink("d/job.json", "link"), os.Symlink("/dev/stdin", "in"), os.Symlink("in", "in2"), os.Symlink("loop", "loop"), os.Symlink("/dev/null", "d/null"),
		os.Symlink("/dev/fd", "fds")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"-": ".", "job.json": ".", "d/job.json": "d", in("d/job.json"): in("d"), "d/none.json": "d", "d/pipe": "d", in("link"): base, in("loop"): base,
		"/dev/stdin": ".", "/dev/fd/0": ".", "/dev/null": ".", in("in"): ".", in("in2"): ".", "d/null": ".", in("fds/0"): ".",
	}
	if _, err := os.Stat("/proc/self/fd/0"); err == nil {
		cases["/proc/self/fd/0"], cases["/proc/thread-self/fd/0"] = ".", "."
		cases["/proc/self/cwd/d/job.json"], cases["/proc/self/cwd/d/pipe"] = in("d"), in("d")
	}
	for document, want := range cases {
		if got := DirectoryOf(document); got != want {
			t.Errorf("%s: got %s, want %s", document, got, want)
		}
	}
}
