package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// book returns a journal with three records, and where the line of each begins. A mark before
// each record shows that the disk had everything before it.
func book() (data []byte, starts []int, records []string) {
	data = []byte(Header)
	for i := range 3 {
		r := fmt.Sprintf(`{"job":"job-%d","reason":%q}`, i, strings.Repeat("x", i*40))
		records = append(records, r)
		data = appendMark(data, int64(len(data)))
		starts = append(starts, len(data))
		data = appendFrame(data, []byte(r))
	}
	return data, starts, records
}

func readAll(data []byte) (got []string, whole int64, err error) {
	whole, err = replay(data, func(r []byte) error {
		got = append(got, string(r))
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
		want := 0
		for _, s := range starts {
			if cut > s+bytes.IndexByte(data[s:], '\n') {
				want++
			}
		}
		if diff := cmp.Diff(records[:want], got); len(got) != want || want > 0 && diff != "" {
			t.Fatalf("cut at %d: %d records, want %d\n%s", cut, len(got), want, diff)
		}
		end := 0
		if cut >= len(Header) {
			end = bytes.LastIndexByte(data[:cut], '\n') + 1
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
		{"batchctl journal 3\n", "newer batchctl"},
		{"PK\x03\x04 something else entirely", "is not a journal of batchctl"},
		{Header + string(appendFrame(nil, []byte(`[`))), "byte 19"},
	} {
		_, err := replay([]byte(c.data), func([]byte) error { return errors.New("not understood") })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.data, err, c.want)
		}
	}
}

func FuzzReplay(f *testing.F) {
	data, _, _ := book()
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Add([]byte(Header + "5 00000000 hello\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := replay(data, func([]byte) error { return nil })
		if whole < 0 || whole > int64(len(data)) {
			t.Fatalf("%d of %d bytes are whole", whole, len(data))
		}
		if err != nil {
			return
		}
		// What was whole stays so without the rest.
		if again, err := replay(data[:whole], func([]byte) error { return nil }); err != nil || again != whole {
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

func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(p), len(f.data)-int(at)+f.space)
	grown := max(int(at)+n-len(f.data), 0)
	f.data = append(f.data, make([]byte, grown)...)
	f.space -= grown
	copy(f.data[at:], p[:n])
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
		f := &faultyFile{data: []byte(Header), space: space}
		j := New(f, int64(len(Header)))
		var kept []string
		for _, r := range records {
			if _, err := j.Append([]byte(r)); err == nil {
				kept = append(kept, r)
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		f.space = 1 << 20
		if _, err := j.Append([]byte(records[0])); err != nil {
			t.Fatalf("append with free space: %v", err)
		}
		got, whole, err := readAll(f.data)
		if diff := cmp.Diff(append(kept, records[0]), got); err != nil || diff != "" || whole != int64(len(f.data)) {
			t.Fatalf("space %d: %v\n%s", space, err, diff)
		}
	}
}

func TestAppendThatCannotBeCutBack(t *testing.T) {
	f := &faultyFile{space: 10, truncate: io.ErrUnexpectedEOF}
	j := New(f, 0)
	if _, err := j.Append([]byte("{}")); err == nil {
		t.Fatal("written to a full disk")
	}
	f.space = 1 << 20
	if _, err := j.Append([]byte("{}")); err == nil {
		t.Error("a record was put behind half of another one")
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	f := &faultyFile{space: 1 << 20, sync: syscall.EIO}
	j := New(f, 0)
	position, err := j.Append([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(position); !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v, want EIO", err)
	}
	f.sync = nil
	if err := j.Sync(position); err == nil {
		t.Error("a second sync promised what the first one could not")
	}
	if _, err := j.Append([]byte("{}")); err == nil {
		t.Error("the journal continues after a failed sync")
	}
	if f.syncs != 1 {
		t.Errorf("synced %d times, want 1", f.syncs)
	}
}

func TestSyncsAreShared(t *testing.T) {
	f := &faultyFile{space: 1 << 30}
	j := New(f, 0)
	var last int64
	for range 100 {
		p, err := j.Append([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	var group sync.WaitGroup
	for p := range last {
		group.Go(func() {
			if err := j.Sync(p + 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if f.syncs != 1 {
		t.Errorf("%d waiters caused %d syncs, want 1: everything was written before the first", last, f.syncs)
	}
}

// slowFile is a file whose sync takes until the test releases it.
type slowFile struct {
	faultyFile
	fails    error
	working  chan bool // told when the disk begins
	done     chan bool
	atDisk   bool
	meantime int // writes while the disk worked
}

func (f *slowFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	fails := f.fails
	if f.atDisk {
		f.meantime++
	}
	f.mu.Unlock()
	if fails != nil {
		return 0, fails
	}
	return f.faultyFile.WriteAt(p, at)
}

func (f *slowFile) Sync() error {
	f.set(true)
	f.working <- true
	<-f.done
	f.set(false)
	return nil
}

func (f *slowFile) set(atDisk bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.atDisk = atDisk
}

func (f *slowFile) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = err
}

func (f *slowFile) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(bytes.TrimRight(f.data, "\x00"))
}

// appendMeanwhile adds a record while the disk syncs another one.
func appendMeanwhile(t *testing.T, f *slowFile) (j *Journal, first chan error, second int64) {
	t.Helper()
	f.working, f.done = make(chan bool), make(chan bool)
	j = New(f, 0)
	position, err := j.Append([]byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	first = make(chan error, 1)
	go func() { first <- j.Sync(position) }()
	<-f.working
	if second, err = j.Append([]byte("second")); err != nil {
		t.Fatal(err)
	}
	return j, first, second
}

func TestAppendWhileTheDiskWorks(t *testing.T) {
	for _, room := range []bool{true, false} {
		f := &slowFile{faultyFile: faultyFile{space: map[bool]int{true: 1 << 20, false: 100}[room]}}
		j, first, second := appendMeanwhile(t, f)
		if want := map[bool]int{true: 0, false: 1}[room]; f.meantime != want {
			t.Errorf("room reserved %v: %d writes while the disk worked, want %d", room, f.meantime, want)
		}
		written := make(chan error, 1)
		go func() { written <- j.Written(second) }()
		f.done <- true
		if err := errors.Join(<-first, <-written); err != nil {
			t.Error(err)
		}
		if got, want := f.text(), string(appendFrame(nil, []byte("first")))+string(appendFrame(nil, []byte("second"))); got != want {
			t.Errorf("the file has %q, want %q", got, want)
		}
		go func() { <-f.working; f.done <- true }()
		if err := j.Sync(second); err != nil {
			t.Error(err)
		}
	}
}

// TestWaitingRecordFails checks that the journal is broken if a record that waited for the disk
// cannot be written: other callers count on it.
func TestWaitingRecordFails(t *testing.T) {
	f := &slowFile{faultyFile: faultyFile{space: 1 << 20}}
	j, first, second := appendMeanwhile(t, f)
	f.fail(syscall.EIO)
	f.done <- true
	if err := <-first; err != nil {
		t.Errorf("the first record is on disk: %v", err)
	}
	if err := j.Written(second); !errors.Is(err, syscall.EIO) {
		t.Errorf("the second record was not written, and no error reports it: %v", err)
	}
	if _, err := j.Append([]byte("third")); !errors.Is(err, syscall.EIO) {
		t.Errorf("the journal continues: %v", err)
	}
	if got := f.text(); got != string(appendFrame(nil, []byte("first"))) {
		t.Errorf("the file has %q", got)
	}
}
