//go:build !unix

package target

import "syscall"

func detached() *syscall.SysProcAttr { return nil }

// SetUmask does nothing: this system has no umask.
func SetUmask(int) {}
