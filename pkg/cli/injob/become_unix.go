//go:build unix

package injob

import (
	"os"
	"syscall"
)

// become replaces this process by a program, which then gets signals directly. It
// returns only if that fails (execve, POSIX.1-2017).
func become(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }

// handedOn returns the signals that are passed to the program of a job. A
// container's process 1 must pass them on, because the kernel does not apply
// their default actions to it.
func handedOn() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
}
