package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// processStart returns when a process began: clock ticks since boot, and the
// boot, so that no later process looks the same.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	// The second field is the command in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const starttime = 22 - 3 // see proc_pid_stat(5); the state is field 3
	if len(fields) <= starttime {
		return "", fmt.Errorf("/proc/%d/stat: too few fields", pid)
	}
	return string(fields[starttime]) + "@" + boot, nil
}

var bootID = sync.OnceValues(func() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
})

// ownGroup starts a process in a group of its own, which the kernel kills when the
// engine dies: no engine would end it then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
