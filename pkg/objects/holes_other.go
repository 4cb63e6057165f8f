//go:build !linux && !darwin

package objects

import (
	"io/fs"
	"os"
)

// stretch returns the rest of a file: this system does not report holes.
func stretch(_ *os.File, from, size int64) (start, end int64) { return from, size }

// stored returns the size of a file.
func stored(info fs.FileInfo) int64 { return info.Size() }
