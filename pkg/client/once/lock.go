package once

import "os"

// ErrLocked means that another process has locked a file.
var ErrLocked = errLocked

// LockFile locks a file until it is closed or the process ends. It does not wait: if the file is
// locked, it returns ErrLocked.
func LockFile(f *os.File) error { return lockFile(f) }
