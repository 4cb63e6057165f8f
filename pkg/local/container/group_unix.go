//go:build unix

package container

import "syscall"

// apart keeps a program out of the terminal's process group, where that exists.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
