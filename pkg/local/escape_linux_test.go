package local

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// escapes are shell commands, each of which leaves a process behind that tries not to end with its
// job. OUT is a file that appears once it has got away, TOKEN stands in the command line of everything that is left.
var escapes = map[string]string{
	"background":      `sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"setsid":          `setsid sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"double fork":     `(setsid sh -c '(echo > OUT; exec sleep TOKEN) & exit' &)`,
	"no environment":  `env -i /usr/bin/setsid /bin/sh -c '(/bin/sh -c "echo > OUT; exec /bin/sleep TOKEN" &)' &`,
	"changed marker":  `BATCHCTL_ATTEMPT=other setsid sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"nohup":           `nohup setsid sh -c 'cd /; echo > OUT; exec sleep TOKEN' </dev/null >/dev/null 2>&1 &`,
	"ignores signals": `setsid sh -c 'trap "" TERM HUP INT QUIT; echo > OUT; while :; do sleep 0.1; done' TOKEN &`,
	"forks":           `setsid sh -c 'echo > OUT; while :; do setsid sleep TOKEN & sleep 0.002; done' TOKEN &`,
	"hops":            `echo 'echo > OUT; env -i /usr/bin/setsid /bin/sh OUT.sh TOKEN & exit' > OUT.sh; setsid sh OUT.sh TOKEN &`,
	"subreaper":       `ESCAPEE -test.run=^TestEscapee$ OUT TOKEN &`,
}

// token is for sleep: about 11 days, and no other process sleeps as long.
func token() string { return fmt.Sprintf("1000000.%015d", rand.Int64N(1e15)) }

// escape returns an escape as a command that is over once OUT exists.
func escape(name, out, token string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	command := strings.NewReplacer("OUT", out, "TOKEN", token, "ESCAPEE", "BATCHCTL_TEST_ESCAPEE=1 "+self).Replace(escapes[name])
	return command + "\nuntil [ -e " + out + " ]; do sleep 0.005; done\n"
}

// TestEscapee is not a test of its own: it is the command of an escape that adopts its descendants.
func TestEscapee(t *testing.T) {
	if os.Getenv("BATCHCTL_TEST_ESCAPEE") == "" {
		t.Skip("runs only as a job")
	}
	out, token := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/sh", "-c", "(sleep "+token+" &) ; echo > "+out)
	child.Env = []string{}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
}

// survivors returns the processes that run with a token in their command line.
func survivors(token string) (pids []int) {
	ended := map[int]bool{} // those that a scan has seen
	for range rescans {
		missed, err := eachProcess(func(pid int) (gone bool) {
			line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if hasEnded(pid) { // it may have started another process since the scan read its number
				gone, ended[pid] = !ended[pid], true
				return gone
			}
			if bytes.Contains(line, []byte(token)) {
				pids = append(pids, pid)
			}
			return err != nil
		})
		if err != nil {
			panic(err)
		}
		if !missed || len(pids) > 0 {
			break
		}
	}
	return pids
}

// endSurvivors ends what a test left behind.
func endSurvivors(token string) {
	for left := survivors(token); len(left) > 0; left = survivors(token) {
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// groupOnly ends process groups only, as a control.
type groupOnly struct{}

func (groupOnly) start(_ string, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	_, err := begin(ownGroup())
	return groupOnly{}, err
}
func (groupOnly) clear(string, string) error { return nil }
func (groupOnly) close() error               { return nil }
func (groupOnly) place() string              { return "" }
func (groupOnly) end() error                 { return nil }

var treeKinds = []string{"cgroup2", "cgroup1", "marks"}

// treesOf returns the trees of one kind, which the test uses until it ends.
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

func needEscapes(t *testing.T) { testtool.Need(t, "setsid", "nohup", "env", "sleep") }

// TestEscapesGetAway shows that the other tests can fail.
func TestEscapesGetAway(t *testing.T) {
	needEscapes(t)
	for name := range escapes {
		t.Run(name, func(t *testing.T) {
			if name == "background" {
				return // ends with the group
			}
			token := token()
			defer endSurvivors(token)
			p := process{trees: groupOnly{}}
			runEscape(t, p, name, "exit 0", token, false)
			if len(survivors(token)) == 0 {
				t.Error("it ended with the process group")
			}
		})
	}
}

// runEscape runs one job that tries to leave something behind, and then ends.
func runEscape(t *testing.T, p process, name, end, token string, stop bool) {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := Attempt{ID: "attempt-" + token, Directory: dir, Started: func(string) {}, Kill: make(chan struct{}),
		Container: &types.ContainerProperties{Image: aws.String("busybox")},
		Command:   []string{"sh", "-c", escape(name, filepath.Join(dir, "out"), token) + "echo > away\n" + end}}
	if stop {
		go func() {
			appears(t, filepath.Join(dir, "away"))
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

// TestEscapes runs jobs that try to outlive themselves. BATCHCTL_ESCAPES says how many, of each kind.
func TestEscapes(t *testing.T) {
	needEscapes(t)
	ends := []string{"exit 0", "exit 1", "kill -9 $$", "wait; sleep 1000"}
	jobs, _ := strconv.Atoi(os.Getenv("BATCHCTL_ESCAPES"))
	for _, kind := range treeKinds {
		t.Run(kind, func(t *testing.T) {
			p := process{trees: treesOf(t, kind)}
			left, ran := 0, 0
			for ran == 0 || ran < jobs {
				for name := range escapes {
					end := ends[rand.IntN(len(ends))]
					token := token()
					runEscape(t, p, name, end, token, end == "wait; sleep 1000")
					if pids := survivors(token); len(pids) > 0 {
						left++
						t.Errorf("%s, %s: processes %v outlive the job", name, end, pids)
						endSurvivors(token)
					}
					ran++
				}
			}
			t.Logf("%d jobs, %d with survivors", ran, left)
		})
	}
}

// everyEscape is a command that leaves every escape behind.
func everyEscape(dir, token string) string {
	var all strings.Builder
	n := 0
	for name := range escapes {
		all.WriteString(escape(name, filepath.Join(dir, "out"+strconv.Itoa(n)), token))
		n++
	}
	return all.String() + "echo > " + filepath.Join(dir, "away") + "\n"
}

// TestEscapesThroughTheEngine ends such a job in every way that an engine has.
func TestEscapesThroughTheEngine(t *testing.T) {
	needEscapes(t)
	for _, kind := range treeKinds {
		for name, end := range map[string]func(w *world, id string){
			"normal":  func(*world, string) {},
			"stop":    func(w *world, id string) { w.terminate(id, "enough") },
			"timeout": func(*world, string) {},
			"serve --stop": func(w *world, _ string) {
				if _, err := w.engine.EndJobs(t.Context()); err != nil {
					t.Error(err)
				}
			},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := newProcess(nil)
				p.trees = treesOf(t, kind)
				dir, token := t.TempDir(), token()
				defer endSurvivors(token)
				w := open(t, Options{Executor: p})
				command := everyEscape(dir, token)
				if name != "normal" {
					command += "sleep 1000"
				}
				w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
					in.ContainerProperties.Command = []string{"sh", "-c", command}
				})
				id := w.submit("work", func(in *awsbatch.SubmitJobInput) {
					if name == "timeout" {
						in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)}
					}
				})
				appears(t, filepath.Join(dir, "away"))
				if name == "timeout" {
					w.engine.mu.Lock() // 60 seconds have passed
					for _, r := range w.engine.runners {
						r.end(ErrTimeout)
					}
					w.engine.mu.Unlock()
				}
				end(w, id)
				w.idle()
				if pids := survivors(token); len(pids) > 0 {
					t.Errorf("processes %v outlive the job", pids)
				}
			})
		}
	}
}

// TestEscapist is not a test of its own: TestEscapesAfterKill runs it in a process of its own, to kill that.
func TestEscapist(t *testing.T) {
	dir := os.Getenv("BATCHCTL_TEST_ESCAPIST")
	if dir == "" {
		t.Skip("runs only inside TestEscapesAfterKill")
	}
	p := newProcess(nil)
	if kind := os.Getenv("BATCHCTL_TEST_TREES"); kind == "marks" {
		p.trees = newMarks()
	} else {
		p.trees = &firstOf{kinds: []string{kind}, marks: newMarks()}
	}
	w := open(t, Options{Dir: filepath.Join(dir, "state"), Executor: p})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", everyEscape(dir, os.Getenv("BATCHCTL_TEST_TOKEN")) + "sleep 1000"}
	})
	w.submit("work")
	w.idle()
}

// TestEscapesAfterKill: the next engine ends what jobs of an engine that was killed left behind.
func TestEscapesAfterKill(t *testing.T) {
	needEscapes(t)
	for _, kind := range treeKinds {
		t.Run(kind, func(t *testing.T) {
			next := newProcess(nil)
			next.trees = treesOf(t, kind)
			dir, token := t.TempDir(), token()
			defer endSurvivors(token)
			victim := exec.Command(os.Args[0], "-test.run=^TestEscapist$")
			victim.Env = append(os.Environ(), "BATCHCTL_TEST_ESCAPIST="+dir, "BATCHCTL_TEST_TREES="+kind, "BATCHCTL_TEST_TOKEN="+token)
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			appears(t, filepath.Join(dir, "away"))
			_ = victim.Process.Kill()
			_ = victim.Wait() // it was killed
			if len(survivors(token)) == 0 {
				t.Error("nothing was left to the next engine")
			}
			open(t, Options{Dir: filepath.Join(dir, "state"), Executor: next})
			if pids := survivors(token); len(pids) > 0 {
				t.Errorf("processes %v outlive the job", pids)
			}
		})
	}
}
