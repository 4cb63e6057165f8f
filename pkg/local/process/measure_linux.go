package process

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/usage"
)

// measuring opens control groups that measure memory and limit it, with the first attempt.
type measuring struct {
	mu     sync.Mutex
	opened bool
	groups *cgroups // nil: this user cannot create any
}

// current returns the control groups that measure; nil if there are none.
func (m *measuring) current() *cgroups {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.opened {
		m.opened, m.groups = true, openMeasuring(newMarks())
	}
	return m.groups
}

// start uses the control groups that measure, and others if no process can start there or nothing is to be measured or
// limited.
func (m *measuring) start(others trees, id string, want wanted,
	begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	if want != (wanted{}) {
		if groups := m.current(); groups != nil {
			if t, err := groups.start(id, want, begin); err == nil {
				return t, nil
			}
		}
	}
	return others.start(id, begin)
}

// close removes the groups.
func (m *measuring) close() error {
	if m == nil || !m.opened || m.groups == nil {
		return nil
	}
	return m.groups.close()
}

// openMeasuring returns control groups that measure memory; nil if there are none for this user.
func openMeasuring(marks *marks) *cgroups {
	for _, parent := range measuringParents2() {
		c := &cgroups{parent: parent, kind: "cgroup2", meters: meters2{}, marks: marks}
		if c.works() {
			return c
		}
	}
	own, mounts := ownGroups()
	memory := usage.Directory(own, mounts, "memory")
	if memory == "" {
		return nil
	}
	others := map[string]string{"memory": memory, "cpuacct": usage.Directory(own, mounts, "cpuacct"),
		"blkio": usage.Directory(own, mounts, "blkio")}
	for _, parent := range cgroupDirectories("cgroup1") {
		c := &cgroups{parent: parent, kind: "cgroup1", meters: &meters1{parents: others, bases: map[string]string{}},
			marks: marks}
		if c.works() {
			return c
		}
	}
	return nil
}

// works creates the first group, which stays for the first attempt. What ended engines left is removed before.
func (c *cgroups) works() bool {
	for _, parent := range c.meters.besideParents() {
		clearDead(parent)
	}
	clearDead(c.parent)
	g, err := c.take(false)
	if err != nil {
		if c.base != "" {
			_ = errors.Join(endCgroup(c.base), c.meters.endBesides(""))
		}
		return false
	}
	c.used, c.idle = 0, append(c.idle, g)
	return true
}

// ownGroups returns the texts that name the control groups of this process.
func ownGroups() (groups, mounts string) {
	own, _ := os.ReadFile("/proc/self/cgroup") // without them there is no group
	mounted, _ := os.ReadFile("/proc/self/mountinfo")
	return string(own), string(mounted)
}

// measuringParents2 returns the control groups of version 2 in which this user can create groups that measure memory:
// that of this process, or the nearest above it. A group with processes, such as the own one, can rarely have
// controllers (cgroups(7), "no internal processes" rule). Then the new groups are next to it.
func measuringParents2() (found []string) {
	own, mounts := ownGroups()
	dir := usage.Directory(own, mounts, "")
	for range 3 {
		control, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if dir == "" || err != nil {
			return found
		}
		if slices.Contains(strings.Fields(string(control)), "memory") &&
			unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil {
			found = append(found, dir)
		}
		dir = filepath.Dir(dir)
	}
	return found
}

// meters are how control groups measure.
type meters interface {
	// measureIn prepares the directory of this engine's groups.
	measureIn(base string) error
	// besides creates the directories of a group in other hierarchies.
	besides(name string) ([]string, error)
	// besideParents are the groups of this process in those hierarchies.
	besideParents() []string
	// endBesides removes the directories of a group; "" is those of all groups.
	endBesides(name string) error
	// canReuse reports whether a group without processes can hold another attempt.
	canReuse(g cgroup) bool
	// measuresAgain reports whether a group that was used can measure another attempt.
	measuresAgain() bool
	// group returns where a group measures. It resets what can be reset, if it will measure.
	group(g cgroup, measured bool) usage.Group
}

// unmeasured is for groups that only track processes.
type unmeasured struct{}

