//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/usage"
)

// Run starts the command in its own process group. When the command ends, Run ends everything that
// it started (see trees), as a container ends with its first process. Its ulimits apply from the
// first instruction, and it is killed if it uses more than its memory.
func (p Executor) Run(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
	argv := p.argv(a)
	if len(argv) == 0 {
		return -1, errors.New("CannotStartContainerError: the job has no command, and the process executor " +
			"does not read the image's default command; add a command to the job")
	}
	env := p.findsBatchctl(argv, processEnvironment(os.Environ(), a))
	if err := mayEnter(a.Directory); err != nil {
		return -1, fmt.Errorf("CannotStartContainerError: enter the working directory %s: %w", a.Directory, err)
	}
	file, code, err := findProgram(argv[0], valueOf(env, "PATH"), a.Directory)
	if err != nil {
		return code, fmt.Errorf("CannotStartContainerError: %w", err)
	}
	if isWorkloads(aws.ToString(a.Container.Image)) && (a.Pod == nil || len(a.Pod.Entrypoint) == 0) {
		argv[0] = programName // its path may be /proc/self/exe
	}
	if err := ctx.Err(); err != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", context.Cause(ctx))
	}
	var cmd *exec.Cmd
	need, _ := model.Requested(a.Container) // SubmitJob has checked it
	limit := need.MemoryMiB << 20
	started, err := p.measure.start(p.family(), a.ID, wanted{a.Measured != nil, limit},
		func(attr *syscall.SysProcAttr) (int, error) {
			if aws.ToBool(a.Container.Privileged) {
				isolateMounts(attr)
			}
			cmd = &exec.Cmd{Path: file, Args: argv, Env: env, Dir: a.Directory, Stdin: noInput(), Stdout: log,
				Stderr:      log,
				SysProcAttr: attr}
			if err := startLimited(cmd, a.Container.Ulimits); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
	if err != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", err)
	}
	group := cmd.Process.Pid
	meter := meterFor(a, started, group)
	ranOut := keptLimit(started)
	memory := p.memory.add(group, limit, ranOut)
	a.Started(handleOf(group, started))
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		signalGroup(group, syscall.SIGTERM)
		select {
		case <-done:
		case <-a.Kill:
			signalGroup(group, syscall.SIGKILL)
		}
	})
	err = cmd.Wait()
	tooLarge := p.memory.remove(memory)
	isOut := ranOut != nil && ranOut()
	stop()
	close(done)
	signalGroup(group, syscall.SIGKILL) // immediately, which leaves the rest less time
	peak := int64(0)
	if ranOut == nil {
		peak = usage.Largest(cmd.ProcessState)
	}
	if meter != nil {
		used := meter.Stop(cmd.ProcessState)
		peak = max(peak, aws.ToInt64(used.PeakMemory))
		used.MemoryLimit = aws.Int64(need.MemoryMiB << 20)
		a.Measured(used)
	}
	if ranOut == nil && limit > 0 && peak > limit && !tooLarge && a.Differed != nil {
		// Not an error: the pages of files among them are no reason for the kernel to kill a container.
		a.Differed(fmt.Sprintf("the memory limit (up to %d of %d MiB were used, with pages of files; more than the limit is an OutOfMemoryError on AWS)", peak>>20, limit>>20))
	}
	leftovers := started.end()
	exit, err := exitCode(cmd.ProcessState, err)
	if err == nil {
		err = leftovers
	}
	if err == nil && (tooLarge && exit == 128+int(syscall.SIGKILL) || isOut && exit != 0) {
		err = errOutOfMemory // as Batch: a command that survives the end of one of its processes may succeed
	}
	return exit, err
}

// errOutOfMemory is the reason that Batch gives when a container passed its hard limit.
var errOutOfMemory = errors.New("OutOfMemoryError: Container killed due to memory usage")

// exitCode returns the code as a container shows it: 128 plus the signal for a process that a
// signal ended.
func exitCode(s *os.ProcessState, err error) (int, error) {
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return -1, fmt.Errorf("wait for the command: %w", err)
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return s.ExitCode(), nil
}

