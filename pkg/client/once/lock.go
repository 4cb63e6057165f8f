package once

import "os"

// ErrLocked says that another process holds a file.
var ErrLocked = errLocked

// LockFile takes a file for this process until it is closed or the process ends,
// however it ends. It does not wait: a file that is taken is an ErrLocked.
func LockFile(f *os.File) error { return lockFile(f) }
