//go:build unix

package newfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of the one that it replaces, where the system
// allows that, and returns how many names the old file has.
func keepOwner(f *os.File, old fs.FileInfo) (links uint64) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	// Only root can give files away. Other users replace a file as a text editor does.
	if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
		_ = f.Chown(-1, int(stat.Gid))
	}
	return uint64(stat.Nlink)
}
