package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

const gib = 1 << 30

// disk checks the file systems that fill up: the root's and Docker's.
func (l *inspection) disk() {
	if !l.canAsk() {
		l.skip("disk", "the files do not belong to a running system")
		return
	}
	root, err := l.Ask.Space("/")
	if err != nil {
		l.skip("disk", clean(err.Error()))
		return
	}
	l.space("/", root)
	if l.facts.kind == Container {
		return
	}
	d, _, _ := l.daemonText()
	dir := path.Clean(orElse(d.DataRoot, "/var/lib/docker"))
	// Equal numbers mean that Docker's directory is on the root's file system.
	if s, err := l.Ask.Space(dir); err == nil && s != root {
		l.space(dir, s)
	}
}

// space judges a file system. The image of a GPU job is 5 to 20 GiB, and takes twice that while
// it is unpacked.
func (l *inspection) space(dir string, s Space) {
	free := fmt.Sprintf("%s of %s free", size(s.FreeBytes), size(s.Bytes))
	evidence := seen("statfs "+dir, free)
	remedy := "a larger volume in the launch template (BlockDeviceMappings); on this host: sudo docker system prune"
	if l.facts.kind == Container {
		remedy = "write to a volume, or give the instances a larger root volume"
	}
	// 1 GiB is too little for any image, 10 GiB for most images with CUDA.
	switch {
	case s.Bytes == 0:
		l.skip("disk", dir+" does not report its size")
		return
	case s.FreeBytes < gib:
		l.problem("disk-full", "the file system of "+dir+" is full: "+free, "images cannot be pulled, and containers end with \"no space left on device\"", remedy, evidence)
	case s.FreeBytes < 10*gib && l.facts.kind != Container || s.FreeBytes < s.Bytes/20:
		l.warning("disk-low", "the file system of "+dir+" is almost full: "+free, "an image with CUDA is 5 to 20 GiB: the next pull may fail with \"no space left on device\"", remedy, evidence)
	default:
		l.ok("disk", "the file system of "+dir+" has space: "+free, evidence)
	}
	if s.Files > 0 && s.FreeFiles < s.Files/20 {
		l.warning("inodes-low", fmt.Sprintf("the file system of %s has %d of %d inodes left", dir, s.FreeFiles, s.Files), "without inodes no file can be created, even if there is space",
			"remove directories with many small files, such as old images: sudo docker system prune", evidence)
	}
}

// size formats bytes for people.
func size(n uint64) string {
	if n >= gib {
		return strconv.FormatFloat(float64(n)/gib, 'f', 1, 64) + " GiB"
	}
	return strconv.FormatUint(n>>20, 10) + " MiB"
}

// memory checks the free memory of a host, or a container's limit and /dev/shm.
func (l *inspection) memory() {
	if l.facts.kind == Container {
		l.cgroup()
		l.sharedMemory()
		return
	}
	text, ok := l.read("proc/meminfo")
	if !ok {
		return
	}
	total, free := kilobytes(text, "MemTotal:"), kilobytes(text, "MemAvailable:")
	if total == 0 {
		return
	}
	summary := fmt.Sprintf("%s of %s memory available", size(free), size(total))
	if free < total/20 {
		l.warning("memory-low", "little memory is free: "+summary, "when none is free, the kernel kills processes: jobs, or the agent", "find the processes that use it: ps aux --sort -rss; request more memory in the jobs", at("proc/meminfo", summary))
		return
	}
	l.ok("memory", summary, at("proc/meminfo", summary))
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
func (l *inspection) cgroup() {
	// Version 2 of control groups, then version 1.
	name := l.firstOf("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
	if name == "" {
		return
	}
	limit := l.firstLine(name)
	l.ok("memory-limit", "the container's memory limit: "+readLimit(limit), at(name, limit))
	const events = "sys/fs/cgroup/memory.events"
	for _, line := range lines(l.orEmpty(events)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && n != "0" {
			l.warning("container-oom", "processes of this container were killed for memory: "+clean(n), "the job needs more than its limit, "+readLimit(limit), "request more memory in the job", at(events, line))
		}
	}
}

// readLimit formats a limit of a control group; very large numbers mean none.
func readLimit(text string) string {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n >= 1<<60 {
		return "none"
	}
	return size(n)
}

// sharedMemory checks /dev/shm, which is 64 MiB unless the job requests more.
func (l *inspection) sharedMemory() {
	if !l.canAsk() {
		return
	}
	s, err := l.Ask.Space("/dev/shm")
	if err != nil || s.Bytes == 0 {
		return
	}
	what := "/dev/shm is " + size(s.Bytes)
	if s.Bytes > 64<<20 || !l.facts.gpu {
		l.ok("shared-memory", what, seen("statfs /dev/shm", size(s.FreeBytes)+" free"))
		return
	}
	l.warning("shared-memory-small", what+", Docker's default", "PyTorch's DataLoader workers and NCCL between GPUs need more: they fail with \"bus error\" or \"unhandled system error\"",
		`"sharedMemory": "8 GiB" in the job file (linuxParameters.sharedMemorySize, in MiB)`, seen("statfs /dev/shm", size(s.Bytes)))
}
