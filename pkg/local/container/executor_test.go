//go:build unix

package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// outcome is how an attempt ended.
type outcome struct {
	exit    int
	err     error
	log     string
	started int // how often Started was called
}

// sorted sorts lines: stdout and stderr are copied separately.
func sorted(log string) string {
	return strings.Join(slices.Sorted(strings.Lines(log)), "")
}

// trial is one attempt with its log.
type trial struct {
	x   *Executor
	a   attempt.Attempt
	log string
}

// newTrial returns an attempt of a container whose members are given as JSON.
func newTrial(t *testing.T, x *Executor, members string) *trial {
	t.Helper()
	if members != "" {
		members = ", " + members
	}
	c := properties(t, `{"image": "`+testImage+`", "vcpus": 1, "memory": 64`+members+`}`)
	return &trial{x: x, log: filepath.Join(t.TempDir(), "log"), a: attempt.Attempt{ID: "id", Job: "job-" + t.Name(), Container: c, Command: c.Command,
		Kill: make(chan struct{}), Started: func(string) {}}}
}

func (r *trial) run(t *testing.T, ctx context.Context) (o outcome) {
	t.Helper()
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	started := r.a.Started
	r.a.Started = func(handle string) {
		o.started++
		started(handle)
	}
	o.exit, o.err = r.x.Run(ctx, r.a, log)
	o.log = r.said(t)
	if left := containers(t, r.x.kind); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if left, _ := os.ReadDir(filepath.Join(r.x.options.Dir, "containers")); len(left) > 0 {
		t.Errorf("%s are left", left)
	}
	return o
}

func (r *trial) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.log)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// want compares an outcome with an exit code, a log, and the beginning of an error.
func (o outcome) want(t *testing.T, exit int, log, reason string) {
	t.Helper()
	got := ""
	if o.err != nil {
		got = o.err.Error()
	}
	if o.exit != exit || sorted(o.log) != sorted(log) || !strings.HasPrefix(got, reason) || got != "" && reason == "" {
		t.Errorf("exit %d, reason %q, log:\n%swant exit %d, reason %q, log:\n%s", o.exit, got, o.log, exit, reason, log)
	}
	if started := reason == "" || strings.HasPrefix(reason, "OutOfMemory"); started != (o.started == 1) || o.started > 1 {
		t.Errorf("Started was called %d times", o.started)
	}
}

