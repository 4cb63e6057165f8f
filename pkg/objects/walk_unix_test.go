//go:build unix

package objects

import (
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
		_, err := s.Upload(t.Context(), stage.Output{From: from, To: "s3://bucket/x/"})
		wants(t, err, "neither a file nor a directory")
	}
}

// TestWhatStaysBehind checks that the upload of a directory copies every file that it can, and names the
// others with the reason.
func TestWhatStaysBehind(t *testing.T) {
	server, s := memory(t)
	dir := t.TempDir() + "/out"
	plant(t, dir, map[string]string{"a": "1", "b/c": "2", "d/e": "3"})
	if err := os.Symlink("nowhere", dir+"/b/latest"); err != nil {
		t.Skip(err)
	}
	_, err := s.Upload(t.Context(), stage.Output{From: dir, To: "s3://bucket/x/"})
	wants(t, err, "b/latest is a broken link; everything else was uploaded (files: 3)")
	if keys := server.Keys(); len(keys) != 3 || server.Get("bucket/x/b/c") == nil || server.Get("bucket/x/d/e") == nil {
		t.Errorf("what arrived: %q", keys)
	}

	if err := syscall.Mkfifo(dir+"/d/pipe", 0o600); err != nil {
		t.Skip(err)
	}
	write(t, dir+"/"+strings.Repeat("n", 200), "4")
	_, err = s.Upload(t.Context(), stage.Output{From: dir, To: "s3://bucket/" + strings.Repeat("long/", 180)})
	wants(t, err, "broken link; 2 more were not uploaded; everything else was uploaded (files: 3)")

	to := t.TempDir()
	_, err = s.Upload(t.Context(), stage.Output{From: dir, To: to})
	wants(t, err, "1 more were not uploaded; everything else was uploaded (files: 4)")
	if there := files(t, to); len(there) != 4 {
		t.Errorf("copied: %q", there)
	}
}

// TestChangedWhileCarried checks that a log which is still written does not block the other files.
func TestChangedWhileCarried(t *testing.T) {
	server, s := memory(t)
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.log": "1", "model": "2", "z": "3"})
	server.Fault = func(r *http.Request) s3mem.Fault {
		if strings.HasSuffix(r.URL.Path, "a.log") {
			write(t, dir+"/a.log", "1 and more")
		}
		return s3mem.Fault{}
	}
	s.Connections = 1
	_, err := s.Upload(t.Context(), stage.Output{From: dir, To: "s3://bucket/x/"})
	wants(t, err, "a.log changed while it was read; everything else was uploaded (files: 2)")
	if server.Get("bucket/x/model") == nil || server.Get("bucket/x/z") == nil {
		t.Errorf("what arrived: %q", server.Keys())
	}
}

// TestCarriedByRoot checks that files and directories which a container's root creates below a user's
// directory belong to that user; existing ones keep their owner.
func TestCarriedByRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	_, s := memory(t)
	out, place := t.TempDir(), t.TempDir()
	plant(t, out, map[string]string{"a/b/c": "1", "d": "2"})
	plant(t, place, map[string]string{"mine": "3"})
	const user = 4242
	if err := os.Chown(place, user, user); err != nil {
		t.Skip(err)
	}
	for _, o := range []stage.Output{{From: out, To: place + "/job/0/"}, {From: out + "/d", To: place + "/job/1/name"}, {From: out + "/d", To: place + "/job/2/"}} {
		the[stage.Moved](t)(s.Upload(t.Context(), o))
	}
	// What is brought is of whom brings it.
	the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: out, To: place + "/brought/"}))
	for name, want := range map[string]uint32{"job": user, "job/0": user, "job/0/a": user, "job/0/a/b": user, "job/0/a/b/c": user, "job/0/d": user,
		"job/1": user, "job/1/name": user, "job/2/d": user, "mine": 0, "brought": 0, "brought/d": 0} {
		info, err := os.Stat(filepath.Join(place, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s belongs to user %d, want %d", name, got, want)
		}
	}
}

// TestNamesInNoEncoding checks that a file whose name cannot be downloaded is not published either.
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
	_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/key", To: dir + "/file"})
	wants(t, err, "write "+dir+"/file", "file too large", "ephemeralStorage")
	if left, err := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
