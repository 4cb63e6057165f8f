package once

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func entry(id string) Entry {
	return Entry{Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Target: "local", Queue: "cpu", Name: "train", ID: id}
}

func TestLedger(t *testing.T) {
	l := &Ledger{Dir: filepath.Join(t.TempDir(), "state", "batchctl"), Target: "local"}
	if got, err := l.Entries(); got != nil || err != nil {
		t.Fatal(got, err)
	}
	if err := errors.Join(l.Append(entry("1"), entry("2")), l.Append(entry("3"))); err != nil {
		t.Fatal(err)
	}
	got, err := l.Entries()
	if diff := cmp.Diff([]Entry{entry("1"), entry("2"), entry("3")}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	text, _ := os.ReadFile(l.path())
	if want := `{"time":"2026-01-02T03:04:05.678Z","target":"local","queue":"cpu","name":"train","id":"1","sum":"cddfbe933de368a9"}` + "\n"; !strings.HasPrefix(string(text), want) {
		t.Errorf("%s", text)
	}
	dir, _ := os.Stat(l.Dir)
	file, _ := os.Stat(l.path())
	if dir.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 {
		t.Errorf("modes %v, %v", dir.Mode(), file.Mode())
	}
}

// TestLedgerTorn cuts the file at every byte. Complete lines are read, so are lines that are
// appended later, and then the torn line is reported.
func TestLedgerTorn(t *testing.T) {
	whole := &Ledger{Dir: t.TempDir()}
	if err := whole.Append(entry("1"), entry("2")); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(whole.path())
	for cut := range len(text) {
		l := &Ledger{Dir: t.TempDir()}
		if err := os.WriteFile(l.path(), text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		complete := strings.Count(string(text[:cut]), "\n")
		if got, err := l.Entries(); len(got) != complete || err != nil {
			t.Fatalf("cut at %d: %d entries, %v", cut, len(got), err)
		}
		if err := l.Append(entry("3")); err != nil {
			t.Fatal(err)
		}
		got, err := l.Entries()
		if !slices.ContainsFunc(got, func(e Entry) bool { return e.ID == "3" }) {
			t.Fatalf("cut at %d: the new entry is lost: %v, %v", cut, got, err)
		}
		damage, damaged := errors.AsType[*DamageError](err)
		// only the line feed was missing, or nothing
		clean := len(got) > complete+1 || text[max(cut, 1)-1] == '\n' || cut == 0
		if damaged == clean || damaged && !cmp.Equal(damage.Lines, []int{complete + 1}) {
			t.Fatalf("cut at %d: %d entries, %v", cut, len(got), err)
		}
	}
}

func TestLedgerDamaged(t *testing.T) {
	l := &Ledger{Dir: t.TempDir()}
	text := `{"id":"1","later":{"member":true}}` + "\n" + "garbage\n" + "{}\n" + "\n" + `{"id":"2"}` + "\n"
	if err := os.WriteFile(l.path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := l.Entries()
	if len(got) != 2 || got[1].ID != "2" {
		t.Errorf("%v", got)
	}
	if want := l.path() + ": line 2, 3 cannot be read and was skipped"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLedgerConcurrently(t *testing.T) {
	l := &Ledger{Dir: t.TempDir()}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := l.Append(entry("1"), entry("2")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := l.Entries(); len(got) != 40 || err != nil {
		t.Errorf("%d entries, %v", len(got), err)
	}
}