func TestExecutor(t *testing.T) {
	programs(t, func(t *testing.T, program string) {
		allowed := allowedDirectory(t)
		x, err := New(t.Context(), Options{Program: program, Dir: emptyDir(t), AllowMounts: []string{allowed}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name, members string
			exit          int
			log, reason   string
		}{
			{"exit code and both outputs", `"command": ["/job", "exit", "7"]`, 7, "to stdout\nto stderr\n", ""},
			{"success", `"command": ["/job", "exit", "0"]`, 0, "to stdout\nto stderr\n", ""},
			{"codes that the programs use themselves", `"command": ["/job", "exit", "125"]`, 125, "to stdout\nto stderr\n", ""},
			{"more than its memory", `"command": ["/job", "eat", "300"]`, 137, "", outOfMemory},
			{"less than its memory", `"command": ["/job", "eat", "30"]`, 0, "still here 1\n", ""},
			{"root's own file system", `"command": ["/job", "write", "/file"]`, 0, "/file true\n", ""},
			{"read-only root, with a tmpfs", `"command": ["/job", "write", "/file", "/tmp/file", "/run/file", "/t/file"], "readonlyRootFilesystem": true,
				"linuxParameters": {"tmpfs": [{"containerPath": "/t", "size": 1}]}`, 0, "/file false\n/tmp/file false\n/run/file false\n/t/file true\n", ""},
			{"size of a tmpfs", `"command": ["/job", "size", "/t"], "linuxParameters": {"tmpfs": [{"containerPath": "/t", "size": 3}]}`, 0, "3\n", ""},
			{"shared memory", `"command": ["/job", "size", "/dev/shm"], "linuxParameters": {"sharedMemorySize": 17}`, 0, "17\n", ""},
			{"user", `"command": ["/job", "user"], "user": "1234:99"`, 0, "1234 99 pid 1: true\n", ""},
			{"init", `"command": ["/job", "user"], "linuxParameters": {"initProcessEnabled": true}`, 0, "0 0 pid 1: false\n", ""},
			{"ulimits", `"command": ["/job", "limit"], "ulimits": [{"name": "nproc", "softLimit": 100, "hardLimit": 200},
				{"name": "nofile", "softLimit": 64, "hardLimit": 64}]`, 0, "100 200\n", ""},
			{"local path", `"command": ["/job", "write", "/v/file"], "volumes": [{"name": "v", "host": {"sourcePath": "` + allowed + `/data"}}],
				"mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}]`, 0, "/v/file true\n", ""},
			{"the same, to read only", `"command": ["/job", "write", "/v/file"], "volumes": [{"name": "v", "host": {"sourcePath": "` + allowed + `/data"}}],
				"mountPoints": [{"sourceVolume": "v", "containerPath": "/v", "readOnly": true}]`, 0, "/v/file false\n", ""},
			{"volume of its own", `"command": ["/job", "write", "/v/file"], "volumes": [{"name": "v", "host": {}}],
				"mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}]`, 0, "/v/file true\n", ""},
			{"no such program in the image", `"command": ["/nothing"]`, -1, "", "CannotStartContainerError: "},
			{"no such image", `"image": "nothing.invalid/nothing:1", "command": ["/job"]`, -1, "", "CannotPullContainerError: "},
			{"no command at all", ``, -1, "", "CannotCreateContainerError: "},
			{"not allowed", `"privileged": true`, -1, "", "CannotCreateContainerError: the job is privileged"},
		} {
			t.Run(c.name, func(t *testing.T) {
				o := newTrial(t, x, c.members).run(t, t.Context())
				for again := 0; c.reason == outOfMemory && !reportedMemory(t, x) && again < 5; again++ {
					o = newTrial(t, x, c.members).run(t, t.Context())
				}
				if strings.HasPrefix(c.reason, "CannotStart") {
					o.log = "" // docker's client also prints the reason there
				}
				o.want(t, c.exit, c.log, c.reason)
			})
		}
		if text, err := os.ReadFile(filepath.Join(allowed, "data", "file")); err != nil || string(text) != "written\n" {
			t.Errorf("what the job wrote to the mount: %q, %v", text, err)
		}
		t.Run("environment", func(t *testing.T) { testEnvironment(t, x) })
		t.Run("command lines", func(t *testing.T) { testCommandLines(t, x) })
		t.Run("staged text", func(t *testing.T) { testStaged(t, x) })
		t.Run("inputs and outputs", func(t *testing.T) { testInputsAndOutputs(t, x) })
		t.Run("output lost", func(t *testing.T) { testOutputLost(t, x) })
		t.Run("full disk", func(t *testing.T) { testFullDisk(t, x) })
		t.Run("full state", func(t *testing.T) { testFullState(t, program) })
		t.Run("program gone", func(t *testing.T) { testProgramGone(t, x) })
		t.Run("choice", func(t *testing.T) { testChoice(t, program) })
		t.Run("task of two", func(t *testing.T) { testTask(t, program) })
		t.Run("drill", func(t *testing.T) { testDrill(t, program) })
		t.Run("end", func(t *testing.T) { testEnd(t, x) })
		t.Run("leftovers", func(t *testing.T) { testLeftovers(t, x) })
		t.Run("killed engine", func(t *testing.T) { testKilledEngine(t, program) })
	})
}

// reportedMemory checks whether docker recorded that the last container ran out of memory. A busy
// containerd on cgroups v1 may find the container's group removed before it could read the cause.
// Then the cause is lost, and the trial says nothing about batchctl.
func reportedMemory(t *testing.T, x *Executor) bool {
	if x.kind != Docker {
		return true
	}
	messages, err := x.quickly("events", "--since", "10m", "--until", "0s", "--filter", "event=oom")
	if err != nil {
		t.Error(err)
	}
	return messages != ""
}

// testEnd ends attempts as the engine does: with time to end, and without.
func testEnd(t *testing.T, x *Executor) {
	for _, c := range []struct {
		what string
		kill bool
		exit int
	}{{"wait", false, 3}, {"ignore", true, 137}} {
		t.Run(c.what, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			kill := make(chan struct{})
			r := newTrial(t, x, `"command": ["/job", "`+c.what+`"]`)
			r.a.Kill = kill
			var ending sync.WaitGroup
			r.a.Started = func(handle string) {
				if !Owns(handle) {
					t.Errorf("handle %q", handle)
				}
				ending.Go(func() {
					// Send the signal only once the job can handle it.
					eventually(t, "the job waits", func() bool { return r.said(t) == "waiting\n" })
					cancel(errors.New("job terminated"))
					if c.kill {
						eventually(t, "the job was asked", func() bool { return strings.HasSuffix(r.said(t), "got terminated\n") })
						close(kill)
					}
				})
			}
			o := r.run(t, ctx)
			ending.Wait()
			o.want(t, c.exit, "waiting\ngot terminated\n", "")
		})
	}
	t.Run("before its start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("job terminated"))
		o := newTrial(t, x, `"command": ["/job", "wait"]`).run(t, ctx)
		if o.exit != -1 || o.started != 0 || o.err == nil || !strings.HasSuffix(o.err.Error(), "job terminated") {
			t.Errorf("%+v", o)
		}
	})
}

// testLeftovers clears what dead engines left.
func testLeftovers(t *testing.T, x *Executor) {
	leave := func(id string) {
		r := newTrial(t, x, `"command": ["/job", "wait"]`)
		r.a.ID = id
		create, err := x.creation(namePrefix+id, r.a)
		if err == nil {
			_, err = x.do(t.Context(), create)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	leave("one")
	leave("two")
	for _, c := range []struct{ id, handle, left string }{
		{"unknown", "", "batchctl-one batchctl-two"},
		{"on", "", "batchctl-one batchctl-two"},
		{"one", "", "batchctl-two"},
		{"one", x.handle(namePrefix + "one"), "batchctl-two"},
		{"two", x.handle(namePrefix + "two"), ""},
	} {
		if err := x.Clear(c.id, c.handle); err != nil {
			t.Errorf("clear %s: %v", c.id, err)
		}
		left := containers(t, x.kind)
		slices.Sort(left)
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("after %s: %q are left, want %q", c.id, got, c.left)
		}
	}
}
