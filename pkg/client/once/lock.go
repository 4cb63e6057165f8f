package once

import "errors"

// ErrLocked means that another process has locked a file.
var ErrLocked = errors.New("locked by another process")
