package exit

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns an error without its path, for messages that name the path themselves.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// IsDirectory reports whether path is a directory.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
