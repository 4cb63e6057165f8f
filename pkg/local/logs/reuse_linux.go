package logs

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isUnchanged reports whether a command left the file of its log as it was created: empty, with one name.
func isUnchanged(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || info.Size() != 0 || info.Mode() != 0o600 {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 1 && s.Blocks == 0 && int(s.Uid) == os.Geteuid()
}

// isOpenOnce reports whether no other program can write to a file that this program opened for writing. The kernel
// grants a write lease only then (fcntl(2), F_SETLEASE). A command may have passed its output to a program that is not
// part of the job, as systemd-run does.
func isOpenOnce(file *os.File) bool {
	fd := int(file.Fd())
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
