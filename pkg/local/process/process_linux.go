package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// processStart returns when a process started, in a form that no later process with the same
// number has.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	// The second field is the command in parentheses, which may contain blanks and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const starttime = 22 - 3 // see proc_pid_stat(5); the state is field 3
	if len(fields) <= starttime {
		return "", fmt.Errorf("/proc/%d/stat: too few fields", pid)
	}
	return string(fields[starttime]) + "@" + boot, nil
}

// bootID identifies the current boot: process times count from it.
var bootID = sync.OnceValues(func() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
})

// isolateMounts gives a process its own list of mounts, so that what it mounts is not mounted for this machine, as in a
// container. Go makes them private before the command starts. A process without the permission cannot mount either.
func isolateMounts(attr *syscall.SysProcAttr) {
	if hasCapability(unix.CAP_SYS_ADMIN) {
		attr.Unshareflags |= syscall.CLONE_NEWNS
	}
}

// ownGroup starts a process in its own group. The kernel kills it when the engine dies, because no
// engine could end it then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
