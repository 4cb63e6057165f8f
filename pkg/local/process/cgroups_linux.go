package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/usage"
)

// newTrees returns the trees that cost least while attempts run: those that the kernel tracks, if
// this user may create control groups.
func newTrees() trees { return &firstOf{kinds: []string{"cgroup2", "cgroup1"}, marks: newMarks()} }

// FindBy returns an executor that finds the processes of attempts with one method: "cgroup2",
// "cgroup1" or "marks". ok is false for control groups that this user cannot write.
func (p Executor) FindBy(kind string) (found Executor, ok bool) {
	if kind == "marks" {
		p.trees = newMarks()
		return p, true
	}
	f := &firstOf{kinds: []string{kind}, marks: newMarks()}
	p.trees = f
	return p, f.current() != nil
}

// firstOf uses the first kind of trees that works. The first attempt determines which.
type firstOf struct {
	kinds []string // not tried yet
	marks *marks

	mu     sync.Mutex
	groups *cgroups // nil: none, or not yet
}

// current returns the control groups to use; nil means only the marks.
func (f *firstOf) current() *cgroups {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.groups == nil && len(f.kinds) > 0 {
		kind := f.kinds[0]
		f.kinds = f.kinds[1:]
		f.groups = openCgroups(kind, f.marks)
	}
	return f.groups
}

// giveUp switches to the next kind after one failed.
func (f *firstOf) giveUp(failed *cgroups) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups == failed {
		f.groups = nil
	}
}

// start uses the control groups, and the marks if no process can start in a group.
func (f *firstOf) start(id string, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	groups := f.current()
	if groups == nil {
		return f.marks.start(id, begin)
	}
	t, err := groups.start(id, wanted{}, begin)
	if err == nil || attempt.TooFull(err) {
		return t, err
	}
	// Either the command cannot start, or the kernel does not allow it to start in a control group.
	t, second := f.marks.start(id, begin)
	if second != nil {
		return t, err
	}
	f.giveUp(groups)
	return t, nil
}

func (f *firstOf) clear(id, path string) error {
	f.current() // end what killed engines left
	return errors.Join(clearCgroup(path), f.marks.clear(id, path))
}

// close removes the groups of the current kind.
func (f *firstOf) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups == nil {
		return nil
	}
	return f.groups.close()
}

// cgroups are trees with a control group per attempt, which a process can leave only with permission to write to
// another one. Empty groups are used again: creating one costs as much as a short job.
type cgroups struct {
	parent string // the directory of the control group of this process
	kind   string
	meters meters
	marks  *marks // find the processes that moved to another group

	mu      sync.Mutex
	base    string // holds the groups of this engine; empty: not created
	created int    // groups so far, for their names
	used    int
	idle    []cgroup
}

// cgroup is a control group that can hold the processes of an attempt.
type cgroup interface {
	// start calls begin so that its process is born in the group.
	start(attr *syscall.SysProcAttr, begin func() error) error
	dir() string
	// isEmpty reports whether the group holds no process and no group.
	isEmpty() bool
	// leave moves this program out of the group and closes what keeps it open.
	leave() error
}

// openCgroups returns nil if this user cannot create control groups of that kind.
func openCgroups(kind string, marks *marks) *cgroups {
	for _, parent := range cgroupDirectories(kind) {
		c := &cgroups{parent: parent, kind: kind, meters: unmeasured{}, marks: marks}
		if kind == "cgroup2" && (unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK) != nil) {
			continue // a process can only start where it could be moved
		}
		clearDead(parent)
		if g, err := c.take(false); err == nil {
			c.used, c.idle = 0, append(c.idle, g)
			return c
		}
		if c.base != "" {
			_ = endCgroup(c.base)
		}
	}
	return nil
}

// controllers are those of cgroup v1, the best first: pids can forbid forks, freezer can stop
// all processes of a group.
var controllers = []string{"pids", "freezer", "name=systemd"}

// cgroupDirectories returns the directories of this process's control groups, the best first.
func cgroupDirectories(kind string) []string {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	wanted := []string{""}
	if kind == "cgroup1" {
		wanted = controllers
	}
	var found []string
	for _, controller := range wanted {
		if dir := usage.Directory(string(own), string(mounts), controller); dir != "" {
			found = append(found, dir)
		}
	}
	return found
}

// basePrefix begins the name of the directory of an engine's control groups. The PID namespace, the engine's start and
// process id follow, by which a later engine knows that it has ended, and a number.
const basePrefix = "batchctl-"

