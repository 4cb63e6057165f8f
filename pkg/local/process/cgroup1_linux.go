package process

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// cgroup1 is a control group of version 1. A process starts in the group of the thread that creates
// it. So one thread of this program stays in the group and starts the attempts there. Moving a
// thread for each attempt would take milliseconds.
type cgroup1 struct {
	directory string
	beside    []string // the same group in the hierarchies that measure
	begin     chan func()
	left      chan error
}

// openCgroup1 moves a thread of this program into the group and keeps it there.
func openCgroup1(dir string, beside ...string) (cgroup, error) {
	g := cgroup1{dir, beside, make(chan func()), make(chan error, 1)}
	entered := make(chan error)
	go g.serve(entered)
	return g, <-entered
}

// serve moves a thread into the group, and starts attempts there until the group is left. The main thread stays
// outside: the kernel counts the memory of the whole program in the group of that thread, and could kill it for the
// limit of the job.
func (g cgroup1) serve(entered chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	if unix.Gettid() == unix.Getpid() {
		defer runtime.UnlockOSThread()
		other := make(chan error)
		go g.serve(other) // on another thread, because this goroutine holds the main one
		entered <- <-other
		return
	}
	err := g.enter(func(dir string) string { return dir })
	entered <- err
	if err != nil {
		return
	}
	for begin := range g.begin {
		begin()
	}
	g.left <- g.enter(func(dir string) string { return filepath.Dir(filepath.Dir(dir)) })
}

// enter moves this thread into groups, given by the directories of this one.
func (g cgroup1) enter(group func(dir string) string) error {
	thread := strconv.Itoa(unix.Gettid())
	err := writeExisting(group(g.directory), "tasks", thread)
	for _, dir := range g.beside {
		err = errors.Join(err, writeExisting(group(dir), "tasks", thread))
	}
	return err
}

// start runs begin on the thread that is in the group.
func (g cgroup1) start(_ *syscall.SysProcAttr, begin func() error) error {
	begun := make(chan error)
	g.begin <- func() { begun <- begin() }
	return <-begun
}

func (g cgroup1) dir() string { return g.directory }

// isEmpty is false also for a group that was removed.
func (g cgroup1) isEmpty() bool {
	_, err := os.Stat(g.directory)
	return err == nil && len(processesOf(g.directory)) == 0 && !hasGroups(g.directory)
}

// leave moves the thread to the group above the engine's and ends it.
func (g cgroup1) leave() error {
	close(g.begin)
	return <-g.left
}
