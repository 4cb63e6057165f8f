package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// onMain is what a group got that was opened on the main thread. Only init functions certainly run there.
var onMain struct {
	isMain bool
	thread string
	err    error
}

func init() {
	onMain.isMain = unix.Gettid() == unix.Getpid()
	onMain.thread, onMain.err = enterAndLeave()
}

// enterAndLeave lets this thread serve a group that consists of files, and returns the thread that entered it.
func enterAndLeave() (thread string, err error) {
	root, err := os.MkdirTemp("", "group")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "base", "0")
	err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(root, "tasks"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "tasks"), nil, 0o600))
	if err != nil {
		return "", err
	}
	g := cgroup1{dir, nil, make(chan func()), make(chan error, 1)}
	entered := make(chan error, 1)
	left := make(chan error)
	go func() { left <- errors.Join(<-entered, g.leave()) }()
	g.serve(entered)
	err = <-left
	text, unread := os.ReadFile(filepath.Join(dir, "tasks"))
	return string(text), errors.Join(err, unread)
}

// TestMainThreadStaysOutside checks that the main thread never enters the group of a job. The kernel then counted the
// memory of the whole engine for the job, and killed the engine for its limit.
func TestMainThreadStaysOutside(t *testing.T) {
	if thread, err := strconv.Atoi(onMain.thread); !onMain.isMain || onMain.err != nil || err != nil || thread == unix.Getpid() {
		t.Errorf("process %d: %+v", unix.Getpid(), onMain)
	}
}
