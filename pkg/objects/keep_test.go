package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/stage"
)

// places are an S3 and a directory to store checkpoints in.
func places() map[string]func(t *testing.T) (*Store, string) {
	return map[string]func(t *testing.T) (*Store, string){
		"S3":        func(t *testing.T) (*Store, string) { _, s := memory(t); return s, "s3://bucket/ckpt/job" },
		"directory": func(t *testing.T) (*Store, string) { return &Store{}, filepath.Join(t.TempDir(), "job") },
	}
}

// keeper returns a keeper with its directory, and what it says.
func keeper(t *testing.T, store stage.CheckpointStore, place string) (*stage.Keeper, *strings.Builder) {
	t.Helper()
	var mu sync.Mutex
	said := &strings.Builder{}
	return &stage.Keeper{Store: store, Place: place, Dir: filepath.Join(t.TempDir(), "ckpt"), Every: time.Minute, Job: "job",
		Say: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(said, format+"\n", args...)
		}}, said
}

// TestKeep stores and removes the parts of a checkpoint.
func TestKeep(t *testing.T) {
	for name, open := range places() {
		t.Run(name, func(t *testing.T) {
			s, place := open(t)
			ctx, dir := t.Context(), t.TempDir()
			write(t, filepath.Join(dir, "a/b"), "one")
			write(t, filepath.Join(dir, "c"), "one")
			files := the[[]checkpoint.File](t)(checkpoint.List(os.DirFS(dir)))
			if names, err := s.Names(ctx, place); err != nil || len(names) > 0 {
				t.Fatalf("an empty place has %v, %v", names, err)
			}
			kept, moved, err := s.Keep(ctx, place, dir, files, nil)
			if err != nil || len(kept) != 2 || kept[0].SHA256 != hexOf([]byte("one")) || moved.Kept != 1 {
				t.Fatalf("%v %+v: %v", kept, moved, err)
			}
			if err := s.Write(ctx, place, "generations/1", "text"); err != nil {
				t.Fatal(err)
			}
			if text, err := s.Read(ctx, place, "generations/1"); err != nil || text != "text" {
				t.Errorf("%q, %v", text, err)
			}
			names := the[[]string](t)(s.Names(ctx, place))
			slices.Sort(names)
			if want := []string{checkpoint.DataName(kept[0].SHA256), "generations/1"}; !slices.Equal(names, want) {
				t.Errorf("%v, want %v", names, want)
			}
			for range 2 { // the second time there is nothing to remove
				if err := errors.Join(s.Remove(ctx, place, "generations/1"), s.Remove(ctx, place, names[0])); err != nil {
					t.Error(err)
				}
			}
			if names := the[[]string](t)(s.Names(ctx, place)); len(names) > 0 {
				t.Errorf("%v is left", names)
			}
			if _, err := s.Read(ctx, place, "generations/1"); err == nil {
				t.Error("a removed text was read")
			}
		})
	}
	s := &Store{}
	_, _, err := s.Keep(t.Context(), "https://host/x", t.TempDir(), nil, nil)
	wants(t, err, "cannot be on a web server")
}

// TestKeeperWhileWriting saves a directory whose program never stops replacing its state. Each restored state must be
// one that the program wrote.
func TestKeeperWhileWriting(t *testing.T) {
	for name, open := range places() {
		t.Run(name, func(t *testing.T) {
			s, place := open(t)
			k, said := keeper(t, s, place)
			if restored, err := k.Restore(t.Context()); restored || err != nil {
				t.Fatal(restored, err)
			}
			ctx, stop := context.WithCancel(t.Context())
			writing := make(chan error, 1)
			go func() { writing <- replaceUntil(ctx, k.Dir) }()
			saves := 0
			for try := 0; try < 10_000 && saves < 15; try++ {
				saved, err := k.Save(t.Context(), 0)
				if err != nil && !strings.Contains(err.Error(), "kept writing") {
					t.Fatal(err)
				}
				if !saved {
					continue
				}
				saves++
				other, _ := keeper(t, s, place)
				if restored, err := other.Restore(t.Context()); !restored || err != nil {
					t.Fatalf("%v %v\n%s", restored, err, said)
				}
				checkState(t, other.Dir)
				k, said = keeperAt(t, k, s, place) // the other one has claimed the place
			}
			stop()
			if err := <-writing; err != nil {
				t.Fatal(err)
			}
			if saves == 0 {
				t.Errorf("nothing was saved\n%s", said)
			}
		})
	}
}

