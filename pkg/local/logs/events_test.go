package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// openStore returns a store in a directory, which it creates.
func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return NewStore(root, 0)
}

// TestPutPages puts random events, and reads them forward and backward in pages of random sizes, also with a store
// that finds an incomplete event at the end of the file.
func TestPutPages(t *testing.T) {
	dir, streams := t.TempDir(), 0
	s, large := openStore(t, dir), strings.Repeat("x", MaxEventsBytes/2)
	rapid.Check(t, func(r *rapid.T) {
		streams++
		id := fmt.Sprint("s", streams)
		message := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.StringN(1, 20, -1), rapid.Just("two\nlines"), rapid.Just(large))
		var want []string
		for _, batch := range rapid.SliceOfN(rapid.SliceOfN(message, 1, 3), 0, 4).Draw(r, "batches") {
			var events []Event
			for _, m := range batch {
				events = append(events, Event{Time: int64(len(want)), Ingested: int64(1000 + len(want)), Message: m})
				want = append(want, m)
			}
			if n, err := s.Put(id, events); err != nil || n != len(want) {
				r.Fatalf("put: %d, %v, want %d", n, err, len(want))
			}
		}
		if rapid.Bool().Draw(r, "crash") {
			s = openStore(t, dir)
			f, err := os.OpenFile(filepath.Join(dir, eventsFile(id)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if err == nil {
				_, err = f.WriteString(rapid.SampledFrom([]string{"", `{"time":1,"mess`, "\x00\x00\x00", "\x00\n\x00"}).Draw(r, "torn"))
			}
			if err != nil || f.Close() != nil {
				r.Fatal(err)
			}
			if rapid.Bool().Draw(r, "put again") {
				if _, err := s.Put(id, []Event{{Time: int64(len(want)), Ingested: int64(1000 + len(want)), Message: "again"}}); err != nil {
					r.Fatal(err)
				}
				want = append(want, "again")
			}
		}
		log, err := s.OpenPut(id)
		if err != nil {
			r.Fatal(err)
		}
		defer log.Close()
		var forward, backward []string
		for at := int64(0); ; {
			lines, next, err := log.Forward(at, rapid.IntRange(1, 5).Draw(r, "limit"))
			if err != nil {
				r.Fatal(err)
			}
			if len(lines) == 0 {
				break
			}
			for _, l := range lines {
				forward = append(forward, string(l.Text))
				if log.Time(l.End) != l.Start || log.Ingested(l.End) != 1000+l.Start {
					r.Fatalf("event %d has the times %d and %d", l.Start, log.Time(l.End), log.Ingested(l.End))
				}
			}
			at = next
		}
		for at := log.End; at > 0; {
			lines, from, err := log.Backward(at, rapid.IntRange(1, 5).Draw(r, "limit"))
			if err != nil || len(lines) == 0 {
				r.Fatalf("backward from %d: %d events, %v", at, len(lines), err)
			}
			slices.Reverse(lines)
			for _, l := range lines {
				backward = append(backward, string(l.Text))
			}
			at = from
		}
		slices.Reverse(backward)
		if !slices.Equal(forward, want) || !slices.Equal(backward, want) {
			r.Fatalf("%d events forward, %d backward, want %d", len(forward), len(backward), len(want))
		}
	})
}
