//go:build unix

package newfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of the file that it replaces, where the system allows
// that. It returns how many names the old file has.
func keepOwner(f *os.File, old fs.FileInfo) (links uint64) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	// Only root can change the owner. For other users the file becomes theirs, as in a text editor.
	if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
		_ = f.Chown(-1, int(stat.Gid))
	}
	return uint64(stat.Nlink)
}
