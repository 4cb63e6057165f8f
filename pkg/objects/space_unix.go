//go:build linux || darwin

package objects

import (
	"os"
	"syscall"
)

// space returns the device of a directory, and the bytes that this user may still write there.
func space(dir string) (device uint64, free int64, known bool) {
	var fs syscall.Statfs_t
	info, err := os.Stat(dir)
	if err != nil || syscall.Statfs(dir, &fs) != nil {
		return 0, 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || fs.Blocks == 0 { // a file system without a size, as some of FUSE
		return 0, 0, false
	}
	return uint64(stat.Dev), int64(fs.Bavail) * int64(fs.Bsize), true
}

// another returns the owner of a directory, if this process is root and the owner is not.
func another(dir string) *owner {
	info, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return &owner{int(stat.Uid), int(stat.Gid)}
	}
	return nil
}
