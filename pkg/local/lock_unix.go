//go:build unix

package local

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const enforcesModes = true

// isGone reports whether no process has that number.
func isGone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
