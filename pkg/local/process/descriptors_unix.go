//go:build unix

package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec keeps inherited files, such as a lock or a pipe of the shell, from the processes that
// this program starts: those get only their standard streams. Files that Go opens are never
// inherited.
func CloseOnExec() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil { // without /proc; shells number theirs from 3 or 10 on, bash from 63 downwards
		for fd := 3; fd < 256; fd++ {
			unix.CloseOnExec(fd)
		}
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
