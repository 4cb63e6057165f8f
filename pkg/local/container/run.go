package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/local"
)

// outOfMemory is what Batch shows as the container's reason when the kernel
// ended it for its memory.
const outOfMemory = "OutOfMemoryError: Container killed due to memory usage"

// life is a container that was made, from its start to its end.
type life struct {
	client
	name     string
	attached chan struct{} // closed when the program that carries its output has ended
	over     chan struct{} // closed when the container has
}

// carryOut starts the container and sees it to its end.
func (x *Executor) carryOut(ctx context.Context, name string, a local.Attempt, log *os.File) (int, error) {
	oom := ""
	if x.kind == Podman {
		dir, err := x.initialize(name, a.ID)
		defer os.RemoveAll(dir)
		if err != nil {
			return -1, fmt.Errorf("CannotStartContainerError: %w", err)
		}
		oom = filepath.Join(dir, "oom")
	}
	l := &life{client: x.client, name: name, attached: make(chan struct{}), over: make(chan struct{})}
	attach := x.command(context.Background(), "start", "--attach", "--", name)
	attach.Stdout, attach.Stderr = log, log // straight to the file: nothing of ours stands between
	if err := attach.Start(); err != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", err)
	}
	go func() {
		defer close(l.attached)
		_ = attach.Wait() // its code is the container's, or its own: inspect tells them apart
	}()
	now, err := l.begin(a)
	if err == nil && now.begun() {
		a.Started(x.handle(name))
		var ending sync.WaitGroup
		signal := now.stopSignal()
		ending.Go(func() { l.end(ctx, a, signal) })
		now, err = l.wait()
		close(l.over)
		ending.Wait()
	}
	switch {
	case err != nil:
		return -1, fmt.Errorf("CannotInspectContainerError: %w", err)
	case !now.begun():
		return -1, fmt.Errorf("CannotStartContainerError: %s", orUnknown(now.State.Error))
	}
	return verdict(now, oom)
}

// initialize does what of a podman container's start can fail, and that says why:
// docker keeps the cause of a failed start, podman only prints it.
//
// It runs in a directory of the attempt's own, because podman's monitor leaves a
// file there, "oom", when the container has run out of memory. On cgroups v1
// podman itself does not find it.
func (x *Executor) initialize(name, id string) (dir string, err error) {
	dir = x.monitorDir(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir, err
	}
	init := x.command(context.Background(), "init", "--", name)
	init.Dir = dir
	_, err = run(init)
	return dir, err
}

// monitorDir is where podman's monitor of an attempt runs.
func (x *Executor) monitorDir(id string) string {
	return filepath.Join(x.options.Dir, "containers", id)
}

func orUnknown(cause string) string {
	if cause == "" {
		return "the container did not start; its log may say why"
	}
	return cause
}

// begin waits until the container runs, or has run, or cannot. Neither program
// tells when: attached, they say nothing, so they are asked.
func (l *life) begin(a local.Attempt) (inspected, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		select {
		case <-l.attached:
			return l.inspect(l.name)
		case <-a.Kill: // it hangs before its start
			if err := l.remove(l.name); err != nil {
				return inspected{}, err
			}
			<-l.attached
			return inspected{}, errors.New("ended before it could start")
		case <-time.After(pause):
		}
		if now, err := l.inspect(l.name); err != nil || now.begun() {
			return now, err
		}
	}
}

// wait returns when the container has ended. The program that carries the output
// may have been lost before.
func (l *life) wait() (inspected, error) {
	<-l.attached
	for {
		now, err := l.inspect(l.name)
		if err != nil || !now.State.Running {
			return now, err
		}
		if _, err := l.output(context.Background(), "wait", "--", l.name); err != nil {
			return now, err
		}
	}
}

// end asks the container to end when ctx does, and ends it when a.Kill is closed.
func (l *life) end(ctx context.Context, a local.Attempt, signal string) {
	select {
	case <-l.over:
		return
	case <-ctx.Done():
		l.kill(signal)
	}
	select {
	case <-l.over:
	case <-a.Kill:
		l.kill("SIGKILL")
	}
}

func (l *life) kill(signal string) {
	_, _ = l.output(context.Background(), "kill", "--signal", signal, "--", l.name) // not running: it has ended, which is what was wanted
}

// verdict is the container's exit code, and the reason if it was its memory. oom
// is a file that then exists too; "" if there is none.
func verdict(now inspected, oom string) (int, error) {
	memory := now.State.OOMKilled
	if !memory && oom != "" {
		_, err := os.Stat(oom)
		memory = err == nil
	}
	if memory && now.State.ExitCode != 0 {
		return now.State.ExitCode, errors.New(outOfMemory)
	}
	return now.State.ExitCode, nil
}
