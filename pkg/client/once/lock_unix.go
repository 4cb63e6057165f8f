//go:build unix

package once

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f until it is closed or the process ends. It does not wait.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
