package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// canWatchMemory: the kernel says it of every process.
const canWatchMemory = true

// tooLarge returns the groups that use more than they may. The resident sizes of their
// processes count what these share several times, so they only say where a closer look
// is due: they are never too small.
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
		return resident[l.group] <= l.bytes || ownMemory(members[l.group]) <= l.bytes
	})
}

// processSize returns the process group and the resident pages of a process; not ok: it
// has ended.
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

// ownMemory is the memory in bytes of processes that could not be had back by writing it
// to its file: what a control group is killed for. Of what n processes share each counts
// an n-th. A kernel before Linux 5.3 does not say it, and then nothing is killed.
func ownMemory(pids []int) int64 {
	var kib int64
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		for line := range bytes.Lines(text) {
			name, value, _ := bytes.Cut(line, []byte(":"))
			if n := string(name); n != "Pss_Anon" && n != "Pss_Shmem" {
				continue
			}
			if fields := bytes.Fields(value); len(fields) > 0 {
				size, _ := strconv.ParseInt(string(fields[0]), 10, 64)
				kib += size
			}
		}
	}
	return kib << 10
}
