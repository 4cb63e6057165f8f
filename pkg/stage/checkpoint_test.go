//go:build unix

package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
)

// vault is a CheckpointStore in memory. Its uploads fail, or hang until their context ends.
type vault struct {
	mu    sync.Mutex
	texts map[string]string
	hangs bool
	err   error
}

func (v *vault) Download(context.Context, Input) (Moved, error) { return Moved{}, v.err }

func (v *vault) Keep(ctx context.Context, _, dir string, files []checkpoint.File, _ map[string]bool) ([]checkpoint.File, Moved, error) {
	if v.hangs {
		<-ctx.Done()
		return nil, Moved{}, ctx.Err()
	}
	for i, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			return nil, Moved{}, err
		}
		files[i].SHA256 = fmt.Sprintf("%064x", text)
	}
	return files, Moved{Files: len(files)}, v.err
}

func (v *vault) Names(_ context.Context, place string) (names []string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.texts {
		if below, ok := strings.CutPrefix(name, place+"/"); ok {
			names = append(names, below)
		}
	}
	return names, v.err
}

func (v *vault) Read(_ context.Context, place, name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.texts[place+"/"+name], v.err
}

func (v *vault) Write(_ context.Context, place, name, text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.texts == nil {
		v.texts = map[string]string{}
	}
	v.texts[place+"/"+name] = text
	return v.err
}

func (v *vault) Remove(_ context.Context, place, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.texts, place+"/"+name)
	return v.err
}

// generations returns how many generations a place has.
func (v *vault) generations(t *testing.T, place string) int {
	names, err := v.Names(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return len(checkpoint.Sort(names).Generations)
}

const savedDocument = `{"version":1,"checkpoint":{"path":"state","to":"s3://b/c/","every":60}}`

// TestRunSaved checks when the last state of a program is saved, and which variables the program gets.
func TestRunSaved(t *testing.T) {
	for _, test := range []struct {
		name, script string
		store        *vault
		exit, saved  int
		want         string
	}{
		{"success", "echo x > state/x", &vault{}, 0, 0, ""},
		{"failure", "echo x > state/x; exit 3", &vault{}, 3, 1, "saved checkpoint 1-1 to s3://b/c/job/7: "},
		{"killed", "echo x > state/x; kill -9 $$", &vault{}, 137, 1, "saved checkpoint 1-1"},
		{"nothing written", "exit 3", &vault{}, 3, 0, ""},
		{"told", `test "$BATCHCTL_CHECKPOINT" = "$PWD/state" -a $BATCHCTL_CHECKPOINT_RESTORED = 0 -a ! -e "$BATCHCTL_CHECKPOINT_NOTICE"`, &vault{}, 0, 0, ""},
		{"S3 is down", "exit 0", &vault{err: errors.New("no way")}, ExitInputs, -1, "find the checkpoints of this job: no way"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _, stderr := stager(t, savedDocument)
			s.Environ = append(s.Environ, "AWS_BATCH_JOB_ID=job:7", "AWS_BATCH_JOB_ARRAY_INDEX=7", "AWS_BATCH_JOB_ATTEMPT=2")
			s.Checkpoints = test.store
			t.Chdir(s.Dir)
			exit, err := s.Run(t.Context(), []string{"sh", "-c", test.script})
			said := fmt.Sprint(stderr, err)
			if exit != test.exit || !strings.Contains(said, test.want) {
				t.Errorf("exit code %d, want %d\n%s", exit, test.exit, said)
			}
			if test.saved >= 0 && test.store.generations(t, "s3://b/c/job/7") != test.saved {
				t.Errorf("the place has %v", test.store.texts)
			}
		})
	}
	s, _, _ := stager(t, savedDocument)
	s.Environ = append(s.Environ, "AWS_BATCH_JOB_ID=job")
	if exit, err := s.Run(t.Context(), []string{"true"}); exit != ExitInputs || err == nil {
		t.Errorf("without a store: %d, %v", exit, err)
	}
}

