package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Group is a control group of Linux, whose kernel counts what all its processes use. It has one directory in version
// 2, and one for each controller in version 1. A directory is "" if nothing is measured there.
type Group struct {
	Version         int // 0: there is no group
	Memory, CPU, IO string
}

// GroupOf returns the control group of a process: a number, or "self". In a container it is the container's own.
func GroupOf(process string) Group {
	groups, err := os.ReadFile("/proc/" + process + "/cgroup")
	if err != nil {
		return Group{} // not Linux, or the process has ended
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Group{}
	}
	return groupIn(string(groups), string(mounts))
}

// OwnGroup returns the control group of this process where it belongs to it and to those that started it, as in a
// container. It is the zero Group where other processes are in it, such as those of the same login.
func OwnGroup() Group {
	g := GroupOf("self")
	own := []int{os.Getpid()}
	for pid := own[0]; pid > 1 && len(own) < 20; {
		pid, _ = parentOf(strconv.Itoa(pid))
		own = append(own, pid)
	}
	for _, dir := range []*string{&g.Memory, &g.CPU, &g.IO} {
		members := InDirectory(*dir)
		if len(members) == 0 || slices.ContainsFunc(members, func(pid int) bool { return !slices.Contains(own, pid) }) {
			*dir = ""
		}
	}
	return g
}

// GroupAt returns a control group by its path below the root of each hierarchy.
func GroupAt(path string) Group {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Group{}
	}
	g := groupIn("4:memory:"+path+"\n3:cpuacct:"+path+"\n2:blkio:"+path+"\n0::"+path+"\n", string(mounts))
	for _, dir := range []*string{&g.Memory, &g.CPU, &g.IO} {
		if !exists(*dir) {
			*dir = ""
		}
	}
	return g
}

// Directories returns the directories of a control group in all hierarchies that have it.
func Directories(path string) (dirs []string) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 || system[0] != "cgroup" && system[0] != "cgroup2" || mount[3] != "/" {
			continue
		}
		if dir := filepath.Join(mount[4], path); exists(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// groupIn returns the control group, given the texts of /proc/PID/cgroup and /proc/self/mountinfo. On a machine with
// both versions, that with the memory controller counts.
func groupIn(groups, mounts string) Group {
	one := Group{1, Directory(groups, mounts, "memory"), Directory(groups, mounts, "cpuacct"),
		Directory(groups, mounts, "blkio")}
	if one.Memory != "" {
		return one
	}
	if dir := Directory(groups, mounts, ""); dir != "" {
		return Group{2, dir, dir, dir}.existing()
	}
	return Group{}
}

// existing returns the group without the directories whose controller is not there.
func (g Group) existing() Group {
	if g.Version == 2 && !exists(filepath.Join(g.Memory, "memory.current")) {
		g.Memory = ""
	}
	if g.Version == 2 && !exists(filepath.Join(g.IO, "io.stat")) {
		g.IO = ""
	}
	return g
}

// InGroup2 returns a control group of version 2 by its directory.
func InGroup2(dir string) Group { return Group{2, dir, dir, dir}.existing() }

// exists reports whether a file can be reached.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Directory returns the directory of a control group of version 1 that has a controller, or of version 2 for "". The
// texts are those of /proc/PID/cgroup and /proc/self/mountinfo. It is "" if the group is not mounted here.
func Directory(groups, mounts, controller string) string {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		if dir := mountedAt(mounts, controller, parts[2]); dir != "" {
			return dir
		}
	}
	return ""
}

// mountedAt returns the directory where the path of a group is mounted. A container mounts its own group, and its path
// may be that on the host.
func mountedAt(mounts, controller, path string) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 {
			continue
		}
		is := system[0] == "cgroup2" && controller == "" ||
			system[0] == "cgroup" && controller != "" && slices.Contains(strings.Split(system[2], ","), controller)
		root := strings.TrimSuffix(mount[3], "/")
		below, inside := strings.CutPrefix(path, root)
		if is && inside && (below == "" || below[0] == '/') && !strings.Contains(below, "/..") {
			return filepath.Join(mount[4], below)
		}
	}
	return ""
}

// counters are the figures of a control group. -1 means unknown.
type counters struct {
	// memory is what counts for the limit now, peak the most so far, and cache the part of memory that the kernel takes
	// back when the group needs it: copies of files.
	memory, peak, cache int64
	limit               int64
	kills               int64 // of processes, for lack of memory
	nanoseconds         int64 // of processor time
	read, written       int64
}

