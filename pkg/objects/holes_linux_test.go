package objects

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/batchctl/batchctl/pkg/stage"
)

// TestHolesStayHoles checks that the copy of a sparse file of 5 GB takes little space too.
func TestHolesStayHoles(t *testing.T) {
	const size = 5 << 30
	_, s := memory(t)
	dir := t.TempDir()
	if device, free, known := space(dir); !known || free < 1<<20 || device == 0 {
		t.Skip("the free space is unknown")
	}
	parts := map[int64]string{0: "first", 1 << 30: "middle", 4<<30 + 12345: "last"}
	for name, parts := range map[string]map[int64]string{"data": parts, "ends with data": {size - 4: "tail"}, "nothing": nil} {
		from := filepath.Join(dir, name)
		f, err := os.Create(from)
		if err != nil {
			t.Fatal(err)
		}
		for at, text := range parts {
			if _, err := f.WriteAt([]byte(text), at); err != nil {
				t.Skip("no file of this size:", err)
			}
		}
		if err := f.Truncate(size); err != nil {
			t.Skip("no file of this size:", err)
		}
		f.Close()
		if blocks(t, from) > 1<<20 {
			t.Skip("this file system keeps no holes")
		}
		out, in := filepath.Join(dir, "out", name), filepath.Join(dir, "in", name)
		if _, err := s.Upload(t.Context(), stage.Output{From: from, To: out}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Download(t.Context(), stage.Input{From: out, To: in}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{out, in} {
			info, err := os.Stat(path)
			if err != nil || info.Size() != size {
				t.Fatalf("%s: %v, %v", path, info, err)
			}
			if on := blocks(t, path); on > 1<<20 {
				t.Errorf("%s takes %d bytes on disk", path, on)
			}
			copied, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for at, text := range parts {
				got := make([]byte, len(text))
				if _, err := copied.ReadAt(got, at); err != nil || !bytes.Equal(got, []byte(text)) {
					t.Errorf("%s at %d: %q, %v", path, at, got, err)
				}
			}
			copied.Close()
		}
	}
}

// blocks returns how many bytes a file takes on disk.
func blocks(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
