package testtool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// forbidStarts makes each start of a process wait indefinitely.
func forbidStarts() { syscall.ForkLock.RLock() }

// processes returns the processes on this machine, and which of them have a variable in their environment.
func processes(mark string) (all []process) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
		f := strings.Fields(rest)
		if len(f) < 2 {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(folder, "environ")) // only of the user's own processes
		if p, ok := parseProcess(fmt.Sprintf("%s %s %s %s", filepath.Base(folder), f[1], f[0], environ), mark); ok {
			all = append(all, p)
		}
	}
	return all
}
