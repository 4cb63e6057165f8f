//go:build !unix

package target

import (
	"io/fs"
	"syscall"
)

func detached() *syscall.SysProcAttr { return nil }

// SetUmask does nothing: this system has no umask.
func SetUmask(int) {}

// isOurs is true: without user ids, no state directory is among the temporary files.
func isOurs(fs.FileInfo) bool { return true }
