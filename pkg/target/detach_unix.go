//go:build unix

package target

import "syscall"

// detached gives a child its own session: the terminal's Ctrl-C and hang-up do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// SetUmask sets the umask of a background engine.
func SetUmask(mask int) { syscall.Umask(mask) }