// mayEnter returns why a process cannot run in a directory. The error of its start would name the program, not the
// directory. An empty name is a scratch directory.
func mayEnter(directory string) error {
	if directory == "" {
		return nil
	}
	if info, err := os.Stat(directory); err == nil && !info.IsDir() {
		return unix.ENOTDIR
	}
	return unix.Access(directory, unix.X_OK)
}

// findProgram finds a command as a container runtime does: in the job's PATH, or relative to the
// working directory. The codes are those of a shell: 127 not found, 126 not executable.
func findProgram(name, path, directory string) (file string, code int, err error) {
	var candidates []string
	switch {
	case name == "":
	case filepath.IsAbs(name):
		candidates = []string{name}
	case strings.Contains(name, "/"):
		candidates = []string{filepath.Join(directory, name)}
	default:
		for _, dir := range filepath.SplitList(path) {
			if filepath.IsAbs(dir) {
				candidates = append(candidates, filepath.Join(dir, name))
			}
		}
	}
	code, err = 127, fmt.Errorf("exec: %q: executable file not found on this machine", name)
	for _, file := range candidates {
		denied := unix.Access(file, unix.X_OK)
		if errors.Is(denied, unix.ENOENT) || errors.Is(denied, unix.ENOTDIR) {
			continue // as in most candidates of PATH
		}
		info, stat := os.Stat(file)
		switch {
		case stat != nil:
		case info.IsDir() || denied != nil:
			code, err = 126, fmt.Errorf("exec: %q: permission denied", file)
		default:
			return file, 0, nil
		}
	}
	return "", code, err
}

// signalGroup sends a signal to a process group; one that has ended is no error.
func signalGroup(group int, s syscall.Signal) {
	_ = syscall.Kill(-group, s) // no such group: it has already ended
}

// noInput returns the standard input of all commands. exec would open one for each, which costs more than the other
// files of a short job.
func noInput() io.Reader {
	if f, err := openNull(); err == nil {
		return f
	}
	return nil // exec opens it, or reports why it cannot
}

// openNull opens the file that has no input, once.
var openNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// handleOf returns the handle of an attempt: where the next engine finds its processes, or its process group if only
// their marks show that.
func handleOf(group int, started tree) string {
	if path := started.path(); path != "" {
		return path
	}
	return handle(group)
}

// handle identifies a process permanently: its number alone may be reused.
func handle(pid int) string {
	began, err := processStart(pid)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %s", pid, began)
}

// Clear kills everything that is left of an attempt: the process group, if its first process is
// still the same, and everything that the attempt started.
func (p Executor) Clear(id, handle string) error {
	began, dir := readHandle(handle)
	return errors.Join(clearGroup(began), p.family().clear(id, dir))
}

// readHandle returns the two parts of a handle, each of which may be empty: the process group, and the result of
// tree.path. Earlier engines recorded both.
func readHandle(handle string) (group, path string) {
	fields := strings.Fields(handle)
	if len(fields) < 2 {
		return "", handle
	}
	return strings.Join(fields[:2], " "), strings.Join(fields[2:], "")
}

// Close releases what the executor keeps for later attempts. No attempt may be running.
func (p Executor) Close() error { return errors.Join(p.family().close(), p.measure.close()) }

// meterFor starts the meter of an attempt; nil if the attempt is not measured.
func meterFor(a attempt.Attempt, t tree, root int) *usage.Meter {
	if a.Measured == nil {
		return nil
	}
	m := meterOf(t, root)
	if len(a.GPUs) > 0 {
		m.GPUs = usage.NVIDIA(a.GPUs...)
	}
	m.Start()
	return m
}

// family returns how this executor finds the processes of attempts.
func (p Executor) family() trees {
	if p.trees == nil {
		return newMarks()
	}
	return p.trees
}

// clearGroup kills the group of a handle, if its first process is the same one.
func clearGroup(handle string) error {
	number, began, ok := strings.Cut(handle, " ")
	if !ok {
		return nil
	}
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 {
		return fmt.Errorf("invalid process handle %q", handle)
	}
	if now, err := processStart(pid); err != nil || now != began {
		return nil
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", pid, err)
	}
	return nil
}
