package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// disk is the file of a journal. It is synced without the file's times, which the journal does
// not need.
type disk struct{ *os.File }

// newDisk returns the file of a journal for this system.
func newDisk(file *os.File) File { return disk{file} }

// Sync calls fdatasync(2).
func (d disk) Sync() error {
	for {
		if err := unix.Fdatasync(int(d.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
