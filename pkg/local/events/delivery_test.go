package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// definition is a record with the definition of the jobs.
const definition = `{"at":1,"events":[{"registered":{"revision":1,"request":{"jobDefinitionName":"work","type":"container",` +
	`"containerProperties":{"image":"busybox:1","command":["true"],"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]}}}}]}`

// life returns the records of a job that succeeds, of four changes.
func life(id string) []string {
	return []string{
		fmt.Sprintf(`{"at":2,"events":[{"submitted":{"id":%q,"definition":"work:1","to":"RUNNABLE","request":{"jobName":"job","jobQueue":"default","jobDefinition":"work"}}}]}`, id),
		fmt.Sprintf(`{"at":3,"events":[{"started":{"job":%q,"stream":"stream-%s"}},{"launched":{"job":%q}}]}`, id, id, id),
		fmt.Sprintf(`{"at":4,"events":[{"ended":{"job":%q,"exit":0,"statusReason":"Essential container in task exited","to":"SUCCEEDED"}}]}`, id),
	}
}

// lifeOf returns the changes of life.
func lifeOf(id string) []string {
	return []string{id + " RUNNABLE", id + " STARTING", id + " RUNNING", id + " SUCCEEDED"}
}

// book is a state directory with a journal.
type book struct {
	t    testing.TB
	root *os.Root
	to   Destination
	log  bytes.Buffer
	*journal.Journal
}

func newBook(t testing.TB) *book {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	b := &book{t: t, root: root, to: Destination{"file", filepath.Join(t.TempDir(), "events")}}
	b.reopen()
	b.append(definition)
	return b
}

// reopen opens the journal as a new engine does.
func (b *book) reopen() {
	b.t.Helper()
	j, _, err := journal.Open(b.root, "journal", func([]byte) error { return nil })
	if err != nil {
		b.t.Fatal(err)
	}
	b.Journal = j
}

func (b *book) append(records ...string) {
	b.t.Helper()
	for _, r := range records {
		if _, err := b.Append([]byte(r)); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *book) settings() Settings {
	b.t.Helper()
	var end Position
	if err := journal.Read(b.root, "journal", func(text []byte) error {
		end = end.After(text)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	return Settings{Destinations: []Destination{b.to}, Root: b.root, Queues: []model.QueueSpec{{Name: "default", Priority: 1, Environments: []string{"local"}}},
		Journal: b.Journal, End: end, Log: slog.New(slog.NewTextHandler(&b.log, nil))}
}

// deliver starts to deliver to a sender instead of the destination. kill ends that without saving anything.
func (b *book) deliver(s sender) (d *Delivery, kill func()) {
	b.t.Helper()
	if err := b.root.Mkdir(directory, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		b.t.Fatal(err)
	}
	d = &Delivery{settings: b.settings(), closing: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	f, err := newFollower(d, b.to)
	if err != nil {
		b.t.Fatal(err)
	}
	f.sender.close()
	f.sender = s
	d.followers = []*follower{f}
	d.running.Go(func() { f.run(ctx) })
	return d, func() {
		_ = f.position.file.Close() // the last save fails
		cancel()
		d.running.Wait()
	}
}

// recorder is a sender that keeps the changes of the events, and may fail.
type recorder struct {
	got []string
	ids map[string]int
	// fail returns how many of n lines are accepted, and the error for the others.
	fail func(n int) (int, error)
}

func (r *recorder) send(_ context.Context, lines [][]byte) (n int, err error) {
	n = len(lines)
	if r.fail != nil {
		n, err = r.fail(n)
	}
	for _, line := range lines[:n] {
		var v struct {
			ID     string
			Type   string `json:"detail-type"`
			Detail struct {
				JobID, Status string
				Lost          int64
			}
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return 0, err
		}
		if r.ids == nil {
			r.ids = map[string]int{}
		}
		if r.ids[v.ID]++; r.ids[v.ID] > 1 {
			continue
		}
		text := v.Detail.JobID + " " + v.Detail.Status
		if v.Type != StateChange {
			text = fmt.Sprintf("%s %d", v.Type, v.Detail.Lost)
		}
		r.got = append(r.got, text)
	}
	return n, err
}

func (r *recorder) sync() error { return nil }
func (r *recorder) close()      {}

func (r *recorder) want(t testing.TB, want ...[]string) {
	t.Helper()
	synctest.Wait()
	var all []string
	for _, w := range want {
		all = append(all, w...)
	}
	if diff := cmp.Diff(all, r.got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
}

// TestDeliveryThroughFailures appends records while the destination fails at random and the engine is killed at random.
// Each change is delivered in order, and ids tell repeated events.
func TestDeliveryThroughFailures(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(r, "steps")
		accepted := rapid.SliceOfN(rapid.IntRange(-1, 6), 1, 20).Draw(r, "accepted")
		synctest.Test(t, func(t *testing.T) {
			b, calls := newBook(t), 0
			out := &recorder{fail: func(n int) (int, error) {
				if calls++; calls <= len(accepted) && accepted[calls-1] >= 0 {
					return min(n, accepted[calls-1]), errors.New("no")
				}
				return n, nil
			}}
			d, kill := b.deliver(out)
			var want []string
			for i, step := range steps {
				id := fmt.Sprintf("job-%d", i)
				switch step {
				case 0, 1, 2:
					b.append(life(id)...)
					want = append(want, lifeOf(id)...)
					d.Wake()
					time.Sleep(time.Duration(step) * 10 * time.Millisecond) // the next step may come before or after the first try
				case 3:
					time.Sleep(time.Second)
				default:
					if kill(); step == 5 {
						if err := b.Journal.Close(); err != nil {
							t.Fatal(err)
						}
						b.reopen()
					}
					d, kill = b.deliver(out)
				}
			}
			d.Wake()
			time.Sleep(time.Hour)
			out.want(t, want)
			d.Close()
			for id, n := range out.ids {
				if n > len(steps)+len(accepted)+1 {
					t.Errorf("event %s was delivered %d times", id, n)
				}
			}
		})
	})
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		var full atomic.Bool
		full.Store(true)
		out := &recorder{fail: func(n int) (int, error) {
			if full.Load() {
				return 0, errors.New("no space left")
			}
			return n, nil
		}}
		d, _ := b.deliver(out)
		b.append(life("a")...)
		d.Wake()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := strings.Count(b.log.String(), "no space left"); n != 1 {
			t.Errorf("the failure is logged %d times:\n%s", n, &b.log)
		}
		full.Store(false)
		time.Sleep(time.Minute)
		out.want(t, lifeOf("a"))
		if !strings.Contains(b.log.String(), "delivered again") {
			t.Errorf("the log does not report that the destination recovered:\n%s", &b.log)
		}
		full.Store(true)
		b.append(life("b")...)
		d.Wake()
		time.Sleep(time.Minute)
		synctest.Wait()
		started := time.Now()
		d.Close()
		if time.Since(started) > closeTimeout {
			t.Errorf("Close took %s with a destination that fails", time.Since(started))
		}
		full.Store(false)
		d, _ = b.deliver(out)
		time.Sleep(time.Second)
		d.Close()
		out.want(t, lifeOf("a"), lifeOf("b"))
	})
}

func TestDamagedPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		b.append(life("before")...)
		out := &recorder{}
		d, _ := b.deliver(out)
		d.Close()
		for i, text := range []string{"", "00000000 {}", strings.Repeat("\x00", positionSize)} {
			id := fmt.Sprintf("after-%d", i)
			if err := b.root.WriteFile(b.to.positionName(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b.log.Reset()
			out.got, out.ids = nil, nil
			if err := b.Journal.Close(); err != nil {
				t.Fatal(err)
			}
			b.reopen()
			d, _ := b.deliver(out)
			time.Sleep(time.Second)
			b.append(life(id)...)
			d.Close()
			out.want(t, []string{Lost + " 0"}, lifeOf(id))
			if !strings.Contains(b.log.String(), "unknown number of events is lost") {
				t.Errorf("the log does not report the loss:\n%s", &b.log)
			}
		}
	})
}

