package usage

import (
	"bytes"
	"os"
	"strconv"
)

// ofProcesses adds a sample of all processes of an attempt. Their resident sizes count memory that they share several
// times, and cost little. The exact share is read only if they show a new peak.
func (p *peak) ofProcesses(pids []int) {
	var sum, largest int64
	for _, pid := range pids {
		now, most := residentOf(pid)
		sum += now
		largest = max(largest, most)
	}
	p.bytes = max(p.bytes, largest)
	if sum <= p.bytes {
		return
	}
	if len(pids) > 1 {
		sum = OwnMemory(pids)
	}
	p.bytes = max(p.bytes, sum)
}

// ofLargest adds the largest resident size of one process, which the kernel keeps. The kernel counts for a process
// also what this program had when it started it, so that a smaller size means nothing.
func (p *peak) ofLargest(bytes int64) {
	if _, own := residentOf(os.Getpid()); bytes > own {
		p.bytes = max(p.bytes, bytes)
	}
}

// Largest returns the largest resident size in bytes, with pages of files, of a process that has ended or of a
// descendant that was waited for; 0 if it is unknown.
func Largest(state *os.ProcessState) int64 {
	var p peak
	if r, ok := rusageOf(state); ok {
		p.ofLargest(r.largest)
	}
	return p.bytes
}

// residentOf returns the memory of a process that belongs to no file, and the most memory that it had resident, with
// that of files, in bytes; 0 if it has ended.
func residentOf(pid int) (now, most int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0
	}
	return kib(text, "RssAnon:") + kib(text, "RssShmem:"), kib(text, "VmHWM:")
}

// kib returns a number of KiB, in bytes, from lines such as "VmHWM:   12 kB"; 0 if it is not there.
func kib(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		value, found := bytes.CutPrefix(line, []byte(name))
		if !found {
			continue
		}
		if fields := bytes.Fields(value); len(fields) > 0 {
			n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}

// OwnMemory returns the memory of processes in bytes that belongs to no file, so that the kernel cannot take it back
// by writing it there: a control group is killed for it. Memory that n processes share counts as an n-th
// for each. A kernel before Linux 5.3 does not report it.
func OwnMemory(pids []int) (bytes int64) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		bytes += kib(text, "Pss_Anon:") + kib(text, "Pss_Shmem:")
	}
	return bytes
}

// Tree lists a process, its group and its descendants. A process whose parent has ended is found by its group only.
func Tree(root int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	tree := []int{root}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		parent, group := parentOf(name)
		switch {
		case pid == root || parent == 0:
		case group == root:
			tree = append(tree, pid)
		default:
			children[parent] = append(children[parent], pid)
		}
	}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

// parentOf returns the parent and the process group of a process; 0 if it has ended.
func parentOf(pid string) (parent, group int) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0
	}
	// The second field is the command in parentheses, which may contain blanks and parentheses (proc_pid_stat(5)).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, _ = strconv.Atoi(string(fields[2]))
	return parent, group
}

// InDirectory lists the processes of a control group by its directory, without those of groups below it.
func InDirectory(dir string) (pids []int) {
	text, err := os.ReadFile(dir + "/cgroup.procs")
	if err != nil {
		return nil
	}
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