// keeperAt returns a keeper of the next attempt that saves the directory of another.
func keeperAt(t *testing.T, before *stage.Keeper, s *Store, place string) (*stage.Keeper, *strings.Builder) {
	t.Helper()
	k, said := keeper(t, s, place)
	if _, err := k.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.Dir = before.Dir
	return k, said
}

// replaceUntil replaces a state of two files as fast as it can.
func replaceUntil(ctx context.Context, dir string) error {
	for step := 0; ctx.Err() == nil; step++ {
		final := filepath.Join(dir, fmt.Sprintf("step-%09d", step))
		err := os.MkdirAll(final+".tmp", 0o755)
		for _, name := range []string{"a", "b"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(final+".tmp", name), fmt.Appendf(nil, "%09d", step), 0o644))
		}
		err = errors.Join(err, os.Rename(final+".tmp", final), os.RemoveAll(filepath.Join(dir, fmt.Sprintf("step-%09d", step-1))))
		if err != nil {
			return err
		}
	}
	return nil
}

// checkState checks that every state in a directory has two equal files of its step. The removal of the last state is
// not atomic: it may have lost files, but then there is the next one.
func checkState(t *testing.T, dir string) {
	t.Helper()
	states := the[[]string](t)(filepath.Glob(filepath.Join(dir, "step-*")))
	for i, state := range states {
		a, errA := os.ReadFile(filepath.Join(state, "a"))
		b, errB := os.ReadFile(filepath.Join(state, "b"))
		isLast := i == len(states)-1
		partly := (errors.Is(errA, fs.ErrNotExist) || errors.Is(errB, fs.ErrNotExist)) && !isLast
		if want := strings.TrimPrefix(filepath.Base(state), "step-"); !partly && (string(a) != want || string(b) != want) {
			t.Fatalf("torn: %s has %q and %q", state, a, b)
		}
	}
	if len(states) == 0 {
		t.Fatal("no state was restored")
	}
}

// writesInPlace is a store during whose upload the program writes to a file.
type writesInPlace struct {
	*Store
	file  string
	calls int
}

func (w *writesInPlace) Keep(ctx context.Context, place, dir string, files []checkpoint.File, again map[string]bool) ([]checkpoint.File, stage.Moved, error) {
	w.calls++
	kept, moved, err := w.Store.Keep(ctx, place, dir, files, again)
	f, openErr := os.OpenFile(w.file, os.O_APPEND|os.O_WRONLY, 0)
	if openErr != nil {
		return nil, moved, openErr
	}
	_, writeErr := f.WriteString("more")
	return kept, moved, errors.Join(err, writeErr, f.Close())
}

// TestKeeperInPlace checks that a file which is written in place during the upload is not saved.
func TestKeeperInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writesInPlace{Store: &Store{}}
		k, _ := keeper(t, w, filepath.Join(t.TempDir(), "job"))
		if _, err := k.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.file = filepath.Join(k.Dir, "state")
		write(t, w.file, "state")
		saved, err := k.Save(t.Context(), time.Second)
		if saved || w.calls < 2 {
			t.Errorf("it was saved: %v, after %d tries", saved, w.calls)
		}
		wants(t, err, "kept writing")
		other, _ := keeper(t, &Store{}, k.Place)
		if restored, err := other.Restore(t.Context()); restored || err != nil {
			t.Errorf("it was restored: %v, %v", restored, err)
		}
	})
}

