package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// outOfMemory is the container's reason in Batch when the kernel killed it for its memory.
const outOfMemory = "OutOfMemoryError: Container killed due to memory usage"

// life is a container from its creation until it has ended.
type life struct {
	client
	name string
	log  *os.File
	// lasting is the context of calls that take as long as the container.
	lasting context.Context
	// abandon ends those calls.
	abandon context.CancelFunc
	// attached is closed when the program that copies its output has ended.
	attached chan struct{}
	// carrier is the exit code of that program, valid once attached is closed.
	carrier int
	over    chan struct{} // closed when the container has ended
	// killed is set if the engine has sent SIGKILL. It is valid once end has returned.
	killed bool
	// unlogged is why the output is not in the log. It is valid once attached is closed.
	unlogged error
}

// carryOut starts the container and waits until it ends.
func (x *Executor) carryOut(ctx context.Context, name, around string, a attempt.Attempt,
	log *os.File) (exit int, err error) {
	oom := ""
	if x.kind == Podman {
		dir := x.options.attemptDir(a.ID)
		if err := x.initialize(name, dir); err != nil {
			return -1, fmt.Errorf("CannotStartContainerError: %w", err)
		}
		oom = filepath.Join(dir, "oom")
	}
	l := &life{client: x.client, name: name, log: log, attached: make(chan struct{}), over: make(chan struct{})}
	l.lasting, l.abandon = context.WithCancel(context.Background())
	defer l.abandon()
	if err := l.attach(); err != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", err)
	}
	now, err := l.begin(a)
	if err == nil && now.begun() {
		if a.Pulled != nil {
			a.Pulled(x.digestOf(aws.ToString(a.Container.Image), now))
		}
		a.Started(x.handle(name))
		meter := l.measure(a, around, now)
		defer func() { report(meter, a, err) }()
		var ending sync.WaitGroup
		signal := now.stopSignal()
		ending.Go(func() { l.end(ctx, a, signal) })
		now, err = l.wait(now)
		close(l.over)
		ending.Wait()
	}
	switch {
	case err != nil:
		return -1, fmt.Errorf("CannotInspectContainerError: %w", err)
	case !now.begun():
		return -1, fmt.Errorf("CannotStartContainerError: %s", orUnknown(now.State.Error))
	case l.unlogged != nil:
		return now.State.ExitCode, l.unlogged
	}
	if x.kind == Docker && now.State.ExitCode == 137 && !now.State.OOMKilled && !l.killed {
		now = l.lateNews(now)
	}
	return verdict(now, oom)
}

// lateNews inspects a container again, for some seconds, after a SIGKILL. Docker learns of the end
// and of the lack of memory separately. The end may arrive first, by more than a second on a busy
// machine. It returns now if there is nothing new.
func (l *life) lateNews(now inspected) inspected {
	for pause := 50 * time.Millisecond; pause < 4*time.Second; pause *= 2 {
		time.Sleep(pause)
		later, err := l.inspect(l.name)
		if err != nil {
			return now // the end is known; its cause is optional
		}
		if later.State.OOMKilled {
			return later
		}
	}
	return now
}

// attach starts the container. Its output goes directly to the log's file.
func (l *life) attach() error {
	cmd := l.command(l.lasting, "start", "--attach", "--", l.name)
	cmd.Stdout, cmd.Stderr = l.log, l.log
	if err := process.Start(cmd); err != nil {
		return err
	}
	go func() {
		defer close(l.attached)
		_ = cmd.Wait() // its exit code is the container's or its own: inspect shows which
		l.carrier = cmd.ProcessState.ExitCode()
	}()
	return nil
}

// initialize does the part of a podman start that can fail with a message. docker keeps the cause
// of a failed start; podman only prints it.
//
// It runs in the attempt's directory, because podman's monitor writes the file "oom" there when
// the container has run out of memory. On cgroups v1 podman itself does not detect that.
func (x *Executor) initialize(name, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	init := x.command(ctx, "init", "--", name)
	init.Dir = dir
	_, err := run(init)
	return err
}

// orUnknown returns a text for an empty cause.
func orUnknown(cause string) string {
	if cause == "" {
		return "the container did not start; its log may show the reason"
	}
	return cause
}

// begin waits until the container runs, has run, or cannot run. Neither program reports this while
// attached, so begin polls.
func (l *life) begin(a attempt.Attempt) (inspected, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		select {
		case <-l.attached:
			return l.inspect(l.name)
		case <-a.Kill: // it does not start
			if err := l.remove(l.name); err != nil {
				return inspected{}, err
			}
			<-l.attached
			return inspected{}, errors.New("ended before it started")
		case <-time.After(pause):
		}
		if now, err := l.inspect(l.name); err != nil || now.begun() {
			return now, err
		}
	}
}

// wait returns when the container has ended; now is its last known state. The program that copies
// the output may have died before.
func (l *life) wait(now inspected) (inspected, error) {
	<-l.attached
	var err error
	if now.State.Running {
		now, err = l.inspect(l.name)
	}
	if err != nil {
		return now, err
	}
	if l.unlogged = l.checkLog(now); l.unlogged != nil && now.State.Running {
		_ = l.kill("SIGKILL") // an error means that it has ended
	}
	for now.State.Running {
		if _, err := l.output(l.lasting, "wait", "--", l.name); err != nil {
			return now, err
		}
		if now, err = l.inspect(l.name); err != nil {
			return now, err
		}
	}
	return now, nil
}

// checkLog returns an error if the log could not be written, when the program that copied the
// output did not end like the container. It died, or could not write. A command that prints to a
// pipe does not notice and would succeed. If the log can be written, checkLog notes in it that
// output may be missing.
func (l *life) checkLog(now inspected) error {
	if !now.State.Running && l.carrier == now.State.ExitCode {
		return nil
	}
	_, err := fmt.Fprintf(l.log,
		"batchctl: output may be missing here: %s start ended with exit code %d, earlier than the container or with another result\n",
		l.kind, l.carrier)
	if err != nil {
		return fmt.Errorf("the container's output could not be written to its log: %w", err)
	}
	return nil
}

// end asks the container to end when ctx does, and kills it when a.Kill is closed.
func (l *life) end(ctx context.Context, a attempt.Attempt, signal string) {
	select {
	case <-l.over:
		return
	case <-ctx.Done():
		_ = l.kill(signal) // a.Kill follows
	}
	select {
	case <-l.over:
		return
	case <-a.Kill:
	}
	l.killed = true
	if l.kill("SIGKILL") == nil {
		return
	}
	// It has most likely ended. If inspect fails, stop waiting.
	if _, err := l.inspect(l.name); err != nil {
		l.abandon()
	}
}

// kill sends a signal. An error may also mean that the container has ended.
func (l *life) kill(signal string) error {
	_, err := l.quickly("kill", "--signal", signal, "--", l.name)
	return err
}

// verdict returns the container's exit code, and the reason if it ran out of memory. oom is the
// name of a file that exists in that case; "" if podman's monitor does not write one.
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
