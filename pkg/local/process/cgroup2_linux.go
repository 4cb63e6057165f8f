package process

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// cgroup2 is a control group of version 2. A process can start in it (Linux 5.7), and the kernel
// can kill all of it (Linux 5.14).
type cgroup2 struct{ directory *os.File }

// openCgroup2 opens the directory: a process starts in the group of a descriptor.
func openCgroup2(dir string) (cgroup, error) {
	if err := unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return cgroup2{f}, nil
}

// start lets the kernel create the process in the group (CLONE_INTO_CGROUP).
func (g cgroup2) start(attr *syscall.SysProcAttr, begin func() error) error {
	attr.UseCgroupFD, attr.CgroupFD = true, int(g.directory.Fd())
	return begin()
}

func (g cgroup2) dir() string { return g.directory.Name() }

// isEmpty is false also for a group that cannot be read.
func (g cgroup2) isEmpty() bool {
	text, err := os.ReadFile(filepath.Join(g.dir(), "cgroup.procs"))
	return err == nil && len(text) == 0 && !hasGroups(g.dir())
}

func (g cgroup2) leave() error { return g.directory.Close() }
