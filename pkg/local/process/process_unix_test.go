//go:build unix

package process

import (
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"

	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// ran is the result of an attempt.
type ran struct {
	exit   int
	err    error
	log    string
	handle string
}

// uniqueID returns an id that no other attempt on this machine has. Root's tests end every process with the id of
// their attempt, also one that the same tests started as another user.
func uniqueID(t *testing.T) string { return t.Name() + "-" + rand.Text() }

// execute runs a command as an attempt; stop, if not nil, gets the means to end it.
func execute(t *testing.T, a attempt.Attempt, stop func(a attempt.Attempt, end func(), kill func())) ran {
	t.Helper()
	a.ID = uniqueID(t)
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if a.Container == nil {
		a.Container = &types.ContainerProperties{Image: aws.String("busybox")}
	}
	if a.Directory == "" {
		a.Directory = t.TempDir()
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	kill := make(chan struct{})
	a.Kill = kill
	var r ran
	started := make(chan struct{})
	a.Started = func(handle string) {
		r.handle = handle
		close(started)
	}
	if stop != nil {
		go func() {
			<-started
			stop(a, end, func() { close(kill) })
		}()
	}
	r.exit, r.err = Executor{program: []string{"/bin/echo", "workload", "run"}}.Run(ctx, a, log)
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	r.log = string(text)
	return r
}

func TestProcess(t *testing.T) {
	for _, c := range []struct {
		name    string
		command []string
		image   string
		exit    int
		err     string
		log     string
	}{
		{"output of both streams", []string{"sh", "-c", "echo out; echo err >&2"}, "", 0, "", "out\nerr\n"},
		{"exit code", []string{"sh", "-c", "exit 42"}, "", 42, "", ""},
		{"ended by a signal", []string{"sh", "-c", "kill -9 $$"}, "", 137, "", ""},
		{"no shell in between", []string{"echo", "$HOME; *"}, "", 0, "", "$HOME; *\n"},
		{"empty", []string{""}, "", 127, `CannotStartContainerError: exec: "": executable file not found on this machine`, ""},
		{"not found", []string{"no-such-command"}, "", 127, `CannotStartContainerError: exec: "no-such-command": executable file not found on this machine`, ""},
		{"not executable", []string{"/etc/passwd"}, "", 126, `CannotStartContainerError: exec: "/etc/passwd": permission denied`, ""},
		{"no command", nil, "", -1, "CannotStartContainerError: the job has no command, and the process executor does not read the image's default command; add a command to the job", ""},
		{"shipped workloads", []string{"matrix", "--size", "10"}, "example.com/batchctl-workloads:1", 0, "", "workload run matrix --size 10\n"},
		{"empty standard input", []string{"cat"}, "", 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attempt.Attempt{Command: c.command, Container: &types.ContainerProperties{Image: aws.String(c.image)}}
			r := execute(t, a, nil)
			text := ""
			if r.err != nil {
				text = r.err.Error()
			}
			if r.exit != c.exit || text != c.err || r.log != c.log {
				t.Errorf("exit %d, error %q, log %q; want %d, %q, %q", r.exit, text, r.log, c.exit, c.err, c.log)
			}
		})
	}
}

func TestProcessEnvironmentIsSmall(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "of the user")
	t.Setenv("GITHUB_TOKEN", "of the user")
	t.Setenv("LC_TIME", "C")
	directory := t.TempDir()
	name := "MESSAGE"
	r := execute(t, attempt.Attempt{Command: []string{"env"}, Directory: directory, GPUs: []string{"GPU-a", "GPU-b"},
		Environment: []types.KeyValuePair{{Name: &name, Value: aws.String("two words")}, attempt.Variable("AWS_BATCH_JOB_ID", "x")}}, nil)
	lines := strings.Split(strings.TrimSpace(r.log), "\n")
	for _, want := range []string{"MESSAGE=two words", "AWS_BATCH_JOB_ID=x", "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", "LC_TIME=C"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is missing in %q", want, lines)
		}
	}
	if strings.Contains(r.log, "of the user") {
		t.Errorf("the user's keys are in the job's environment: %q", lines)
	}
	if r := execute(t, attempt.Attempt{Command: []string{"sh", "-c", "pwd; echo \"$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES\""}, Directory: directory}, nil); r.log != directory+"\n void\n" {
		t.Errorf("in %s the job printed %q", directory, r.log)
	}
}

