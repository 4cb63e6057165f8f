//go:build unix

package injob

import (
	"os"
	"syscall"
)

// become replaces this process by a program.
func become(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }

// handedOn are the signals that a program in a container is meant to get.
func handedOn() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
}
