package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// LockedError reports that another engine works in the state directory.
type LockedError struct {
	Dir string
	PID int // of its process; 0: unknown
}

// Error names the directory and the process that holds it.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("open engine: %s is in use by an engine in %s; use that engine, or end it", e.Dir, holder)
}

// lockDirectory locks the directory for this process until the file is closed or the process ends.
func lockDirectory(root *os.Root) (*os.File, error) {
	file, err := root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	switch pid, err := lockAfterDeath(root, file); {
	case errors.Is(err, errLocked):
		return nil, errors.Join(&LockedError{Dir: root.Name(), PID: pid}, file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock state directory: %w", err), file.Close())
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock state directory: %w", err), file.Close())
	}
	return file, nil
}

// deathTime limits the wait for the lock of an engine that has died.
const deathTime = 5 * time.Second

// lockAfterDeath locks the file. If the engine that holds the lock has died, it waits a little: an
// engine that was killed while it started a command leaves its lock to that process until the
// command executes. It also waits for processes that only check the lock. The pid is the holder's.
func lockAfterDeath(root *os.Root, file *os.File) (pid int, err error) {
	for end := time.Now().Add(deathTime); ; time.Sleep(5 * time.Millisecond) {
		err := lockFile(file)
		if !errors.Is(err, errLocked) {
			return 0, err
		}
		text, _ := root.ReadFile("lock")
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		wait := pid != 0 && isGone(pid)
		if !wait {
			locked, asked := isLocked(file)
			wait = asked == nil && !locked
		}
		if !wait || time.Now().After(end) {
			return pid, err
		}
	}
}

var errLocked = errors.New("locked by another process")

// checkPrivate rejects a state directory that others can read or change: it has the key with which
// commands can be run, and the jobs to run.
func checkPrivate(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if owner := ownerOf(info); owner != os.Geteuid() {
		return &fs.PathError{Op: "open engine", Path: root.Name(),
			Err: fmt.Errorf("the state directory belongs to user %d, who could run jobs as user %d: use a directory of your own", owner, os.Geteuid())}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && enforcesModes {
		return &fs.PathError{Op: "open engine", Path: root.Name(),
			Err: fmt.Errorf("the state directory has mode %04o, so other users can access it: run chmod 700 on it",
				mode)}
	}
	return nil
}

// WaitClosed returns when no engine holds the state directory any more, or with ctx's error. The
// operating system frees the lock however the engine ends.
func WaitClosed(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for {
		held, err := isHeld(root)
		if err != nil || !held {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isHeld reports whether an engine holds the state directory.
func isHeld(root *os.Root) (bool, error) {
	file, err := root.Open("lock")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	return isLocked(file)
}
