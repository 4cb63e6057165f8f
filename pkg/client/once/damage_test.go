package once

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// damagedRun is a run with every kind of problem: job a was accepted, job b was accepted twice
// because an answer was missing, and job c was rejected.
type damagedRun struct {
	f    *clienttest.Fake
	c    *Client
	name string
	log  []byte
	// submitted are the requests, and listed the jobs, that the run left.
	submitted []*awsbatch.SubmitJobInput
	listed    []types.JobSummary
}

func newDamagedRun(t *testing.T) *damagedRun {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, clienttest.LostEOF, Fine, forbidden()}
	lagging := time.Now().Add(40 * time.Second) // longer than the client searches for b
	f.Hidden = func(id string) bool { return id == clienttest.TestID(2) && time.Now().Before(lagging) }
	_, err := c.Submit(t.Context(), planOf(job("a", "x"), job("b", "x"), job("c", "x", document.Dependency{Job: "b"})))
	if !isA[*OpenError](err) || len(f.Submitted) != 3 {
		t.Fatal(len(f.Submitted), err)
	}
	time.Sleep(time.Minute)
	name := onlyRun(t, c).Name
	log, err := os.ReadFile(c.Ledger.logs().logPath(name))
	if err != nil {
		t.Fatal(err)
	}
	return &damagedRun{f, c, name, log, f.Submitted, f.Listed}
}

// resume resumes the run with another log, and reports whether that was refused. In both cases no
// job may be duplicated, and none may be lost without a message.
func (d *damagedRun) resume(t *testing.T, log []byte) (refused bool, err error) {
	f, c := d.f, d.c
	f.Submitted, f.Listed, f.Stopped = d.submitted[:3:3], d.listed[:3:3], map[string]string{}
	if err := os.RemoveAll(c.Ledger.Dir); err != nil {
		return false, err
	}
	if err := os.MkdirAll(string(c.Ledger.logs()), 0o700); err != nil {
		return false, err
	}
	path := c.Ledger.logs().logPath(d.name)
	if err := os.WriteFile(path, log, 0o600); err != nil {
		return false, err
	}
	jobs, err := c.Resume(t.Context(), d.name)
	if damage, ok := errors.AsType[*RunDamageError](err); ok {
		open, openErr := c.Ledger.OpenRuns()
		switch kept, _ := os.ReadFile(path); {
		case len(f.Submitted) != 3 || len(f.Stopped) > 0:
			return true, fmt.Errorf("refused, and changed something: %w", err)
		case damage.Path != path || damage.Line < 1 || damage.Line > bytes.Count(log, []byte("\n"))+1:
			return true, fmt.Errorf("names another place: %w", err)
		case !bytes.Equal(kept, log):
			return true, errors.New("refused, and the log has changed")
		case openErr != nil || len(open) != 1 || open[0].Damage == nil:
			return true, fmt.Errorf("not open: %+v, %w", open, openErr)
		}
		return true, nil
	}
	if err != nil || len(jobs) != 3 {
		return false, fmt.Errorf("%d jobs: %w", len(jobs), err)
	}
	return false, d.check()
}

// check reports a job that exists twice or not at all, or that the ledger does not have.
func (d *damagedRun) check() error {
	entries, err := d.c.Ledger.Entries()
	if err != nil || len(entries) != 3 {
		return fmt.Errorf("entries %+v, %w", entries, err)
	}
	if open, err := d.c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
		return fmt.Errorf("open runs %+v, %w", open, err)
	}
	alive := map[string][]string{}
	for i, in := range d.f.Submitted {
		if id := clienttest.TestID(i + 1); d.f.Stopped[id] == "" {
			alive[in.Tags[client.SubmissionTag]] = append(alive[in.Tags[client.SubmissionTag]], id)
		}
	}
	for _, e := range entries {
		if ids := alive[e.Submission]; len(ids) != 1 || ids[0] != e.ID {
			return fmt.Errorf("job %s is %s in the ledger, and %v are alive", e.Name, e.ID, ids)
		}
	}
	return nil
}

// everyByte is the distance between tested bytes: 1 in a long run.
func everyByte() int { return testtool.Count(1, 7) }

// TestCutLog cuts a run's log at every byte. A cut among the intents is refused, since the lost
// jobs may have been accepted. After a cut among the outcomes, all of them are found again.
func TestCutLog(t *testing.T) {
	atEach(t, func(t *testing.T, d *damagedRun, cut int) {
		refused, err := d.resume(t, d.log[:cut])
		if err != nil || refused != (cut < d.intents()) {
			t.Fatalf("cut at %d of %d: refused %v, %v", cut, len(d.log), refused, err)
		}
	})
}

// atEach calls a test for positions in the log of a run. Some positions have their own run:
// virtual time must not exceed the time for which AWS keeps jobs.
func atEach(t *testing.T, test func(t *testing.T, d *damagedRun, at int)) {
	const some = 200
	for from, size := 0, 1; from < size; from += some {
		synctest.Test(t, func(t *testing.T) {
			d := newDamagedRun(t)
			size = len(d.log)
			for at := from; at < min(from+some, size); at += everyByte() {
				test(t, d, at)
			}
		})
	}
}

// intents returns the length of the lines before the first outcome.
func (d *damagedRun) intents() int {
	outcome := bytes.Index(d.log, []byte(`"what":"accepted"`))
	return bytes.LastIndexByte(d.log[:outcome], '\n') + 1
}

