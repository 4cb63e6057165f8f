package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// processStart returns when a process began: clock ticks since boot, and the boot id, so that no
// later process has the same.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	// The second field is the command in parentheses and may contain anything.
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

// ownGroup starts a process in its own group. The kernel kills it when the engine dies, because no
// engine could end it then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
