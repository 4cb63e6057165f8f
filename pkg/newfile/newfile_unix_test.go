//go:build unix

package newfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteInPlace: a new file never takes the name of a pipe, of a device, or of an open file, such as /dev/stdout. As
// root, that would end the device for the whole machine.
func TestWriteInPlace(t *testing.T) {
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // a writer does not wait for it
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	open, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, path := range []string{pipe, link, fmt.Sprintf("/dev/fd/%d", open.Fd())} {
		if err := Write(path, ForAll, Bytes([]byte("text"))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	got := make([]byte, 8)
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != "texttext" {
		t.Errorf("the pipe holds %q, %v", got, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("the open file holds %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
