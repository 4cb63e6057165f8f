package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/usage"
)

// canWatchMemory is true: the kernel reports the memory of every process.
const canWatchMemory = true

// tooLarge returns the groups that use more than their limit. The resident sizes of their processes
// count shared memory several times. They are never too small, so they only show which groups to
// measure exactly.
func tooLarge(limits []*memoryLimit) []*memoryLimit {
	if len(limits) == 0 {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	resident, members := map[int]int64{}, map[int][]int{}
	for _, l := range limits {
		members[l.group] = nil
	}
	page := int64(os.Getpagesize())
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		group, pages, ok := processSize(pid)
		if _, watched := members[group]; ok && watched {
			resident[group] += pages * page
			members[group] = append(members[group], pid)
		}
	}
	return slices.DeleteFunc(limits, func(l *memoryLimit) bool {
		return resident[l.group] <= l.bytes || usage.OwnMemory(members[l.group]) <= l.bytes
	})
}

// processSize returns the process group and the resident pages of a process; ok is false if it has
// ended.
func processSize(pid int) (group int, pages int64, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const pgrp, rss = 5 - 3, 24 - 3 // see proc_pid_stat(5); the state is field 3
	if len(fields) <= rss {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[pgrp]))
	if err != nil {
		return 0, 0, false
	}
	pages, err = strconv.ParseInt(string(fields[rss]), 10, 64)
	return group, pages, err == nil
}
