//go:build unix

package hardware

import "golang.org/x/sys/unix"

// OpenFiles is how many files this process may have open; 0: not known.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur)
}
