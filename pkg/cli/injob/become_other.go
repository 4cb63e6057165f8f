//go:build !unix

package injob

import (
	"os"
	"os/exec"
	"syscall"
)

// become runs a program until it finishes in the place of this process, which cannot be
// replaced here.
func become(path string, argv, env []string) error {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// handedOn are the signals that a program in a container is meant to get.
func handedOn() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