// newBase creates the directory of this engine's control groups.
func newBase(parent string) (string, error) {
	name, err := baseName(os.Getpid())
	for i := 0; err == nil; i++ {
		dir := filepath.Join(parent, name+"-"+strconv.Itoa(i))
		if err = os.Mkdir(dir, 0o700); err == nil {
			return dir, nil
		}
		if errors.Is(err, fs.ErrExist) { // another executor of this program
			err = nil
		}
	}
	return "", err
}

// baseName returns the name of the directory of this engine's groups, without the number.
func baseName(pid int) (string, error) {
	space, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	began, err := processStart(pid)
	if err != nil {
		return "", err
	}
	ticks, _, _ := strings.Cut(began, "@")
	return fmt.Sprintf("%s%d-%s-%d", basePrefix, space.Sys().(*syscall.Stat_t).Ino, ticks, pid), nil
}

// isDead reports whether a directory belongs to an engine that has ended. An engine in another
// PID namespace is invisible here, so its directory never counts as dead.
func isDead(base string) bool {
	var space, ticks uint64
	var pid, number int
	if n, _ := fmt.Sscanf(base, basePrefix+"%d-%d-%d-%d", &space, &ticks, &pid, &number); n != 4 {
		return false
	}
	own, err := baseName(os.Getpid())
	if err != nil || !strings.HasPrefix(own, fmt.Sprintf("%s%d-", basePrefix, space)) {
		return false
	}
	now, err := baseName(pid)
	return err != nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil &&
		base != fmt.Sprintf("%s-%d", now, number)
}

// clearDead ends the groups of ended engines below a control group.
func clearDead(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.IsDir() && isDead(e.Name()) {
			_ = endCgroup(filepath.Join(parent, e.Name())) // another engine may be ending it, too
		}
	}
}

// clearCgroup ends all groups of a dead engine, given the directory of one of them. Any other
// path is ignored: the handle comes from a journal.
func clearCgroup(path string) error {
	base := filepath.Dir(path)
	if path == "" || !filepath.IsAbs(path) || !isDead(filepath.Base(base)) {
		return nil
	}
	return endCgroup(base)
}