// memoryNow reads the figures of memory, without the limit.
func (g Group) memoryNow() counters {
	c := counters{memory: -1, peak: -1, limit: -1, kills: -1, nanoseconds: -1, read: -1, written: -1}
	if g.Memory == "" {
		return c
	}
	now, most, prefix := "memory.current", "memory.peak", ""
	if g.Version == 1 {
		now, most, prefix = "memory.usage_in_bytes", "memory.max_usage_in_bytes", "total_"
	}
	c.memory = number(g.Memory, now)
	c.peak = number(g.Memory, most) // Linux 5.19 in version 2
	stat, err := os.ReadFile(filepath.Join(g.Memory, "memory.stat"))
	if err != nil {
		return c
	}
	c.cache = max(0, member(stat, prefix+"active_file")) + max(0, member(stat, prefix+"inactive_file"))
	if g.Version == 2 { // what the kernel needs to find files and their cache; version 1 does not tell
		c.cache += max(0, member(stat, "slab_reclaimable"))
	}
	return c
}

// Kills returns how many processes of the group, and of groups in it, the kernel killed because they ran out of memory;
// -1 if it does not tell.
func (g Group) Kills() int64 {
	switch {
	case g.Memory == "":
		return -1
	case g.Version == 1:
		return counted(g.Memory, "memory.oom_control", "oom_kill")
	}
	return counted(g.Memory, "memory.events", "oom_kill")
}

// now reads all figures.
func (g Group) now() counters {
	c := g.memoryNow()
	switch g.Version {
	case 1:
		if g.Memory != "" {
			c.limit = number(g.Memory, "memory.limit_in_bytes")
			c.kills = g.Kills()
		}
		if g.CPU != "" {
			c.nanoseconds = number(g.CPU, "cpuacct.usage")
		}
		if g.IO != "" {
			c.read, c.written = transferred1(g.IO)
		}
	case 2:
		if g.Memory != "" {
			c.limit = number(g.Memory, "memory.max") // "max": none
			c.kills = g.Kills()
		}
		if stat, err := os.ReadFile(filepath.Join(g.CPU, "cpu.stat")); err == nil && g.CPU != "" {
			if usec := member(stat, "usage_usec"); usec >= 0 {
				c.nanoseconds = usec * 1000
			}
		}
		if g.IO != "" {
			c.read, c.written = transferred2(g.IO)
		}
	}
	if c.limit >= 1<<60 { // version 1 writes the largest number of pages for "none"
		c.limit = -1
	}
	return c
}

// transferred2 sums io.stat, whose lines are "8:0 rbytes=1 wbytes=2 ...". A group that has transferred nothing has no
// line.
func transferred2(dir string) (read, written int64) {
	text, err := os.ReadFile(filepath.Join(dir, "io.stat"))
	if err != nil {
		return -1, -1
	}
	for field := range bytes.FieldsSeq(text) {
		name, value, _ := bytes.Cut(field, []byte("="))
		n, _ := strconv.ParseInt(string(value), 10, 64)
		switch string(name) {
		case "rbytes":
			read += n
		case "wbytes":
			written += n
		}
	}
	return read, written
}

// transferred1 sums the lines "8:0 Read 1" of the block controller. The recursive file includes groups below.
func transferred1(dir string) (read, written int64) {
	text, err := os.ReadFile(filepath.Join(dir, "blkio.throttle.io_service_bytes_recursive"))
	if err != nil {
		text, err = os.ReadFile(filepath.Join(dir, "blkio.throttle.io_service_bytes"))
	}
	if err != nil {
		return -1, -1
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			continue
		}
		n, _ := strconv.ParseInt(string(fields[2]), 10, 64)
		switch string(fields[1]) {
		case "Read":
			read += n
		case "Write":
			written += n
		}
	}
	return read, written
}

// number reads a file with one number; -1 if it has none.
func number(dir, name string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// counted reads a file with lines "name number"; -1 if it has no such line.
func counted(dir, file, name string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return -1
	}
	return member(text, name)
}

// member returns a number of a text with lines "name number"; -1 if it is not there.
func member(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		value, found := bytes.CutPrefix(line, []byte(name+" "))
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil {
			return n
		}
	}
	return -1
}