// TestForward checks that SIGTERM reaches the program after the save, or after 10 seconds of it. Other signals, and
// later ones, are not held back.
func TestForward(t *testing.T) {
	for _, test := range []struct {
		hangs bool
		held  time.Duration
	}{{false, settle}, {true, beforeEnd}} {
		synctest.Test(t, func(t *testing.T) {
			store := &vault{hangs: test.hangs}
			signals := make(chan os.Signal, 8)
			s, _, _ := stager(t, savedDocument)
			s.Signals = signals
			k := &keeping{signals: make(chan os.Signal, 8), Keeper: &Keeper{Store: store, Place: "s3://b/c", Dir: t.TempDir(), Every: time.Hour, Say: s.say}}
			if _, err := k.Restore(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(k.Dir, "x"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			s.begin(t.Context(), k)
			begin := time.Now()
			signals <- syscall.SIGUSR1
			if got, took := <-k.signals, time.Since(begin); got != syscall.SIGUSR1 || took != 0 {
				t.Errorf("%v after %v", got, took)
			}
			signals <- syscall.SIGTERM
			synctest.Wait()
			if _, err := os.Stat(filepath.Join(k.Dir, checkpoint.NoticeName)); err != nil {
				t.Errorf("there is no notice: %v", err)
			}
			if got, took := <-k.signals, time.Since(begin); got != syscall.SIGTERM || took != test.held {
				t.Errorf("%v after %v, want SIGTERM after %v", got, took, test.held)
			}
			signals <- syscall.SIGTERM
			if got, took := <-k.signals, time.Since(begin); got != syscall.SIGTERM || took != test.held {
				t.Errorf("the second one: %v after %v", got, took)
			}
			k.end()
			if saved := store.generations(t, "s3://b/c"); saved == 1 == test.hangs {
				t.Errorf("%d generations", saved)
			}
		})
	}
}

// TestNotice checks that a notice saves the state at once, and then each new one within seconds.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &vault{}
		s, _, stderr := stager(t, savedDocument)
		s.Reclaim = func(ctx context.Context) string {
			select {
			case <-time.After(time.Minute):
				return "the machine is taken away"
			case <-ctx.Done():
				return ""
			}
		}
		k := &keeping{signals: make(chan os.Signal, 1), Keeper: &Keeper{Store: store, Place: "s3://b/c", Dir: t.TempDir(), Every: time.Hour, Say: s.say}}
		if _, err := k.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(k.Dir, text), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("before")
		s.begin(t.Context(), k)
		time.Sleep(time.Minute - time.Second)
		if n := store.generations(t, "s3://b/c"); n != 0 {
			t.Errorf("%d generations before the notice", n)
		}
		time.Sleep(time.Second + settle + time.Millisecond)
		if n := store.generations(t, "s3://b/c"); n != 1 {
			t.Errorf("%d generations after the notice\n%s", n, stderr)
		}
		write("after")
		time.Sleep(noticed + 2*settle)
		if n := store.generations(t, "s3://b/c"); n != 2 {
			t.Errorf("%d generations after another state\n%s", n, stderr)
		}
		k.end()
	})
}

