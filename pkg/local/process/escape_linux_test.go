package process

import (
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"
	"github.com/batchctl/batchctl/pkg/testtool"

	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestEscapee is the program of other tests, see processtest.Escapee.
func TestEscapee(t *testing.T) { processtest.Escapee(t) }

// groupOnly ends only process groups. Tests use it as a control.
type groupOnly struct{}

func (groupOnly) start(_ string, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	_, err := begin(ownGroup())
	return groupOnly{}, err
}
func (groupOnly) clear(string, string) error { return nil }
func (groupOnly) close() error               { return nil }
func (groupOnly) path() string               { return "" }
func (groupOnly) end() error                 { return nil }

var treeKinds = []string{"cgroup2", "cgroup1", "marks"}

// treesOf returns the trees of one kind, which are closed when the test ends.
func treesOf(t *testing.T, kind string) trees {
	t.Helper()
	if kind == "marks" {
		return newMarks()
	}
	f := &firstOf{kinds: []string{kind}, marks: newMarks()}
	if f.current() == nil {
		testtool.Unsupported(t, "no %s that this user may write", kind)
	}
	base := f.groups.base
	t.Cleanup(func() {
		if f.groups == nil {
			t.Errorf("%s did not start a process", kind)
			return
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(base); err == nil {
			t.Errorf("%s is left", base)
		}
	})
	return f
}

// TestEscapesGetAway shows that the other tests can fail.
func TestEscapesGetAway(t *testing.T) {
	processtest.NeedEscapes(t)
	for _, name := range processtest.Escapes() {
		t.Run(name, func(t *testing.T) {
			if name == "background" {
				return // ends with the group
			}
			token := processtest.Token()
			defer processtest.EndSurvivors(token)
			p := Executor{trees: groupOnly{}}
			runEscape(t, p, name, "exit 0", token, false)
			if len(processtest.Survivors(token)) == 0 {
				t.Error("it ended with the process group")
			}
		})
	}
}

// runEscape runs one job that tries to leave a process, and then ends.
func runEscape(t *testing.T, p Executor, name, end, token string, stop bool) {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := attempt.Attempt{ID: "attempt-" + token, Directory: dir, Started: func(string) {}, Kill: make(chan struct{}),
		Container: &types.ContainerProperties{Image: aws.String("busybox")},
		Command:   []string{"sh", "-c", processtest.Escape(name, filepath.Join(dir, "out"), token) + "echo > away\n" + end}}
	if stop {
		go func() {
			processtest.Appears(t, filepath.Join(dir, "away"))
			cancel()
		}()
	}
	exit, err := p.Run(ctx, a, log)
	text, _ := os.ReadFile(log.Name())
	if want := map[string]int{"exit 0": 0, "exit 1": 1, "wait; sleep 1000": 143, "kill -9 $$": 137}[end]; exit != want || err != nil {
		t.Errorf("%s, %s: exit %d, %v; want %d; log %q", name, end, exit, err, want, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "away")); err != nil {
		t.Errorf("%s, %s: the job ended before it had left something: %q", name, end, text)
	}
}

// TestEscapes runs jobs that try to leave processes. BATCHCTL_ESCAPES is their number, of each
// kind.
func TestEscapes(t *testing.T) {
	processtest.NeedEscapes(t)
	ends := []string{"exit 0", "exit 1", "kill -9 $$", "wait; sleep 1000"}
	jobs, _ := strconv.Atoi(os.Getenv("BATCHCTL_ESCAPES"))
	for _, kind := range treeKinds {
		t.Run(kind, func(t *testing.T) {
			p := Executor{trees: treesOf(t, kind)}
			left, ran := 0, 0
			for ran == 0 || ran < jobs {
				for _, name := range processtest.Escapes() {
					end := ends[rand.IntN(len(ends))]
					token := processtest.Token()
					runEscape(t, p, name, end, token, end == "wait; sleep 1000")
					if pids := processtest.Survivors(token); len(pids) > 0 {
						left++
						t.Errorf("%s, %s: processes %v outlive the job", name, end, pids)
						processtest.EndSurvivors(token)
					}
					ran++
				}
			}
			t.Logf("%d jobs, %d with survivors", ran, left)
		})
	}
}
