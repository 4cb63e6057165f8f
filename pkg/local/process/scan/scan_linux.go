package scan

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Each calls examine for each process but this one, by number. It reports whether it may have
// missed a process, which can happen in two ways. A process starts another one and ends after
// Each has read its number, but before examine sees it; examine then returns true. Or the numbers
// of new processes start over, so that a new process has a number that the scan has passed. Each
// reads few names at a time to keep the first way rare.
func Each(examine func(pid int) (gone bool)) (missed bool, err error) {
	proc, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("find the processes of an attempt: open /proc: %w", err)
	}
	defer unix.Close(proc)
	before := newest()
	var few [128]byte // long enough for every name in /proc
	for {
		n, err := unix.Getdents(proc, few[:])
		if err != nil {
			return missed, fmt.Errorf("find the processes of an attempt: read /proc: %w", err)
		}
		if n == 0 {
			return missed || newest() < before, nil
		}
		var names [8]string
		_, _, found := unix.ParseDirent(few[:n], -1, names[:0])
		for _, name := range found {
			if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() && examine(pid) {
				missed = true
			}
		}
	}
}

// newest returns the number of the process that was started last; 0 if /proc/loadavg does not
// have it.
func newest() int {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(load[bytes.LastIndexByte(load, ' ')+1:])))
	if err != nil {
		return 0
	}
	return pid
}

// HasEnded reports whether a process has ended and only waits for its parent.
func HasEnded(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(state) > 0 && (state[0] == 'Z' || state[0] == 'X')
}