// TestParseCheckpoint checks documents with a checkpoint.
func TestParseCheckpoint(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"/c","to":"s3://b/c/"}`:               "",
		`{"path":"/c","to":"s3://b/c/","every":10}`:    "",
		`{"path":"/c","to":"s3://b/c/","every":9}`:     "every is 9 seconds",
		`{"path":"/c","to":"s3://b/c/","every":86401}`: "every is 86401 seconds",
		`{"path":"/c"}`: `"path" and "to" are required`,
		`{"path":"/c","to":"s3://b/c/","keep":3}`:      `unknown member "keep"`,
		`{"path":"/c","path":"/d","to":"s3://b/c/"}`:   "occurs twice",
		`{"path":"/c","to":"s3://b/c/","every":"10m"}`: "cannot unmarshal",
	} {
		_, err := Parse(`{"version":1,"checkpoint":` + text + `}`)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestPlaceOf checks whose place a checkpoint is in.
func TestPlaceOf(t *testing.T) {
	for _, test := range []struct {
		to      string
		environ []string
		want    string // a place, or a part of the error after "!"
	}{
		{"s3://b/c/", []string{"AWS_BATCH_JOB_ID=a"}, "s3://b/c/a"},
		{"s3://b/c/", []string{"AWS_BATCH_JOB_ID=a:3", "AWS_BATCH_JOB_ARRAY_INDEX=3"}, "s3://b/c/a/3"},
		// A retried array counts its children from 0, and a single one is a plain job.
		{"s3://b/c/", []string{"AWS_BATCH_JOB_ID=b:1", "AWS_BATCH_JOB_ARRAY_INDEX=1", "BATCHCTL_CELLS=2-3", "BATCHCTL_CHECKPOINT_JOB=a"}, "s3://b/c/a/3"},
		{"s3://b/c/", []string{"AWS_BATCH_JOB_ID=b", "BATCHCTL_CELLS=3", "BATCHCTL_CHECKPOINT_JOB=a"}, "s3://b/c/a/3"},
		{"s3://b/${AWS_BATCH_JOB_ID}/c/", []string{"AWS_BATCH_JOB_ID=b", "BATCHCTL_CHECKPOINT_JOB=a"}, "s3://b/a/c"},
		{"s3://b/${AWS_BATCH_JOB_ARRAY_INDEX}/", []string{"AWS_BATCH_JOB_ID=a:3", "AWS_BATCH_JOB_ARRAY_INDEX=3"}, "s3://b/3/a"},
		{"s3://b/${NAME}/", []string{"AWS_BATCH_JOB_ID=a", "NAME=n"}, "s3://b/n/a"},
		{"s3://b/${NAME}/", []string{"AWS_BATCH_JOB_ID=a"}, "!${NAME}"},
		{"s3://b/c/", nil, "!jobs would share their checkpoints"},
		{"s3://b/c/", []string{"AWS_BATCH_JOB_ID=a", "BATCHCTL_CHECKPOINT_JOB=.."}, "!not a job id"},
		{"/efs/../etc/", []string{"AWS_BATCH_JOB_ID=a"}, "!contains .."},
	} {
		got, err := PlaceOf(Checkpoint{Path: "/ckpt", To: test.to}, test.environ)
		if part, fails := strings.CutPrefix(test.want, "!"); fails != (err != nil) || fails && !strings.Contains(err.Error(), part) || !fails && got != test.want {
			t.Errorf("%s %v: %s, %v; want %s", test.to, test.environ, got, err, test.want)
		}
	}
}

// TestFreeze checks that a snapshot keeps the state of a listing, and that a directory which changed since has none.
func TestFreeze(t *testing.T) {
	k := &Keeper{Dir: t.TempDir()}
	put := func(name, text string) {
		t.Helper()
		temp := filepath.Join(k.Dir, name+".tmp")
		if err := errors.Join(os.WriteFile(temp, []byte(text), 0o644), os.Rename(temp, filepath.Join(k.Dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "1")
	files, err := checkpoint.List(os.DirFS(k.Dir))
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.freeze(files)
	if err != nil {
		t.Fatal(err)
	}
	put("a", "22")
	if text, err := os.ReadFile(filepath.Join(s.dir, "a")); err != nil || string(text) != "1" || s.unchanged() != nil {
		t.Errorf("the snapshot has %q: %v, %v", text, err, s.unchanged())
	}
	if err := s.isCurrent(k.Dir, "a"); !errors.Is(err, errWriting) {
		t.Errorf("a replaced file counts as the linked one: %v", err)
	}
	s.drop()
	if _, err := k.freeze(files); !errors.Is(err, errWriting) {
		t.Errorf("a replaced file: %v", err)
	}
	if files, err = checkpoint.List(os.DirFS(k.Dir)); err != nil {
		t.Fatal(err)
	}
	put("b", "1")
	if _, err := k.freeze(files); !errors.Is(err, errWriting) {
		t.Errorf("an added file: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(k.Dir, "a")), os.Remove(filepath.Join(k.Dir, "b"))); err != nil {
		t.Fatal(err)
	}
	if _, err := k.freeze(files); !errors.Is(err, errWriting) {
		t.Errorf("a removed file: %v", err)
	}
	if left, err := os.ReadDir(k.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// TestPlacesDiffer gives each job and child a place of its own, whatever variables a location has and whatever their
// values are.
func TestPlacesDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 36))
	parts := []string{"${AWS_BATCH_JOB_ID}", "${AWS_BATCH_JOB_ARRAY_INDEX}", "${X}", "/", "a", "1", "-"}
	values := []string{"", "1", "11", "0", ":1", "-"}
	for range 5000 {
		to := "s3://bucket/"
		for range 1 + r.IntN(4) {
			to += parts[r.IntN(len(parts))]
		}
		owners := map[string]string{}
		for _, job := range []string{"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"} {
			for _, cell := range []string{"", "0", "1", "10", "11", "110", "111"} {
				environ := []string{"AWS_BATCH_JOB_ID=" + job, "X=" + values[r.IntN(len(values))]}
				if cell != "" {
					environ = append(environ, "AWS_BATCH_JOB_ARRAY_INDEX="+cell)
				}
				place, err := PlaceOf(Checkpoint{Path: "/ckpt", To: to}, environ)
				if err != nil {
					continue // a location that is refused
				}
				if other := owners[place]; other != "" {
					t.Fatalf("%s: %s is the place of %s and of %s:%s", to, place, other, job, cell)
				}
				owners[place] = job + ":" + cell
			}
		}
	}
}
