package exit

import (
	"errors"
	"io/fs"
	"os"
)

// Cause is an error without the path, which the sentence around it names.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// IsDirectory reports whether there is a directory at path.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
