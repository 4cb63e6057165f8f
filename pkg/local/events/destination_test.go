//go:build unix

package events

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseDestination(t *testing.T) {
	for text, want := range map[string]string{
		"file:/a/b":                        "file:/a/b",
		"file:/a/../b":                     "file:/b",
		"unix:/run/s":                      "unix:/run/s",
		"http://127.0.0.1:80":              "http://127.0.0.1:80/",
		"http://127.9.0.1:8080/x?token=se": "http://127.9.0.1:8080/x",
		"http://[::1]:8080/x":              "http://[::1]:8080/x",
	} {
		if d, err := ParseDestination(text); err != nil || d.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, d, err, want)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if d, err := ParseDestination("file:x"); err != nil || d.name != filepath.Join(here, "x") {
		t.Errorf("a relative path: %v, %v", d, err)
	}
	for text, want := range map[string]string{
		"": "unknown kind", "events.jsonl": "unknown kind", "/a": "unknown kind", "ftp://127.0.0.1/": "unknown kind",
		"file:": "no file name", "file:a/": "no file name", "unix:": "no file name", "file:///a": "not a URL", "file:a\x00b": "zero byte",
		"https://127.0.0.1:1/": "https", "http://localhost:80/": "loopback", "http://10.0.0.1:80/": "loopback", "http://127.0.0.1.example.com:80/": "loopback",
		"http://127.0.0.1/": "port", "http://127.0.0.1:0/": "port", "http://u:p@127.0.0.1:80/": "user", "http://127.0.0.1:80/#x": "fragment",
		"http:127.0.0.1:80": "loopback", "http://127.0.0.1:x/": "URL", "http://0.0.0.0:80/": "loopback", "http://2130706433:80/": "loopback",
	} {
		if d, err := ParseDestination(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, d, err, want)
		}
	}
}

// lines are the lines of a test.
func lines(texts ...string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text+"\n"))
	}
	return all
}

func stateRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	want := func(path, want string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%v; %s is %q, want %q", err, path, text, want)
		}
	}
	f := &fileSender{path: path, state: stateRoot(t)}
	defer f.close()
	send := func(texts ...string) {
		t.Helper()
		if n, err := f.send(t.Context(), lines(texts...)); err != nil || n != len(texts) {
			t.Fatalf("%d lines, %v", n, err)
		}
	}
	send("a", "b")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	// logrotate renames the file.
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	send("c")
	want(path+".1", "a\nb\n")
	want(path, "c\n")
	// A killed engine leaves an incomplete line, which stays.
	f.close()
	if err := os.WriteFile(path, []byte("c\n{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	send("d")
	send("e")
	want(path, "c\n{half\nd\ne\n")
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	root := stateRoot(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		prepare func(path string) error
		want    string
	}{
		"link":      {func(path string) error { return os.Symlink(at("target"), path) }, "not a regular file"},
		"directory": {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"fifo":      {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"readable":  {func(path string) error { return os.WriteFile(path, nil, 0o644) }, "chmod 600"},
		"hardlink": {func(path string) error {
			return errors.Join(os.WriteFile(at("own"), nil, 0o600), os.Link(at("own"), path))
		}, "hard link"},
		"open/x": {func(path string) error {
			return errors.Join(os.Mkdir(at("open"), 0o700), os.Chmod(at("open"), 0o777))
		}, "every user can replace"},
		"parent/x/y": {func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Chmod(at("parent"), 0o777))
		}, "every user can replace"},
		"absent/x": {func(string) error { return nil }, "no such file"},
		"state":    {func(path string) error { return os.Symlink(root.Name(), path) }, "state directory"},
	} {
		if err := c.prepare(at(name)); err != nil {
			t.Fatal(err)
		}
		path := at(name)
		if name == "state" {
			path = filepath.Join(path, "journal")
		}
		f := &fileSender{path: path, state: root}
		if err := f.open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, mode := range map[string]os.FileMode{"sticky": 0o777 | os.ModeSticky, "own": 0o755} {
		sub := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.Mkdir(sub, 0o700), os.Chmod(sub, mode)); err != nil {
			t.Fatal(err)
		}
		f := &fileSender{path: filepath.Join(sub, "x"), state: root}
		if err := f.open(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.close()
	}
	if os.Geteuid() == 0 {
		path := at("foreign")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 1, 1)); err != nil {
			t.Fatal(err)
		}
		f := &fileSender{path: path, state: root}
		if err := f.open(); err == nil || !strings.Contains(err.Error(), "belongs to user 1") {
			t.Errorf("a file of another user: %v", err)
		}
	}
}

