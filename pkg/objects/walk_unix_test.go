//go:build unix

package objects

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
)

func TestSpecialFiles(t *testing.T) {
	_, s := memory(t)
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Skip(err)
	}
	for _, from := range []string{dir, dir + "/pipe", "/dev/null"} {
		_, err := s.Take(t.Context(), stage.Output{From: from, To: "s3://bucket/x/"})
		wants(t, err, "neither a file nor a directory")
	}
}

// TestNamesInNoEncoding: what a container could not be brought is not published either.
func TestNamesInNoEncoding(t *testing.T) {
	_, s := memory(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/\xff\xfe", []byte("x"), 0o600); err != nil {
		t.Skip(err)
	}
	for _, at := range []string{t.TempDir(), "s3://bucket/staging"} {
		_, _, err := s.Publish(t.Context(), at, dir)
		wants(t, err, "the name is not UTF-8")
	}
}

// TestFullDisk meets the end of the disk while it writes, in a process of its own: the
// limit holds for all that a process writes.
func TestFullDisk(t *testing.T) {
	const inChild = "BATCHCTL_TEST_LIMITED"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.testlogfile=", "-test.v")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	server, s := memory(t)
	server.Put("bucket/key", &s3mem.Object{Body: content(big)})
	dir := t.TempDir()
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Bring(t.Context(), stage.Input{From: "s3://bucket/key", To: dir + "/file"})
	wants(t, err, "write "+dir+"/file", "file too large", "ephemeralStorage")
	if left, err := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
