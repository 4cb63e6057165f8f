package once

import (
	"errors"
	"os"
)

// ErrLocked means that another process has locked a file.
var ErrLocked = errLocked

// errLocked is the error of lockFile for a locked file.
var errLocked = errors.New("locked by another process")

// LockFile locks a file until it is closed or the process ends. It does not wait: if the file is
// locked, it returns ErrLocked.
func LockFile(f *os.File) error { return lockFile(f) }
