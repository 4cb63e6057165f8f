//go:build unix

package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const enforcesModes = true

// Supported returns why no engine can run on this operating system; here, nil.
func Supported() error { return nil }

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// isGone reports whether no process has that number.
func isGone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func lockFile(f *os.File) error { return flock(f, unix.LOCK_EX) }

// isLocked reports whether another process has locked the file. It requests a shared lock, which
// distinguishes an engine that is starting from one that serves.
func isLocked(f *os.File) (bool, error) {
	switch err := flock(f, unix.LOCK_SH); {
	case errors.Is(err, errLocked):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, flock(f, unix.LOCK_UN)
}

func flock(f *os.File, how int) error {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
