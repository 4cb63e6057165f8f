//go:build unix

package once

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// LockFile locks a file until it is closed or the process ends. It does not wait: if the file is
// locked, it returns ErrLocked.
func LockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
