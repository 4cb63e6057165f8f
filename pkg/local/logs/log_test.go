//go:build unix

package logs

import (
	"os"
	"path/filepath"
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
