//go:build unix

package target

import (
	"io/fs"
	"os"
	"syscall"
)

// detached gives a child its own session: the terminal's Ctrl-C and hang-up do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// SetUmask sets the umask of a background engine.
func SetUmask(mask int) { syscall.Umask(mask) }

// isOurs reports whether a file belongs to the user of this process, or to root, who can change every file.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0)
}
