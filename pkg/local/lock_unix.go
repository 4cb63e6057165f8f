//go:build unix

package local

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const enforcesModes = true

func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