func (unmeasured) measureIn(string) error           { return nil }
func (unmeasured) besides(string) ([]string, error) { return nil, nil }
func (unmeasured) besideParents() []string          { return nil }
func (unmeasured) endBesides(string) error          { return nil }
func (unmeasured) canReuse(cgroup) bool             { return true }
func (unmeasured) measuresAgain() bool              { return true }
func (unmeasured) group(cgroup, bool) usage.Group   { return usage.Group{} }

// meters2 measure in version 2, where one directory has all controllers.
type meters2 struct{}

// measureIn makes the kernel measure the groups below.
func (meters2) measureIn(base string) error {
	_ = writeExisting(base, "cgroup.subtree_control", "+io") // optional
	return writeExisting(base, "cgroup.subtree_control", "+memory")
}

func (meters2) besides(string) ([]string, error) { return nil, nil }
func (meters2) besideParents() []string          { return nil }
func (meters2) endBesides(string) error          { return nil }

// canReuse reports whether little memory remains.
func (meters2) canReuse(g cgroup) bool { return holds(g.dir(), "memory.current") <= reusable }

// measuresAgain is false: the peak of a group of version 2 cannot be reset for all readers.
func (meters2) measuresAgain() bool { return false }

func (meters2) group(g cgroup, _ bool) usage.Group { return usage.InGroup2(g.dir()) }

// meters1 measure in version 1, which has a hierarchy for each controller.
type meters1 struct {
	parents map[string]string // by controller; "": not mounted
	bases   map[string]string
}

// measureIn creates the directory of this engine in each hierarchy.
func (m *meters1) measureIn(string) error {
	for controller, parent := range m.parents {
		if parent == "" {
			continue
		}
		base, err := newBase(parent)
		if err != nil && controller == "memory" {
			return err
		}
		if err == nil {
			m.bases[controller] = base
		}
	}
	return nil
}

func (m *meters1) besides(name string) (dirs []string, err error) {
	for _, base := range m.bases {
		dir := filepath.Join(base, name)
		if made := os.Mkdir(dir, 0o700); made != nil {
			err = errors.Join(err, made)
		}
		dirs = append(dirs, dir)
	}
	return dirs, err
}

func (m *meters1) besideParents() (dirs []string) {
	for _, parent := range m.parents {
		if parent != "" {
			dirs = append(dirs, parent)
		}
	}
	return dirs
}

func (m *meters1) endBesides(name string) (err error) {
	for _, base := range m.bases {
		err = errors.Join(err, endCgroup(filepath.Join(base, name)))
	}
	return err
}

// reusable is the most memory in bytes that a group may have without processes, to measure another attempt. The kernel
// frees some of it later, such as the page tables of a large process, so that it cannot be subtracted exactly.
const reusable = 1 << 20

// canReuse reports whether little remains after the cache of files is removed. An error means that it does not exist.
func (m *meters1) canReuse(g cgroup) bool {
	dir := filepath.Join(m.bases["memory"], filepath.Base(g.dir()))
	if holds(dir, "memory.usage_in_bytes") <= reusable {
		return true
	}
	_ = writeExisting(dir, "memory.force_empty", "0")
	return holds(dir, "memory.usage_in_bytes") <= reusable
}

func (m *meters1) measuresAgain() bool { return true }

// holds returns the bytes in a file of a group; the largest number if it cannot be read.
func holds(dir, name string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, name))
	n, parsed := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || parsed != nil {
		return math.MaxInt64
	}
	return n
}

// group resets the peak of earlier attempts.
func (m *meters1) group(g cgroup, measured bool) usage.Group {
	in := func(controller string) string {
		if m.bases[controller] == "" {
			return ""
		}
		return filepath.Join(m.bases[controller], filepath.Base(g.dir()))
	}
	memory := in("memory")
	if measured {
		_ = writeExisting(memory, "memory.force_empty", "0")
		_ = writeExisting(memory, "memory.max_usage_in_bytes", "0")
	}
	return usage.Group{Version: 1, Memory: memory, CPU: in("cpuacct"), IO: in("blkio")}
}

// meterOf returns the meter of an attempt that has just started.
func meterOf(t tree, root int) *usage.Meter {
	in, ok := t.(*inCgroup)
	switch {
	case ok && in.meter != nil:
		return in.meter
	case ok: // it tracks processes only
		return &usage.Meter{Processes: func() []int { return usage.InDirectory(in.group.dir()) }}
	}
	return &usage.Meter{Processes: func() []int { return usage.Tree(root) }}
}
