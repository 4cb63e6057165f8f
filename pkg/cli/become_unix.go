//go:build unix

package cli

import "syscall"

// become replaces this process by a program.
func become(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
