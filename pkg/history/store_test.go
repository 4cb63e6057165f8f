package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/usage"
)

// row returns an attempt of a job.
func row(job string, number int) Attempt {
	exit := int32(3)
	return Attempt{Target: "aws 123456789012 us-east-1", Job: job, Number: number, Name: "a <b>", Queue: "cpu", Definition: "d:1", Hash: "f00",
		Cell: map[string]string{"n": "1"}, Requested: Resources{VCPUs: 0.25, MemoryMiB: 512}, Status: "FAILED", ExitCode: &exit, StartedAt: 1, StoppedAt: 5}
}

// measured adds what the attempt used.
func measured(a Attempt) Attempt {
	peak := int64(1 << 20)
	a.Usage = []usage.Usage{{Version: 1, Seconds: 4, PeakMemory: &peak, Source: "cgroup2"}}
	return a
}

// all returns the attempts and the errors.
func all(s Store) (rows []Attempt, problems []string) {
	for a, err := range s.All() {
		if err != nil {
			problems = append(problems, strings.ReplaceAll(err.Error(), s.Dir+string(filepath.Separator), ""))
			continue
		}
		rows = append(rows, a)
	}
	return rows, problems
}

// keys returns the jobs and numbers of rows.
func keys(rows []Attempt) (list []string) {
	for _, a := range rows {
		list = append(list, fmt.Sprintf("%s#%d", a.Job, a.Number))
	}
	return list
}

// add records attempts.
func add(t *testing.T, s Store, rows ...Attempt) {
	t.Helper()
	if err := s.Add(rows...); err != nil {
		t.Fatal(err)
	}
}

// lines counts the recorded rows.
func lines(t *testing.T, s Store) (n int) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "attempts-*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(text), "\n")
	}
	return n
}

func TestAddRecordsEachAttemptOnce(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "new", "ledger")}
	add(t, s, row("1", 1), row("1", 1), row("1", 2))
	add(t, s, row("1", 2), row("2", 1))
	add(t, s)
	if n := lines(t, s); n != 3 {
		t.Errorf("%d rows", n)
	}
	// A read-only command does not know the account, nor what only the log says.
	readOnly := row("2", 1)
	readOnly.Target, readOnly.Cell, readOnly.Hash = "aws us-east-1", nil, ""
	add(t, s, measured(row("1", 1)))
	add(t, s, row("1", 1), readOnly)
	if n := lines(t, s); n != 4 {
		t.Errorf("%d rows after a measurement", n)
	}
	got, problems := all(s)
	if diff := cmp.Diff([]Attempt{measured(row("1", 1)), row("1", 2), row("2", 1)}, got); diff != "" || problems != nil {
		t.Error(diff, problems)
	}
	if err := s.Add(Attempt{Job: "1"}); err == nil {
		t.Error("a row without a target was recorded")
	}
}

