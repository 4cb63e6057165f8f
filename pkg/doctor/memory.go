package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// memoryCheck examines memory, and /dev/shm in a container.
type memoryCheck struct {
	host   *probe
	report *findings
	kind   HostKind
	gpu    bool
}

// checkMemory is the check of the topic memory.
func checkMemory(in *inspection) {
	c := memoryCheck{in.host, in.report, in.facts.kind, in.facts.gpu}
	c.check()
}

// check examines the free memory of a host, or a container's limit and /dev/shm.
func (c *memoryCheck) check() {
	if c.kind == Container {
		c.cgroup()
		c.sharedMemory()
		return
	}
	meminfo, ok := c.host.read("proc/meminfo")
	if !ok {
		return
	}
	total, free := kilobytes(meminfo, "MemTotal:"), kilobytes(meminfo, "MemAvailable:")
	if total == 0 {
		return
	}
	summary := fmt.Sprintf("%s of %s memory available", text.Size(free), text.Size(total))
	if free < total/20 {
		c.report.warning("memory-low", "little memory is free: "+summary,
			"when none is free, the kernel kills processes: jobs, or the agent",
			"find the processes that use it: ps aux --sort -rss; request more memory in the jobs",
			at("proc/meminfo", summary))
		return
	}
	c.report.ok("memory", summary, at("proc/meminfo", summary))
}

// kilobytes returns a line of /proc/meminfo in bytes; 0 if it is missing.
func kilobytes(text, name string) uint64 {
	for _, line := range lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 53) // 0 means unknown
			return n << 10
		}
	}
	return 0
}

// cgroup checks the container's memory limit, and whether processes were killed for it.
func (c *memoryCheck) cgroup() {
	// Version 2 of control groups, then version 1.
	name := c.host.firstOf("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
	if name == "" {
		return
	}
	limit := c.host.firstLine(name)
	c.report.ok("memory-limit", "the container's memory limit: "+readLimit(limit), at(name, limit))
	const events = "sys/fs/cgroup/memory.events"
	for _, line := range lines(c.host.orEmpty(events)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && n != "0" {
			c.report.warning("container-oom", "processes of this container were killed for memory: "+clean(n),
				"the job needs more than its limit, "+readLimit(limit), "request more memory in the job",
				at(events, line))
		}
	}
}

// readLimit formats a limit of a control group; very large numbers mean none.
func readLimit(limit string) string {
	n, err := strconv.ParseUint(limit, 10, 64)
	if err != nil || n >= 1<<60 {
		return "none"
	}
	return text.Size(n)
}

// sharedMemory checks /dev/shm, which is 64 MiB unless the job requests more.
func (c *memoryCheck) sharedMemory() {
	if !c.host.canAsk() {
		return
	}
	s, err := c.host.Ask.Space("/dev/shm")
	if err != nil || s.Bytes == 0 {
		return
	}
	what := "/dev/shm is " + text.Size(s.Bytes)
	if s.Bytes > 64<<20 || !c.gpu {
		c.report.ok("shared-memory", what, seen("statfs /dev/shm", text.Size(s.FreeBytes)+" free"))
		return
	}
	c.report.warning("shared-memory-small", what+", Docker's default",
		"PyTorch's DataLoader workers and NCCL between GPUs need more: they fail with \"bus error\" or \"unhandled system error\"",
		`"sharedMemory": "8 GiB" in the job file (linuxParameters.sharedMemorySize, in MiB)`,
		seen("statfs /dev/shm", text.Size(s.Bytes)))
}
