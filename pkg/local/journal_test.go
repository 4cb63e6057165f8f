package local

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// faultyFile is a file on a disk that fills up or breaks.
type faultyFile struct {
	mu    sync.Mutex
	data  []byte
	space int // bytes left
	sync  error
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
	f.space += len(f.data) - int(size)
	f.data = f.data[:size]
	return nil
}

func (f *faultyFile) Sync() error  { return f.sync }
func (f *faultyFile) Close() error { return nil }

// FuzzReplay gives the engine complete records without meaning: it must report an error and not
// panic.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"at":1,"events":[{"launched":{"job":"x"}}]}`))
	f.Add([]byte(`{"at":1,"events":[{"moved":{"job":"x","to":"RUNNING"}}]}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &durableModel{model: model.New(nil)}
		for line := range bytes.Lines(data) {
			if d.replayed(line) != nil {
				return
			}
		}
	})
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
	torn := []byte("100 00000000 {\"at\":1")
	if err := os.WriteFile(path, append([]byte(journal.Header), torn...), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	e, err = Open(Options{Dir: dir, Executor: &script{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if got, _ := os.ReadFile(filepath.Join(dir, "journal.torn")); !bytes.Equal(got, torn) {
		t.Errorf("journal.torn has %q, want %q", got, torn)
	}
	if !strings.Contains(log.String(), "bytes=20") {
		t.Errorf("the log does not report that 20 bytes were cut off: %s", log.String())
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
		t.Errorf("open: %v, want an error that names %s and tells what to do", err, path)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
		t.Error("the damaged journal was changed")
	}
}

// TestReadingChangesNothing checks that describing and listing adds nothing to the journal.
func TestReadingChangesNothing(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	size := w.engine.journal.Size()
	w.job(id)
	if _, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("default")}); err != nil {
		t.Error(err)
	}
	if _, err := w.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{}); err != nil {
		t.Error(err)
	}
	if w.engine.journal.Size() != size {
		t.Errorf("the journal grew from %d to %d bytes", size, w.engine.journal.Size())
	}
}