// TestCrash cuts the last row at every byte. No earlier row and no later one is lost.
func TestCrash(t *testing.T) {
	whole := Store{Dir: t.TempDir()}
	add(t, whole, row("1", 1))
	first, _ := os.ReadFile(whole.path(1))
	add(t, whole, row("2", 1))
	text, _ := os.ReadFile(whole.path(1))
	for cut := len(first); cut <= len(text); cut++ {
		s := Store{Dir: t.TempDir()}
		if err := os.WriteFile(s.path(1), text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := []string{"1#1"}
		if cut >= len(text)-1 { // at most the line end is missing
			want = append(want, "2#1")
		}
		got, problems := all(s)
		if !slices.Equal(keys(got), want) || problems != nil {
			t.Fatalf("cut at %d: %q, %q", cut, keys(got), problems)
		}
		add(t, s, row("3", 1))
		got, problems = all(s)
		torn := cut > len(first) && cut < len(text)-1
		if !slices.Equal(keys(got), append(want, "3#1")) || torn != (len(problems) == 1) {
			t.Fatalf("cut at %d, then added to: %q, %q", cut, keys(got), problems)
		}
	}
}

func TestDamage(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	add(t, s, row("1", 1))
	good, _ := os.ReadFile(s.path(1))
	for _, f := range []struct {
		number int
		text   string
	}{
		{1, "garbage\n" + string(good) + "{}\n"},
		{2, `{"format":2,"target":"local","job":"9","attempt":1,"name":"x"}` + "\n\n"},
		{3, strings.Replace(string(good), `"job":"1"`, `"job":"7","future":{"x":1}`, 1) + "\x00\x00\x00"},
	} {
		if err := os.WriteFile(s.path(f.number), []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, problems := all(s)
	want := []string{"attempts-1.jsonl: line 1, 3 cannot be read and was skipped",
		"attempts-2.jsonl: line 1 was skipped: written by a newer batchctl; use that version", "attempts-3.jsonl: line 2 cannot be read and was skipped"}
	if diff := cmp.Diff(want, problems); diff != "" || !slices.Equal(keys(got), []string{"1#1", "7#1"}) {
		t.Error(diff, keys(got))
	}
	add(t, s, row("8", 1))
	if got, problems := all(s); len(got) != 3 || len(problems) != 3 {
		t.Errorf("added to a damaged history: %q, %q", keys(got), problems)
	}
	for _, err := range s.All() {
		if e, ok := errors.AsType[*DamageError](err); err != nil && (!ok || len(e.Lines) == 0) {
			t.Errorf("%T %v", err, err)
		}
	}
}

// TestBound checks that the oldest rows are removed, the others are complete, and few files remain.
func TestBound(t *testing.T) {
	s := Store{Dir: t.TempDir(), fileSize: 2000}
	for i := range 200 {
		add(t, s, row(fmt.Sprint(i), 1))
	}
	got, problems := all(s)
	files, err := s.files()
	if err != nil || len(files) != maxFiles || problems != nil {
		t.Errorf("files %d, %q, %v", files, problems, err)
	}
	first := 200 - len(got)
	if first < 100 || len(got) < maxFiles-1 {
		t.Errorf("%d of 200 rows remain", len(got))
	}
	for i, a := range got {
		if a.Job != fmt.Sprint(first+i) {
			t.Fatalf("row %d is %s", i, a.Job)
		}
	}
}

// TestSeveralWriters lets writers record overlapping attempts, while files begin and a reader reads.
func TestSeveralWriters(t *testing.T) {
	s := Store{Dir: t.TempDir(), fileSize: 40_000}
	const writers, each = 8, 40
	var group, reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, problems := all(s); problems != nil {
				t.Errorf("while others write: %q", problems)
				return
			}
		}
	})
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if err := s.Add(row(fmt.Sprint(i), w/2+1), row(fmt.Sprint(i), 9)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	reader.Wait()
	got, problems := all(s)
	found := keys(got)
	slices.Sort(found)
	if n := len(slices.Compact(found)); n != len(got) || n != each*(writers/2+1) || problems != nil {
		t.Errorf("%d different of %d rows, %q", n, len(got), problems)
	}
}

// TestKeyOf checks that the quick way reads the same key as the decoder, or none.
func TestKeyOf(t *testing.T) {
	for _, target := range []string{"local", "aws 123456789012 eu-west-1", "aws eu-west-1 at http://x", `a"b\`} {
		for _, job := range []string{"1", "1:7", `","attempt":5,`} {
			s := Store{Dir: t.TempDir()}
			a := Attempt{Target: target, Job: job, Number: 2, Name: "x"}
			add(t, s, a)
			text, _ := os.ReadFile(s.path(1))
			k, ok := keyOf(text)
			if plain := !strings.ContainsAny(target+job, `"\`); ok != plain || ok && k != a.key() {
				t.Errorf("%s: %v %v, want %v", text, k, ok, a.key())
			}
			add(t, s, a)
			if n := lines(t, s); n != 1 {
				t.Errorf("%s %s was recorded %d times", target, job, n)
			}
		}
	}
}