// TestZeroedLog replaces parts of a run's log by zeros, as file systems do after a power failure.
func TestZeroedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDamagedRun(t)
		intents := d.intents()
		for name, part := range map[string][2]int{
			"all": {0, len(d.log)}, "intents": {0, intents}, "an intent": {intents / 2, intents}, "outcomes": {intents, len(d.log)},
			"from an intent on": {intents / 2, len(d.log)}, "the middle": {intents - 200, intents + 200}, "an outcome": {intents, intents + 100},
			"the last outcome": {len(d.log) - 50, len(d.log)},
		} {
			log := bytes.Clone(d.log)
			clear(log[part[0]:part[1]])
			if refused, err := d.resume(t, log); err != nil || refused != (part[0] < intents) {
				t.Errorf("%s: refused %v, %v", name, refused, err)
			}
		}
	})
}

// TestFlippedLog flips a bit of every byte of a run's log (of every seventh in a short run).
func TestFlippedLog(t *testing.T) {
	atEach(t, func(t *testing.T, d *damagedRun, at int) {
		messages := ""
		d.c.Progress = func(text string) { messages += text + "\n" }
		log := bytes.Clone(d.log)
		log[at] ^= 1 << (at % 8)
		refused, err := d.resume(t, log)
		if err != nil || refused != (at < d.intents()) {
			t.Fatalf("byte %d (%q became %q): refused %v, %v", at, d.log[at], log[at], refused, err)
		}
		if last := at == len(log)-1; !refused && !last && !strings.Contains(messages, d.name+".jsonl: line ") {
			t.Fatalf("byte %d: not reported: %s", at, messages)
		}
	})
}

// TestUnsealedLog checks that lines without a checksum count as damaged.
func TestUnsealedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDamagedRun(t)
		plain := regexp.MustCompile(`,"sum":"[0-9a-f]+"}\n`).ReplaceAll(d.log, []byte("}\n"))
		if refused, err := d.resume(t, plain); !refused || err != nil {
			t.Fatal(refused, err)
		}
	})
}

// TestDamagedRecords: damaged lines of the ledger's other files are reported by line, and the
// others are read.
func TestDamagedRecords(t *testing.T) {
	l := &Ledger{Dir: t.TempDir(), Target: here}
	var messages []string
	l.Damaged = func(d *DamageError) { messages = append(messages, filepath.Base(d.Path)+fmt.Sprint(d.Lines)) }
	for _, p := range []string{"/a/batchctl.json", "/b/batchctl.json"} {
		if err := l.RememberPlatform("site", p); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"r1", "r2"} {
		r := &run{name: id, title: "flow", target: here, tasks: []*plannedJob{{intent: intent{name: "j", definer: -1, submit: &awsbatch.SubmitJobInput{}}, state: state{result: Submitted{ID: clienttest.TestID(len(id))}}}}}
		if err := l.keepRecord(r.record()); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{l.targetsPath(), l.runsPath()} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[bytes.IndexByte(text, ':')+3] ^= 1 // a letter of the first line
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.PlatformsOf("site"); len(got) != 1 || got[0] != "/b/batchctl.json" {
		t.Error(got)
	}
	if runs, err := l.RunsOf(clienttest.TestID(2)); err != nil || len(runs) != 1 || runs[0].ID != "r2" {
		t.Error(runs, err)
	}
	if got := strings.Join(messages, " "); got != "targets.jsonl[1] runs.jsonl[1]" {
		t.Error(got)
	}
}

// TestLostRecords: a ledger that is empty or zeros is reported, and a line that a crash tore is
// not.
func TestLostRecords(t *testing.T) {
	for _, file := range []struct {
		name     string
		cut      func(text []byte) []byte
		messages string
		left     int
	}{
		{"empty", func([]byte) []byte { return nil }, "[1]", 0},
		{"zeros", func(text []byte) []byte { return make([]byte, len(text)) }, "[1]", 0},
		{"zeros at the end", func(text []byte) []byte { clear(text[len(text)-40:]); return text }, "[2]", 1},
		{"zeros after the end", func(text []byte) []byte { return append(text, make([]byte, 100)...) }, "[3]", 2},
		{"zeros at the beginning", func(text []byte) []byte { clear(text[:40]); return text }, "[1]", 1},
		{"torn", func(text []byte) []byte { return text[:len(text)-40] }, "", 1},
		{"whole", func(text []byte) []byte { return text }, "", 2},
	} {
		t.Run(file.name, func(t *testing.T) {
			l := &Ledger{Dir: t.TempDir(), Target: here}
			if err := l.Append(Entry{Name: "a", ID: clienttest.TestID(1)}, Entry{Name: "b", ID: clienttest.TestID(2)}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(l.path())
			if err == nil {
				err = os.WriteFile(l.path(), file.cut(text), 0o600)
			}
			if err == nil { // an empty file of just now is one that another process creates
				err = os.Chtimes(l.path(), time.Time{}, time.Now().Add(-2*creation))
			}
			if err != nil {
				t.Fatal(err)
			}
			entries, err := l.Entries()
			messages := ""
			if damage, ok := errors.AsType[*DamageError](err); ok && damage.Path == l.path() {
				messages, err = fmt.Sprint(damage.Lines), nil
			}
			if err != nil || messages != file.messages || len(entries) != file.left {
				t.Errorf("%d entries, %v, damaged lines %s, want %d and %s", len(entries), err, messages, file.left, file.messages)
			}
		})
	}
}
