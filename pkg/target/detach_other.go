//go:build !unix

package target

import "syscall"

func detached() *syscall.SysProcAttr { return nil }

func SetUmask(int) {}