// take returns a control group without processes, a new one to measure where a used one cannot. The caller owns it.
func (c *cgroups) take(measured bool) (cgroup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 && (!measured || c.meters.measuresAgain()) {
		g := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.used++
		return g, nil
	}
	if c.base == "" {
		base, err := newBase(c.parent)
		if err != nil {
			return nil, fmt.Errorf("create control group: %w", err)
		}
		c.base = base
		if err := c.meters.measureIn(base); err != nil {
			return nil, fmt.Errorf("measure in control group: %w", err)
		}
	}
	dir := filepath.Join(c.base, strconv.Itoa(c.created))
	beside, err := c.meters.besides(strconv.Itoa(c.created))
	c.created++
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	var g cgroup
	if err == nil {
		if c.kind == "cgroup2" {
			g, err = openCgroup2(dir)
		} else {
			g, err = openCgroup1(dir, beside...)
		}
		if err != nil {
			_ = os.Remove(dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create control group: %w", err)
	}
	c.used++
	return g, nil
}

// putBack keeps a group for the next attempt, or kills what is in it.
func (c *cgroups) putBack(g cgroup) error {
	empty := g.isEmpty() && c.meters.canReuse(g)
	c.mu.Lock()
	c.used--
	if empty {
		defer c.mu.Unlock()
		c.idle = append(c.idle, g)
		return nil
	}
	c.mu.Unlock()
	// A job that left processes may also have changed its group.
	return errors.Join(g.leave(), endCgroup(g.dir()), c.meters.endBesides(filepath.Base(g.dir())))
}

// wanted is what an attempt wants of its control group.
type wanted struct {
	measured bool
	memory   int64 // the limit in bytes; 0: none
}

// start takes an empty group and starts the process in it.
func (c *cgroups) start(id string, want wanted, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	g, err := c.take(want.measured)
	if err != nil {
		return nil, err
	}
	t := &inCgroup{groups: c, group: g, usage: c.meters.group(g, want.measured), marked: marked{c.marks, id, false}}
	if t.usage.Memory != "" {
		if err := limitMemory(t.usage, want.memory); err != nil {
			return nil, errors.Join(err, c.putBack(g))
		}
		t.hasLimit, t.kills = want.memory > 0, t.usage.Kills()
	}
	if want.measured && t.usage.Memory != "" {
		t.meter = &usage.Meter{Group: t.usage}
		t.meter.Baseline() // before the first process: a group may have been used before
	}
	t.marked.inLimit, err = startMarked(id, ownGroup(), func(attr *syscall.SysProcAttr) (pid int, err error) {
		err = g.start(attr, func() error {
			pid, err = begin(attr)
			return err
		})
		return pid, err
	})
	if err != nil {
		return nil, errors.Join(err, c.putBack(g))
	}
	return t, nil
}

// close removes the groups, unless another engine with the same executor uses some.
func (c *cgroups) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base == "" || c.used > 0 {
		return nil
	}
	var errs []error
	for _, g := range c.idle {
		errs = append(errs, g.leave())
	}
	errs = append(errs, endCgroup(c.base), c.meters.endBesides(""))
	c.idle, c.base = nil, ""
	return errors.Join(errs...)
}

// inCgroup is the processes of an attempt in their control group.
type inCgroup struct {
	groups *cgroups
	group  cgroup
	usage  usage.Group  // without files if the group only tracks processes
	meter  *usage.Meter // nil without measuring
	marked marked
	// hasLimit is true if the kernel keeps the limit of memory, and kills is how many processes it had killed before.
	hasLimit bool
	kills    int64
}

// keptLimit returns a function that reports whether the kernel killed a process because the attempt needed more memory
// than its limit; nil if the kernel does not keep the limit.
func keptLimit(t tree) (ranOut func() bool) {
	in, ok := t.(*inCgroup)
	if !ok || !in.hasLimit {
		return nil
	}
	return func() bool { return in.usage.Kills() > in.kills }
}

// limitMemory sets the limit of memory of a group, in bytes; 0 removes it. The limit includes swap, as that of a
// container on a machine of AWS Batch, which has none.
func limitMemory(g usage.Group, bytes int64) error {
	limit := strconv.FormatInt(bytes, 10)
	if g.Version == 1 {
		if bytes == 0 {
			limit = "-1"
		}
		const memory, both = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
		// The first is never above the second. Many kernels do not count swap.
		_ = writeExisting(g.Memory, both, "-1")
		err := writeExisting(g.Memory, memory, limit)
		_ = writeExisting(g.Memory, both, limit)
		return err
	}
	swap := "0"
	if bytes == 0 {
		limit, swap = "max", "max"
	}
	_ = writeExisting(g.Memory, "memory.swap.max", swap)
	return writeExisting(g.Memory, "memory.max", limit)
}

// path returns the directory of the group.
func (t *inCgroup) path() string {
	if strings.ContainsAny(t.group.dir(), " \t\n") {
		return ""
	}
	return t.group.dir()
}

// end kills what is in the group, and what moved out of it: root can move a process to any group.
func (t *inCgroup) end() error { return errors.Join(t.groups.putBack(t.group), t.marked.end()) }

// endCgroup kills every process in a control group and in those below it, and removes them. It may have no
// thread of this program. It waits only for processes to end: a group that another user's engine left stays.
func endCgroup(dir string) error {
	for deadline := time.Now().Add(endTime); ; time.Sleep(time.Millisecond) {
		// A group that ignores one of these lacks that file.
		_ = writeExisting(dir, "cgroup.kill", "1")
		_ = writeExisting(dir, "pids.max", "0")
		_ = writeExisting(dir, "freezer.state", "FROZEN")
		var below []string
		walk := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // it has vanished, or is not a group
			}
			below = append(below, path)
			for _, pid := range processesOf(path) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return nil
		})
		_ = writeExisting(dir, "freezer.state", "THAWED") // a frozen process does not die
		var err error
		busy := false // a group holds processes or groups; other errors stay
		for _, path := range slices.Backward(below) {
			if removed := unix.Rmdir(path); removed != nil && !errors.Is(removed, unix.ENOENT) {
				err = fmt.Errorf("end the processes in %s: %w", path, removed)
				busy = busy || errors.Is(removed, unix.EBUSY)
			}
		}
		if err == nil || !busy || time.Now().After(deadline) {
			return errors.Join(walk, err)
		}
	}
}

// writeExisting writes to a control file if there is one.
func writeExisting(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// processesOf returns the processes in a control group, without this one. Those of another PID
// namespace, whose number is 0 here, cannot be killed by number.
func processesOf(dir string) (pids []int) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hasGroups reports whether a control group holds others.
func hasGroups(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || holdsGroups(info)
}

// holdsGroups reports whether the directory of a control group holds others: then it has more than two links.
func holdsGroups(dir fs.FileInfo) bool { return dir.Sys().(*syscall.Stat_t).Nlink > 2 }
