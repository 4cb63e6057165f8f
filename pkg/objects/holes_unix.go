//go:build linux || darwin

package objects

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// stretch returns the next part of a file, from a position on and before size, that is not a hole.
// At the end of the data both are size. Where the file system does not support holes, everything is
// data.
func stretch(f *os.File, from, size int64) (start, end int64) {
	start, err := unix.Seek(int(f.Fd()), from, seekData)
	// ENXIO: there is no data after from.
	if err == unix.ENXIO || err == nil && start >= size {
		return size, size
	}
	if err != nil {
		return from, size
	}
	end, err = unix.Seek(int(f.Fd()), start, seekHole)
	if err != nil || end <= start {
		return start, size
	}
	return start, min(end, size)
}

// stored returns how many bytes a file takes on its disk.
func stored(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