// TestFullDisk fills a small file system. The whole lines that fitted count, and the others are written once there is
// space again.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	f := &fileSender{path: filepath.Join(dir, "events"), state: stateRoot(t)}
	defer f.close()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 999)
	var all []string
	for range 100 {
		all = append(all, long)
	}
	left := all
	n, err := f.send(t.Context(), lines(left...))
	if !errors.Is(err, syscall.ENOSPC) || n == 0 || n > 24 {
		t.Fatalf("%d lines were accepted, %v", n, err)
	}
	left = left[n:]
	if n, err := f.send(t.Context(), lines(left...)); !errors.Is(err, syscall.ENOSPC) || n != 0 {
		t.Errorf("on a full disk %d lines were accepted, %v", n, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if n, err = f.send(t.Context(), lines(left[:30]...)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range strings.Lines(string(text)) {
		if line == long+"\n" {
			whole++
		}
	}
	if want := len(all) - len(left) + n; whole != want {
		t.Errorf("%d whole lines, want %d", whole, want)
	}
}

func TestHTTP(t *testing.T) {
	var got []string
	answers := []int{200, 500, 204, 302, 202}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" || r.URL.RawQuery != "token=secret" {
			t.Errorf("%v: %s %s %v", err, r.Method, r.URL, r.Header)
		}
		got = append(got, string(text))
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	to, err := ParseDestination(server.URL + "/x?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	s, err := to.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, want := range []struct {
		n    int
		text string
	}{{1, "500"}, {1, "302"}} {
		if n, err := s.send(t.Context(), lines("a", "b", "c")); n != want.n || err == nil || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%d events were acknowledged, %v; want %d and an error with %q", n, err, want.n, want.text)
		}
	}
	if n, err := s.send(t.Context(), lines("d")); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if text := strings.Join(got, " "); text != "a b a b d" {
		t.Errorf("requests: %s", text)
	}
	server.Close()
	_, _ = s.send(t.Context(), lines("e")) // notices that the idle connection is closed
	if n, err := s.send(t.Context(), lines("e")); n != 0 || !errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "secret") {
		t.Errorf("without a server: %d, %v", n, err)
	}
}

func TestSlowHTTP(t *testing.T) {
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	s := newHTTPSender(server.URL)
	defer s.close()
	if n, err := s.send(ctx, lines("a")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
}

// socketPath returns a short path, since that of a socket is limited.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func TestSocket(t *testing.T) {
	s := &socketSender{path: socketPath(t)}
	defer s.close()
	if n, err := s.send(t.Context(), lines("a")); n != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a socket: %d, %v", n, err)
	}
	listener, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	read := make(chan string, 10)
	go func() {
		for first := true; ; first = false {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if first { // this reader ends without reading everything
				if _, err := io.ReadFull(c, make([]byte, 3)); err != nil {
					t.Error(err)
				}
				c.Close()
				continue
			}
			for lines := bufio.NewScanner(c); lines.Scan(); {
				read <- lines.Text()
			}
		}
	}()
	if n, err := s.send(t.Context(), lines("a", "b")); n != 0 || err == nil {
		t.Errorf("the reader ended: %d lines were acknowledged, %v", n, err)
	}
	if n, err := s.send(t.Context(), lines("a", "b")); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if a, b := <-read, <-read; a != "a" || b != "b" {
		t.Errorf("read %q and %q", a, b)
	}
}

func TestSocketsOfOthersAreRefused(t *testing.T) {
	path := socketPath(t)
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(os.Symlink(path, path+"-link"), os.WriteFile(path+"-file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path + "-link", path + "-file"} {
		s := &socketSender{path: name}
		if n, err := s.send(t.Context(), lines("a")); n != 0 || err == nil || !strings.Contains(err.Error(), "is not a socket") {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		s := &socketSender{path: path}
		if n, err := s.send(t.Context(), lines("a")); n != 0 || err == nil || !strings.Contains(err.Error(), "belongs to user 1") {
			t.Errorf("a socket of another user: %d, %v", n, err)
		}
	}
}

// TestSocketThatDoesNotRead checks that nothing is acknowledged and that the sender gives up after a while.
func TestSocketThatDoesNotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system cannot tell what was read")
	}
	path := socketPath(t)
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	synctest.Test(t, func(t *testing.T) {
		s := &socketSender{path: path}
		defer s.close()
		started := time.Now()
		if n, err := s.send(t.Context(), lines("a", "b")); n != 0 || err == nil || !strings.Contains(err.Error(), "is not reading") {
			t.Errorf("%d, %v", n, err)
		}
		if took := time.Since(started); took < socketTimeout || took > socketTimeout+time.Second {
			t.Errorf("the sender gave up after %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err := s.send(ctx, lines("a")); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the engine is stopping: %d, %v", n, err)
		}
	})
}