func TestProcessLooksInItsOwnPath(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "tool"), []byte("#!/bin/sh\necho mine\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := []types.KeyValuePair{attempt.Variable("PATH", directory+":/usr/bin:/bin")}
	if r := execute(t, attempt.Attempt{Command: []string{"tool"}, Environment: path}, nil); r.log != "mine\n" {
		t.Errorf("by PATH: %+v", r)
	}
	if r := execute(t, attempt.Attempt{Command: []string{"./tool"}, Directory: directory}, nil); r.log != "mine\n" {
		t.Errorf("by directory: %+v", r)
	}
	if r := execute(t, attempt.Attempt{Command: []string{"tool"}, Directory: directory}, nil); r.exit != 127 {
		t.Errorf("the working directory is searched: %+v", r)
	}
}

func TestProcessHasPathWithoutOne(t *testing.T) {
	for _, own := range [][]string{nil, {"PATH="}} {
		env := processEnvironment(own, attempt.Attempt{})
		if got := valueOf(env, "PATH"); got != defaultPath {
			t.Errorf("with %q the job's PATH is %q, want %q", own, got, defaultPath)
		}
	}
	if got := valueOf(processEnvironment([]string{"PATH=/opt/bin"}, attempt.Attempt{}), "PATH"); got != "/opt/bin" {
		t.Errorf("the job's PATH is %q, want the engine's", got)
	}
}

func TestProcessNamesItsDirectory(t *testing.T) {
	base := t.TempDir()
	file, shut := filepath.Join(base, "file"), filepath.Join(base, "shut")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(shut, 0)); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{filepath.Join(base, "gone"): "no such file or directory", file: "not a directory", filepath.Join(file, "below"): "not a directory"}
	if os.Geteuid() != 0 {
		reasons[shut] = "permission denied"
	}
	for directory, reason := range reasons {
		for _, command := range []string{"true", "./true"} { // the latter is not found there either
			r := execute(t, attempt.Attempt{Command: []string{command}, Directory: directory}, nil)
			if want := "CannotStartContainerError: enter the working directory " + directory + ": " + reason; r.err == nil || r.err.Error() != want {
				t.Errorf("%s: got %v, want %s", command, r.err, want)
			}
		}
	}
}

func TestProcessEndsWithItsWholeGroup(t *testing.T) {
	for _, c := range []struct {
		name, script string
		stop         bool
		exit         int
	}{
		{"asked to end", "wait", true, 143},
		{"ends on its own", "until [ -e pid ]; do sleep 0.01; done; exit 5", false, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			var stop func(attempt.Attempt, func(), func())
			if c.stop {
				stop = func(_ attempt.Attempt, end, _ func()) { processtest.Appears(t, file); end() }
			}
			r := execute(t, attempt.Attempt{Command: []string{"sh", "-c", processtest.Grandchild(file) + c.script}, Directory: filepath.Dir(file)}, stop)
			if r.exit != c.exit {
				t.Errorf("exit %d, want %d", r.exit, c.exit)
			}
			pid, err := strconv.Atoi(processtest.Appears(t, file))
			if err != nil {
				t.Fatal(err)
			}
			processtest.Vanishes(t, pid)
		})
	}
}

func TestProcessThatIgnoresSIGTERMIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ready")
	r := execute(t, attempt.Attempt{Command: []string{"sh", "-c", "trap 'echo no' TERM; echo 1 > " + file + "; while :; do sleep 0.02; done"}},
		func(_ attempt.Attempt, end, kill func()) {
			processtest.Appears(t, file)
			end()
			kill()
		})
	if r.exit != 137 {
		t.Errorf("exit %d, want 137; log %q", r.exit, r.log)
	}
}

func TestClearKillsWhatAnEarlierEngineLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", processtest.Grandchild(file)+"wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	processtest.Appears(t, file)
	mine := handle(cmd.Process.Pid)
	later := strings.Fields(mine)[0] + " 1@another-boot"
	id := uniqueID(t)
	if err := (Executor{}).Clear(id, later); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("a process with the same number and another start was killed")
	}
	if err := (Executor{}).Clear(id, mine); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended in peace")
	}
	pid, err := strconv.Atoi(processtest.Appears(t, file))
	if err != nil {
		t.Fatal(err)
	}
	processtest.Vanishes(t, pid)
	for _, handle := range []string{mine, "", "script x"} {
		if err := (Executor{}).Clear(id, handle); err != nil && handle != "script x" {
			t.Errorf("clear %q: %v", handle, err)
		}
	}
}

// TestReadHandle checks that the handles of earlier engines, which have both parts, are still read.
func TestReadHandle(t *testing.T) {
	for handle, want := range map[string][2]string{
		"":                 {"", ""},
		"12 99@boot":       {"12 99@boot", ""},
		"12 99@boot /a/b":  {"12 99@boot", "/a/b"},
		"/cgroup/batchctl": {"", "/cgroup/batchctl"},
	} {
		if group, path := readHandle(handle); group != want[0] || path != want[1] {
			t.Errorf("%q is %q and %q, want %q", handle, group, path, want)
		}
	}
}