// TestRewrittenJournal rewrites a journal without a job, and stops before, in the middle and after. Nothing else is
// lost, and what is lost is reported once.
func TestRewrittenJournal(t *testing.T) {
	dropped := map[string]bool{"b": true}
	keep := func(text []byte) ([]byte, error) {
		var r model.Record
		if err := json.Unmarshal(text, &r); err != nil || len(r.Without(dropped).Events) > 0 {
			return text, err
		}
		return nil, nil
	}
	for name, c := range map[string]struct {
		acked                     int // events that were delivered before
		prepare, rewrite, foreign bool
		cancel                    bool
		want                      []string
	}{
		"crash before":        {acked: 3, want: append(append([]string{"a SUCCEEDED"}, lifeOf("b")...), lifeOf("c")...)},
		"crash in the middle": {acked: 3, prepare: true, want: append(append([]string{"a SUCCEEDED"}, lifeOf("b")...), lifeOf("c")...)},
		"rewrite failed":      {acked: 3, prepare: true, cancel: true, want: append(append([]string{"a SUCCEEDED"}, lifeOf("b")...), lifeOf("c")...)},
		"done":                {acked: 3, prepare: true, rewrite: true, want: append([]string{Lost + " 4", "a SUCCEEDED"}, lifeOf("c")...)},
		"after b":             {acked: 8, prepare: true, rewrite: true, want: lifeOf("c")},
		"within b":            {acked: 6, prepare: true, rewrite: true, want: append([]string{Lost + " 2"}, lifeOf("c")...)},
		"all delivered":       {acked: 12, prepare: true, rewrite: true},
		"older engine":        {acked: 8, rewrite: true, want: []string{Lost + " 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, left := newBook(t), c.acked
				if err := b.Journal.Close(); err != nil {
					t.Fatal(err)
				}
				b.reopen()
				out := &recorder{fail: func(n int) (int, error) {
					n = min(n, left)
					if left -= n; left > 0 {
						return n, nil
					}
					return n, errors.New("no")
				}}
				d, _ := b.deliver(out)
				b.append(life("a")...)
				b.append(life("b")...)
				b.append(life("c")...)
				d.Close()
				if err := b.Journal.Close(); err != nil {
					t.Fatal(err)
				}
				s := b.settings()
				r := Rewrite{Root: b.root, Queues: s.Queues, Destinations: s.Destinations}
				old := map[string]bool{"a": true, "b": true, "c": true}
				if err := r.Hold(old); err != nil {
					t.Fatal(err)
				}
				if held := !old["b"]; held != (c.acked < 8) || old["c"] != (c.acked == 12) {
					t.Errorf("jobs that can be dropped: %v", old)
				}
				var err error
				if c.prepare {
					err = r.Prepare(dropped, keep)
				}
				if c.rewrite {
					err = errors.Join(err, journal.Rewrite(b.root, "journal", keep))
				}
				if c.cancel {
					err = errors.Join(err, r.Cancel())
				}
				if err != nil {
					t.Fatal(err)
				}
				b.reopen()
				out.fail, out.got = nil, nil
				for range 2 {
					d, kill := b.deliver(out)
					time.Sleep(time.Second)
					out.want(t, c.want)
					kill()
					d.Close()
				}
				if err := b.Journal.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
