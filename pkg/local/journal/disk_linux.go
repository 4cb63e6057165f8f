package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// disk is the file of a journal.
type disk struct{ *os.File }

// Reserve has the file system set blocks aside behind the end of the file.
func (d disk) Reserve(from, to int64) error {
	return unix.Fallocate(int(d.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from)
}
