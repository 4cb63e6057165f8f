//go:build unix

package check

import (
	"errors"
	"slices"
	"syscall"
)

// appendQuickly appends a file's text to buf with as few system calls as possible: in a
// check of many small files, those of os.File take a twentieth of the time. It returns ok
// false for any error, which AppendFile then reports.
func appendQuickly(buf []byte, path string) (text []byte, ok bool) {
	file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return buf, false
	}
	defer syscall.Close(file)
	buf = slices.Grow(buf, 32<<10)
	for len(buf) < MaxFile {
		n, err := syscall.Read(file, buf[len(buf):min(cap(buf), MaxFile)])
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return buf, false
		case n == 0:
			return buf, true
		default:
			if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
				buf = slices.Grow(buf, len(buf))
			}
		}
	}
	return buf, true
}
