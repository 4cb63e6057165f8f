package local

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// processStart returns when a process began: clock ticks since boot, and the
// boot, so that no later process looks the same.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	// The second field is the command in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const starttime = 22 - 3 // see proc_pid_stat(5); the state is field 3
	if len(fields) <= starttime {
		return "", fmt.Errorf("/proc/%d/stat: too few fields", pid)
	}
	return string(fields[starttime]) + "@" + strings.TrimSpace(string(boot)), nil
}
