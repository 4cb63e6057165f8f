//go:build unix

package container

import "syscall"

func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
