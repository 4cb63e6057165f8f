//go:build !unix

package injob

import (
	"os"
	"os/exec"
	"syscall"
)

// become runs a program and exits with its exit code. Only Unix can replace a process.
func become(path string, argv, env []string) error {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// handedOn returns the signals that are passed to the program of a job.
func handedOn() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
