package journal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cachedFile is a file in a page cache: each sector written since the last sync may be on disk or
// not.
type cachedFile struct {
	faultyFile
	disk []byte
}

func (f *cachedFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disk = bytes.Clone(f.data)
	return nil
}

// crash returns what the disk has after the machine stopped.
func (f *cachedFile) crash(t *rapid.T) []byte {
	size := rapid.IntRange(min(len(f.disk), len(f.data)), max(len(f.disk), len(f.data))).Draw(t, "size")
	left := make([]byte, size)
	copy(left, f.disk)
	for at := 0; at < size; at += sector {
		if at < len(f.data) && rapid.Bool().Draw(t, "sector written") {
			copy(left[at:min(at+sector, size)], f.data[at:])
		}
	}
	return left
}

// TestCrashKeepsWhatWasSynced stops the machine at any moment, with any of the unsynced sectors
// on disk. The synced records must be read again, then perhaps some of the later ones without a
// gap. The journal continues from there.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &cachedFile{faultyFile: faultyFile{space: 1 << 30, data: []byte(Header)}}
		_ = f.Sync()
		var records []string
		for life := range rapid.IntRange(1, 3).Draw(t, "lives") {
			j := New(f, int64(len(f.data)))
			promised := len(records)
			for i := range rapid.IntRange(0, 20).Draw(t, "records") {
				r := fmt.Sprintf("%d.%d %s", life, i, strings.Repeat("x", rapid.IntRange(0, 3*sector).Draw(t, "length")))
				position, err := j.Append([]byte(r))
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, r)
				if rapid.Bool().Draw(t, "sync") {
					if err := j.Sync(position); err != nil {
						t.Fatal(err)
					}
					promised = len(records)
				}
			}
			j.mu.Lock()
			for j.syncing {
				j.changed.Wait()
			}
			j.mu.Unlock()
			left := f.crash(t)
			got, whole, err := readAll(left)
			if err != nil {
				t.Fatalf("refused, though nothing was damaged: %v", err)
			}
			if len(got) < promised || len(got) > len(records) {
				t.Fatalf("%d records were read, of %d promised and %d written", len(got), promised, len(records))
			}
			if diff := cmp.Diff(records[:len(got)], got); len(got) > 0 && diff != "" {
				t.Fatalf("other records were read:\n%s", diff)
			}
			records = records[:len(got)]
			f = &cachedFile{faultyFile: faultyFile{space: 1 << 30, data: bytes.Clone(left[:whole])}}
			_ = f.Sync()
		}
	})
}

// TestLostSectorsAreDamage checks that zeros are damage, not a torn tail, if a later mark shows
// that the disk had data there.
func TestLostSectorsAreDamage(t *testing.T) {
	f := &cachedFile{faultyFile: faultyFile{space: 1 << 20, data: []byte(Header)}}
	j := New(f, int64(len(Header)))
	for range 20 {
		position, err := j.Append(bytes.Repeat([]byte("x"), sector/2))
		if err == nil {
			err = j.Sync(position)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(f.disk, []byte(markName))
	for at := 0; at+sector < last; at += sector {
		data := bytes.Clone(f.disk)
		clear(data[at : at+sector])
		if _, _, err := readAll(data); err == nil {
			t.Errorf("zeros from byte %d to %d, before the last mark at %d: read as if nothing were wrong", at, at+sector, last)
		}
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("journal", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(root, "journal", nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory in the journal's place: %v", err)
	}
}
