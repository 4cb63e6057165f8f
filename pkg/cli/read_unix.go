//go:build unix

package cli

import (
	"errors"
	"slices"
	"syscall"
)

// readQuick appends a file's text to room with as few calls of the system as there
// can be: of a check of many small files, os.File's own are a twentieth. It gives up
// at whatever is not plain reading; readInto then says what is wrong.
func readQuick(room []byte, path string) (text []byte, ok bool) {
	file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return room, false
	}
	defer syscall.Close(file)
	room = slices.Grow(room, 32<<10)
	for len(room) < maxFile {
		n, err := syscall.Read(file, room[len(room):min(cap(room), maxFile)])
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return room, false
		case n == 0:
			return room, true
		default:
			if room = room[:len(room)+n]; len(room) == cap(room) {
				room = slices.Grow(room, len(room))
			}
		}
	}
	return room, true
}
