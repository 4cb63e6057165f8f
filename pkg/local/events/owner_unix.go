//go:build unix

package events

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags follow no link at the end of a path, and do not wait for the reader of a FIFO.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// checkDirectories rejects a resolved directory if another user can replace it or what is in it, or if it is in the
// state directory.
func checkDirectories(dir string, state *os.Root) error {
	own, err := state.Stat(".")
	if err != nil {
		return err
	}
	for {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if os.SameFile(info, own) {
			return fmt.Errorf("%s is the engine's state directory; choose another directory", dir)
		}
		if err := checkDirectory(dir, info); err != nil {
			return err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

// checkDirectory rejects a directory if another user can replace what is in it. In a directory with the sticky bit,
// only the owner of an entry can.
func checkDirectory(dir string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("the directory %s belongs to user %d, who could replace its files; choose a directory of your own", dir, owner)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("every user can replace the files in directory %s; choose another directory, or run chmod o-w on it", dir)
	}
	return nil
}

// checkFile rejects a file that another user can read or has put there.
func checkFile(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case ownerOf(info) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d; choose another path", path, ownerOf(info))
	case info.Sys().(*syscall.Stat_t).Nlink != 1:
		return fmt.Errorf("%s is a file with another hard link; choose another path", path)
	case mode.Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, and events contain the environment of jobs; run chmod 600 on it", path,
			mode.Perm())
	}
	return nil
}

// checkSocket rejects a socket of another user.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket", path)
	}
	return checkOwner(path, ownerOf(info))
}

// checkOwner rejects a socket whose owner, or the owner of the process at its other end, is another user.
func checkOwner(path string, owner int) error {
	if owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d", path, owner)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
