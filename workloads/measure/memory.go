package measure

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// Memory is the memory that a workload may still allocate.
type Memory struct {
	// Bytes is 0 if the system does not report it.
	Bytes int64
	// Source names the limit, for messages.
	Source string
}

// AvailableMemory is the smaller of the machine's free memory and the rest of the control group's
// limit. In an AWS Batch container the control group has the job's memory.
func AvailableMemory() Memory { return available(os.DirFS("/")) }

// Check is an error if what needs more bytes than are available. advice is the end of its message:
// what to change.
func (m Memory) Check(what string, bytes int64, advice string) error {
	if m.Bytes == 0 || bytes <= m.Bytes {
		return nil
	}
	return fmt.Errorf("%s needs %s of memory, and %s has %s available; %s", what, text.Size(bytes), m.Source,
		text.Size(m.Bytes),
		advice)
}

func available(root fs.FS) Memory {
	best := Memory{}
	consider := func(bytes int64, source string) {
		if best.Source == "" || bytes < best.Bytes {
			best = Memory{Bytes: max(bytes, 1), Source: source}
		}
	}
	if kib, ok := field(root, "proc/meminfo", "MemAvailable:"); ok {
		consider(kib<<10, "this machine")
	}
	for _, group := range controlGroups(root) {
		limit, ok := number(root, group.limit)
		if !ok {
			continue
		}
		used, _ := number(root, group.used)
		// Cached file pages count as used, but the kernel reclaims them first.
		cache, _ := field(root, group.stat, "inactive_file", "total_inactive_file")
		consider(limit-max(used-cache, 0), "the container")
	}
	return best
}

// controlGroup is the paths of the three files of one level.
type controlGroup struct{ limit, used, stat string }

// controlGroups lists every level from this process's group up to the root, since each may have a
// limit. Versions 2 and 1 of control groups name the files differently.
func controlGroups(root fs.FS) []controlGroup {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all []controlGroup
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, limit, used := "sys/fs/cgroup", "memory.max", "memory.current"
		switch parts[1] {
		case "":
		case "memory":
			base, limit, used = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			at := path.Join(base, dir)
			all = append(all, controlGroup{path.Join(at, limit), path.Join(at, used), path.Join(at, "memory.stat")})
			if dir == "/" {
				break
			}
		}
	}
	return all
}

// number reads a file that holds one number; "max" means no limit.
func number(root fs.FS, name string) (int64, bool) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// field reads the number after the first of the keys that the file has.
func field(root fs.FS, name string, keys ...string) (int64, bool) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for _, key := range keys {
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != key {
				continue
			}
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
