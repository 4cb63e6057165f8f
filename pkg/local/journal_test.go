package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// book is a journal with three records, and where each begins.
func book() (data []byte, starts []int, records []record) {
	data = []byte(journalHeader)
	for i := range 3 {
		r := record{At: int64(1000 + i), Events: []event{{Stopped: &stop{Job: fmt.Sprintf("job-%d", i), Reason: strings.Repeat("x", i*40)}}}}
		records = append(records, r)
		starts = append(starts, len(data))
		payload, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		data = append(data, frame(payload)...)
	}
	return data, starts, records
}

func readAll(data []byte) (got []record, whole int64, err error) {
	whole, err = replay(data, func(r record) error {
		got = append(got, r)
		return nil
	})
	return got, whole, err
}

func TestReplayOfTornJournal(t *testing.T) {
	data, starts, records := book()
	for cut := range len(data) + 1 {
		got, whole, err := readAll(data[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want, end := 0, 0
		if cut >= len(journalHeader) {
			end = len(journalHeader)
		}
		for i, s := range append(starts[1:], len(data)) {
			if cut >= s {
				want, end = i+1, s
			}
		}
		if diff := cmp.Diff(records[:want], got); len(got) != want || want > 0 && diff != "" {
			t.Fatalf("cut at %d: %d records, want %d\n%s", cut, len(got), want, diff)
		}
		if whole != int64(end) {
			t.Fatalf("cut at %d: %d bytes are whole, want %d", cut, whole, end)
		}
	}
}

func TestReplayWithFlippedBits(t *testing.T) {
	data, starts, records := book()
	for at := starts[0]; at < len(data); at++ {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			got, _, err := readAll(bad)
			last := at >= starts[2]
			if last && (err != nil || len(got) != 2) {
				t.Fatalf("bit %d of byte %d, in the last record: %d records, %v", bit, at, len(got), err)
			}
			if !last && err == nil {
				t.Fatalf("bit %d of byte %d, before the last record: read as if nothing were wrong", bit, at)
			}
			for i := range got {
				if diff := cmp.Diff(records[i], got[i]); diff != "" {
					t.Fatalf("bit %d of byte %d changed record %d:\n%s", bit, at, i, diff)
				}
			}
		}
	}
}

func TestReplayRefusesOtherFiles(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"batchctl journal 2\n", "newer batchctl"},
		{"PK\x03\x04 something else entirely", "does not begin as a journal"},
		{journalHeader + string(frame([]byte(`{"at":1,"events":[{"launched":{"job":"x"}}]}`))), "byte 19"},
		{journalHeader + string(frame([]byte(`[`))), "byte 19"},
	} {
		_, err := replay([]byte(c.data), func(r record) error { return newModel(nil).apply(r.At, r.Events[0]) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.data, err, c.want)
		}
	}
}

func FuzzReplay(f *testing.F) {
	data, _, _ := book()
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Add([]byte(journalHeader + "5 00000000 hello\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newModel(nil)
		whole, err := replay(data, func(r record) error {
			for _, v := range r.Events {
				if err := m.apply(r.At, v); err != nil {
					return err
				}
			}
			return nil
		})
		if whole < 0 || whole > int64(len(data)) {
			t.Fatalf("%d of %d bytes are whole", whole, len(data))
		}
		if err != nil {
			return
		}
		// What was whole stays so without the rest.
		if again, err := replay(data[:whole], func(record) error { return nil }); err != nil || again != whole {
			t.Fatalf("replay of the whole part: %d, %v; want %d", again, err, whole)
		}
	})
}

// faultyFile is a file on a disk that fills up or breaks.
type faultyFile struct {
	mu       sync.Mutex
	data     []byte
	space    int // bytes left
	sync     error
	truncate error
	syncs    int
}

func (f *faultyFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(p), f.space)
	f.data = append(f.data, p[:n]...)
	f.space -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *faultyFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.truncate != nil {
		return f.truncate
	}
	f.space += len(f.data) - int(size)
	f.data = f.data[:size]
	return nil
}

func (f *faultyFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	return f.sync
}

func (f *faultyFile) Close() error { return nil }

func TestAppendOnFullDisk(t *testing.T) {
	_, _, records := book()
	for space := range 400 {
		f := &faultyFile{data: []byte(journalHeader), space: space}
		j := newJournal(f, int64(len(journalHeader)))
		var kept []record
		for _, r := range records {
			if _, err := j.append(r); err == nil {
				kept = append(kept, r)
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		f.space = 1 << 20
		if _, err := j.append(records[0]); err != nil {
			t.Fatalf("space is back, and append says %v", err)
		}
		got, whole, err := readAll(f.data)
		if diff := cmp.Diff(append(kept, records[0]), got); err != nil || diff != "" || whole != int64(len(f.data)) {
			t.Fatalf("space %d: %v\n%s", space, err, diff)
		}
	}
}

func TestAppendThatCannotBeCutBack(t *testing.T) {
	f := &faultyFile{space: 10, truncate: io.ErrUnexpectedEOF}
	j := newJournal(f, 0)
	if _, err := j.append(record{At: 1}); err == nil {
		t.Fatal("written to a full disk")
	}
	f.space = 1 << 20
	if _, err := j.append(record{At: 2}); err == nil {
		t.Error("a record was put behind half of another one")
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	f := &faultyFile{space: 1 << 20, sync: syscall.EIO}
	j := newJournal(f, 0)
	position, err := j.append(record{At: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.sync(position); !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v, want EIO", err)
	}
	f.sync = nil
	if err := j.sync(position); err == nil {
		t.Error("a second sync promised what the first one could not")
	}
	if _, err := j.append(record{At: 2}); err == nil {
		t.Error("the journal goes on after a failed sync")
	}
	if f.syncs != 1 {
		t.Errorf("synced %d times, want 1", f.syncs)
	}
}

func TestSyncsAreShared(t *testing.T) {
	f := &faultyFile{space: 1 << 30}
	j := newJournal(f, 0)
	var last int64
	for i := range 100 {
		p, err := j.append(record{At: int64(i)})
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	var group sync.WaitGroup
	for p := range last {
		group.Go(func() {
			if err := j.sync(p + 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if f.syncs != 1 {
		t.Errorf("%d waiters made %d syncs, want 1: everything was written before the first", last, f.syncs)
	}
}

func TestOpenKeepsTheTornPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	e, err := Open(Options{Dir: dir, Executor: &script{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "journal")
	data, _, _ := book()
	torn := data[len(journalHeader) : len(journalHeader)+20]
	if err := os.WriteFile(path, append([]byte(journalHeader), torn...), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	e, err = Open(Options{Dir: dir, Executor: &script{}, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if got, _ := os.ReadFile(filepath.Join(dir, "journal.torn")); !bytes.Equal(got, torn) {
		t.Errorf("journal.torn holds %q, want %q", got, torn)
	}
	if !strings.Contains(said.String(), "bytes=20") {
		t.Errorf("the log does not say that 20 bytes were cut off: %s", said.String())
	}
}

func TestOpenRefusesADamagedJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir})
	for _, name := range []string{"one", "two", "three"} {
		w.register(name, "1", "64")
	}
	if err := w.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "journal")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, []byte("two"))] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir, Executor: &script{}})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore the file") {
		t.Errorf("open: %v, want an error that names %s and says what to do", err, path)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
		t.Error("the damaged journal was changed")
	}
}
