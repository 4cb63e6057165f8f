package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Exit codes of the launchers before the user's program starts: invalid input (EX_USAGE of
// sysexits.h) and, as in shells, a program that cannot run, and a missing program. A program
// killed by a signal has ExitBySignal plus the signal's number.
const (
	ExitUsage    = 64
	ExitNotRun   = 126
	ExitNotFound = 127
	ExitBySignal = 128
	ExitAsked    = ExitBySignal + int(syscall.SIGTERM)
)

// Ending is the reason why a process ends before the user's program has started.
type Ending struct {
	// Exit is the exit code of the process.
	Exit int
	text string
}

// Error is the message.
func (e *Ending) Error() string { return e.text }

func end(exit int, format string, args ...any) error {
	return &Ending{Exit: exit, text: fmt.Sprintf(format, args...)}
}

// Become replaces the process with a program, with exec as in syscall.Exec. It finds args[0]
// in the PATH that the program will have. It returns only on failure, with an *Ending.
func Become(exec func(path string, argv, env []string) error, args, env []string) error {
	path, err := command(args, env)
	if err != nil {
		return err
	}
	err = exec(path, args, env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = exec("/bin/sh", asScript(path, args), env)
	}
	if err != nil {
		return end(ExitNotRun, "cannot run %s: %v", path, err)
	}
	return nil
}

// command returns the path of args[0].
func command(args, env []string) (path string, err error) {
	if len(args) == 0 {
		return "", end(ExitUsage, "there is no command to run: give the job one")
	}
	return LookPath(env, args[0])
}

// asScript returns the command line for a script without a #! line, which shells run themselves.
func asScript(path string, args []string) []string {
	return append([]string{"sh", path}, args[1:]...)
}

// Process runs a program as a child process until it finishes.
type Process struct {
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals are forwarded to the program.
	Signals <-chan os.Signal
}

// Command runs args[0], found as in Become. An error before the program starts is an *Ending.
func (p *Process) Command(ctx context.Context, args []string) (exit int, asked bool, err error) {
	path, err := command(args, p.Env)
	if err != nil {
		return 0, false, err
	}
	exit, asked, err = p.Run(ctx, path, args)
	if errors.Is(err, syscall.ENOEXEC) {
		exit, asked, err = p.Run(ctx, "/bin/sh", asScript(path, args))
	}
	return exit, asked, err
}

// Run runs a program until it finishes. It returns its exit code, ExitBySignal plus the signal
// for a killed one, and whether it was asked to stop meanwhile. When the context ends, the
// program gets SIGTERM.
func (p *Process) Run(ctx context.Context, path string, argv []string) (exit int, asked bool, err error) {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: p.Env, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
	if err := cmd.Start(); err != nil {
		return 0, false, &unstarted{Ending{ExitNotRun, fmt.Sprintf("cannot run %s: %v", path, err)}, err}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	canceled := ctx.Done()
	for {
		// A signal to a program that has just ended fails. The error does not matter.
		select {
		case err := <-ended:
			exit, err := exitCode(err)
			return exit, asked, err
		case s := <-p.Signals:
			asked = true
			_ = cmd.Process.Signal(s)
		case <-canceled:
			asked = true
			canceled = nil
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// unstarted is an Ending that keeps its cause.
type unstarted struct {
	ending Ending
	cause  error
}

// Error is the message.
func (u *unstarted) Error() string { return u.ending.text }

// Unwrap returns the Ending and its cause.
func (u *unstarted) Unwrap() []error { return []error{&u.ending, u.cause} }

// exitCode returns the exit code that a shell reports for a process. Any other error is returned.
func exitCode(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ExitBySignal + int(status.Signal()), nil
	}
	return failed.ExitCode(), nil
}

// defaultPath is the search path of shells if PATH is not set.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookPath finds a program as the shell does: by the PATH of env, the environment that the program will
// have. An error is an *Ending.
func LookPath(env []string, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	path, ok := environment(env).lookup("PATH")
	if !ok {
		path = defaultPath
	}
	var found error
	for dir := range strings.SplitSeq(path, ":") {
		file := filepath.Join(dir, name)
		if dir == "" {
			file = "./" + name
		}
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if e, ok := errors.AsType[*Ending](err); ok && e.Exit == ExitNotRun && found == nil {
			found = err
		}
	}
	if found == nil || name == "" {
		found = end(ExitNotFound, "%s: not found", name)
	}
	return "", found
}

// executable is an error unless the file exists and its mode allows execution.
func executable(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return end(ExitNotFound, "%s: not found", file)
	}
	if err != nil {
		return end(ExitNotRun, "cannot run %s: %v", file, err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return end(ExitNotRun, "cannot run %s: it is not an executable file", file)
	}
	return nil
}
