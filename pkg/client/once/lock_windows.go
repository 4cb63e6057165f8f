package once

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// LockFile locks f until it is closed or the process ends. It does not wait. On Windows other
// processes cannot read a locked range, so it locks a byte far after the text.
func LockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