// TestKeeperOvertaken checks that an attempt stops to save when its successor has begun, and that its garbage stays.
func TestKeeperOvertaken(t *testing.T) {
	for name, open := range places() {
		t.Run(name, func(t *testing.T) {
			s, place := open(t)
			first, said := keeper(t, s, place)
			save := func(k *stage.Keeper, text string) bool {
				t.Helper()
				write(t, filepath.Join(k.Dir, "state"), text)
				return the[bool](t)(k.Save(t.Context(), 0))
			}
			_ = the[bool](t)(first.Restore(t.Context()))
			for _, text := range []string{"1", "22", "333"} {
				if !save(first, text) {
					t.Fatal("nothing was saved")
				}
			}
			second, _ := keeper(t, s, place)
			if !the[bool](t)(second.Restore(t.Context())) || files(t, second.Dir)["state"] != "333" {
				t.Fatalf("%v was restored", files(t, second.Dir))
			}
			if save(first, "4444") || !strings.Contains(said.String(), "another attempt of this job is now saving") {
				t.Errorf("the first attempt still saves\n%s", said)
			}
			if !save(second, "55555") {
				t.Error("the second attempt does not save")
			}
			contents := checkpoint.Sort(the[[]string](t)(s.Names(t.Context(), place)))
			if len(contents.Generations) != checkpoint.Kept || contents.Epoch != 2 {
				t.Errorf("the place has %+v", contents)
			}
			third, _ := keeper(t, s, place)
			write(t, filepath.Join(third.Dir, "old/file"), "of another job on this volume")
			if !the[bool](t)(third.Restore(t.Context())) {
				t.Error("nothing was restored")
			}
			same(t, "restored", files(t, third.Dir), map[string]string{"state": "55555"})
		})
	}
}

// keepsAll is a store for a role that may not remove anything.
type keepsAll struct{ *Store }

func (keepsAll) Remove(context.Context, string, string) error { return errors.New("AccessDenied") }

// TestKeeperDamaged damages two parts of the newest generation. A later attempt reaches the same state again: the one
// that falls back to the generation before, the one after that, or one that finds no list at all. Its generation must
// not refer to the damaged parts, although the role cannot remove anything.
func TestKeeperDamaged(t *testing.T) {
	one, two := map[string]string{"a": "1", "b": "10"}, map[string]string{"a": "2", "b": "20"}
	for _, name := range []string{"S3", "directory"} {
		for damaged, parts := range map[string][]string{
			"contents":           {checkpoint.DataName(hexOf([]byte("2"))), checkpoint.DataName(hexOf([]byte("20")))},
			"a list and content": {checkpoint.ID{Epoch: 1, Number: 2}.Name(), checkpoint.DataName(hexOf([]byte("20")))},
		} {
			damage := func(t *testing.T, attempts int) {
				server, s := memory(t)
				place := "s3://bucket/ckpt/job"
				if name == "directory" {
					place = filepath.Join(t.TempDir(), "job")
				}
				begin := func(want map[string]string) *stage.Keeper {
					t.Helper()
					k, said := keeper(t, s, place)
					if restored := the[bool](t)(k.Restore(t.Context())); restored != (want != nil) {
						t.Fatalf("restored is %t\n%s", restored, said)
					}
					same(t, "restored", files(t, k.Dir), want)
					return k
				}
				save := func(k *stage.Keeper, state map[string]string) {
					t.Helper()
					for name, text := range state {
						write(t, filepath.Join(k.Dir, name), text)
					}
					if !the[bool](t)(k.Save(t.Context(), 0)) {
						t.Fatal("nothing was saved")
					}
				}
				first := begin(nil)
				save(first, one)
				save(first, two)
				for _, part := range parts {
					if name == "S3" { // which has the checksum of what was sent
						damaged := *server.Get("bucket/ckpt/job/" + part)
						damaged.Body = []byte(strings.Repeat("x", len(damaged.Body)))
						server.Put("bucket/ckpt/job/"+part, &damaged)
						continue
					}
					text := the[string](t)(s.Read(t.Context(), place, part))
					if err := s.Write(t.Context(), place, part, strings.Repeat("x", len(text))); err != nil {
						t.Fatal(err)
					}
				}
				state := one
				if attempts == 0 {
					for id := range 2 {
						if err := s.Remove(t.Context(), place, checkpoint.ID{Epoch: 1, Number: id + 1}.Name()); err != nil {
							t.Fatal(err)
						}
					}
					state = nil
				}
				last := begin(state)
				for n := range attempts {
					if n > 0 {
						last = begin(state)
					}
					last.Store = keepsAll{s}
					state = map[string]string{"a": strconv.Itoa(3 + n), "b": strconv.Itoa(30 + n)}
					save(last, state) // without what is damaged, which stays
				}
				save(last, two)
				begin(two)
			}
			t.Run(name+"/"+damaged, func(t *testing.T) { damage(t, 1) })
			t.Run(name+"/"+damaged+" two attempts ago", func(t *testing.T) { damage(t, 2) })
			t.Run(name+"/"+damaged+", all lists removed", func(t *testing.T) { damage(t, 0) })
		}
	}
}
