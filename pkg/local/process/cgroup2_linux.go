package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// cgroup2 is a control group of version 2. A process can start in it (Linux 5.7), and the kernel
// can kill all of it (Linux 5.14).
type cgroup2 struct {
	directory *os.File
	processes *os.File // lists the processes; opening it for each attempt would cost as much as reading it
}

// openCgroup2 opens the directory: a process starts in the group of a descriptor.
func openCgroup2(dir string) (cgroup, error) {
	if err := unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	processes, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return cgroup2{f, processes}, nil
}

// start lets the kernel create the process in the group (CLONE_INTO_CGROUP).
func (g cgroup2) start(attr *syscall.SysProcAttr, begin func() error) error {
	attr.UseCgroupFD, attr.CgroupFD = true, int(g.directory.Fd())
	return begin()
}

func (g cgroup2) dir() string { return g.directory.Name() }

// isEmpty is false also for a group that cannot be read, and for one that was removed.
func (g cgroup2) isEmpty() bool {
	n, err := g.processes.ReadAt(make([]byte, 1), 0)
	if n > 0 || !errors.Is(err, io.EOF) {
		return false
	}
	info, err := g.directory.Stat()
	return err == nil && !holdsGroups(info)
}

func (g cgroup2) leave() error { return errors.Join(g.directory.Close(), g.processes.Close()) }
