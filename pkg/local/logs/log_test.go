//go:build unix

package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const mostBytes = 1 << 20

// TestLogLimitWhileTheJobPrints checks that the file never keeps more than the limit, and that no
// reader sees output that will be cut off.
func TestLogLimitWhileTheJobPrints(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	store := NewStore(root, mostBytes)
	l, err := store.Create("11111111-1111-1111-1111-111111111111")
	if err != nil {
		t.Fatal(err)
	}
	store.watch.remove(l) // this test samples the log itself
	path := filepath.Join(root.Name(), logFile(l.stream))
	end := int64(mostBytes + len(limitNotice(mostBytes)))
	for range 3 {
		if _, err := l.File.WriteString(strings.Repeat("x\n", mostBytes)); err != nil { // twice the limit
			t.Fatal(err)
		}
		l.sample()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != end || used > 2*mostBytes {
			t.Errorf("%d bytes, %d on disk; want %d", info.Size(), used, end)
		}
	}
	if _, err := l.File.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &Stream{file: file}
	if err := s.measure(true, 0, mostBytes); err != nil || s.End != end {
		t.Errorf("a reader sees %d bytes, %v; want %d", s.End, err, end)
	}
	if !l.Close() {
		t.Error("close does not report the cut")
	}
	times, err := root.ReadFile(timesFile(l.stream))
	if samples := parseSamples(times); err != nil || len(samples) != 1 || samples[0].size != end {
		t.Errorf("the times are %q, %v", times, err)
	}
}

// TestEmptyLogsAreReused checks that a log gets the file of an ended attempt only if that attempt wrote nothing and
// nothing can write to the file, and that the log of the ended attempt stays empty.
func TestEmptyLogsAreReused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows whether another program has a file open")
	}
	for name, c := range map[string]struct {
		leave  func(*testing.T, *Log) // what the command did
		bytes  int64
		reused bool
	}{
		"nothing written": {leave: func(*testing.T, *Log) {}, reused: true},
		"output": {bytes: 2, leave: func(t *testing.T, l *Log) {
			if _, err := l.File.WriteString("x\n"); err != nil {
				t.Fatal(err)
			}
		}},
		"another mode": {leave: func(t *testing.T, l *Log) {
			if err := l.File.Chmod(0o644); err != nil {
				t.Fatal(err)
			}
		}},
		"another name": {leave: func(t *testing.T, l *Log) {
			if err := l.root.Link(logFile(l.stream), "elsewhere"); err != nil {
				t.Fatal(err)
			}
		}},
		"open to read": {leave: func(t *testing.T, l *Log) {
			reader, err := l.root.Open(logFile(l.stream))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = reader.Close() })
		}},
		"open to write": {leave: func(t *testing.T, l *Log) {
			fd, err := syscall.Dup(int(l.File.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Close(fd) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, t.TempDir())
			first, err := store.Create("first")
			if err != nil {
				t.Fatal(err)
			}
			was, err := first.File.Stat()
			if err != nil {
				t.Fatal(err)
			}
			c.leave(t, first)
			first.CloseLaunched()
			second, err := store.Create("second")
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			if is, err := second.File.Stat(); err != nil || os.SameFile(was, is) != c.reused {
				t.Errorf("the file is used again: %t, %v; want %t", os.SameFile(was, is), err, c.reused)
			}
			if _, err := second.File.WriteString("second\n"); err != nil {
				t.Fatal(err)
			}
			reader, err := store.root.Open(logFile("second"))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if !store.isNamed("second", reader) || store.isNamed("first", reader) {
				t.Error("a reader that opened the file too early sees the output of the second log in the first")
			}
			for stream, want := range map[string]int64{"first": c.bytes, "second": 7} {
				s, err := store.Open(stream, 1, true)
				if err != nil {
					t.Fatal(err)
				}
				if s.End != want {
					t.Errorf("the log %s has %d bytes, want %d", stream, s.End, want)
				}
				s.Close()
			}
			if _, err := store.Open("first", 1, false); c.reused && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the log of a command that did not start: %v; want that it does not exist", err)
			}
		})
	}
}
