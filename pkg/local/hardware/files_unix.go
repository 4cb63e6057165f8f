//go:build unix

package hardware

import "golang.org/x/sys/unix"

// OpenFiles returns how many files this process may have open; 0 if unknown.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur)
}
