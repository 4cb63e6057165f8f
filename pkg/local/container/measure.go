package container

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/usage"
)

// parentPrefix begins the name of the control group around the container of a measured attempt. The program removes
// the container's own group with it, together with what the kernel has counted; this one stays until it is read.
const parentPrefix = "batchctl-attempt-"

// groups is how the program manages control groups. It asks once.
type groups struct {
	once     sync.Once
	cgroupfs bool
}

// canNest reports whether containers can be created in a group that this user can read and remove: the program must
// run on this machine and name groups by paths, which it does without systemd.
func (g *groups) canNest(c client) bool {
	g.once.Do(func() {
		if runtime.GOOS != "linux" || os.Getuid() != 0 || c.isRemote() {
			return
		}
		question := []string{"info", "--format", "{{.CgroupDriver}}"}
		if c.kind == Podman {
			question[2] = "{{.Host.CgroupManager}}"
		}
		answer, err := c.quickly(question...)
		g.cgroupfs = err == nil && strings.TrimSpace(answer) == "cgroupfs"
		removeOldGroups()
	})
	return g.cgroupfs
}

// isRemote reports whether the program may run containers on another machine.
func (c client) isRemote() bool {
	for _, name := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		if v := os.Getenv(name); v != "" && !strings.HasPrefix(v, "unix://") {
			return true
		}
	}
	return os.Getenv("DOCKER_CONTEXT") != "" && c.kind == Docker
}

// groupAround returns the control group around the container of a measured attempt, and the flags that create it
// there; "" if the attempt has none.
func (x *Executor) groupAround(a attempt.Attempt) (path string, flags []string) {
	if a.Measured == nil || !x.groups.canNest(x.client) {
		return "", nil
	}
	path = "/" + parentPrefix + a.ID
	flags = []string{"--cgroup-parent=" + path}
	if x.kind == Podman { // its monitor would be in the group, too
		flags = append(flags, "--cgroups=no-conmon")
	}
	return path, flags
}

// measure starts to measure the container of an attempt; nil if the attempt or this machine does not measure. It has
// been created just now.
func (l *life) measure(a attempt.Attempt, around string, now inspected) *usage.Meter {
	if a.Measured == nil {
		return nil
	}
	g := usage.Group{}
	if around != "" {
		g = usage.GroupAt(around)
	}
	if g.Memory == "" && now.State.Pid > 0 { // its own, of which the last moments remain unknown
		pid := strconv.Itoa(now.State.Pid)
		text, err := os.ReadFile("/proc/" + pid + "/cgroup")
		if err == nil && now.ID != "" && strings.Contains(string(text),
			now.ID) { // else the number is of another process
			g = usage.GroupOf(pid)
		}
	}
	if g.Memory == "" {
		return nil
	}
	m := &usage.Meter{Group: g, Fresh: true}
	if len(a.GPUs) > 0 {
		m.GPUs = usage.NVIDIA(a.GPUs...)
	}
	m.Start()
	return m
}

// report ends the measurement.
func report(m *usage.Meter, a attempt.Attempt, end error) {
	if m == nil {
		return
	}
	u := m.Stop(nil)
	limit := memoryOf(a.Container) << 20
	u.MemoryLimit = &limit
	killed := end != nil && end.Error() == outOfMemory            // whose last moments are in no sample
	if u.PeakMemory != nil && (killed || *u.PeakMemory > limit) { // the group around also has the runtime's start
		u.PeakMemory = &limit
	}
	a.Measured(u)
}

// removeGroup removes the control group around a container that was removed.
func removeGroup(path string) {
	if path == "" {
		return
	}
	for _, dir := range usage.Directories(path) {
		for pause := time.Millisecond; pause < 200*time.Millisecond; pause *= 2 {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			time.Sleep(pause) // the kernel still ends the container's own group
		}
	}
}

// abandoned is the age after which an empty group belongs to no engine that creates a container in it.
const abandoned = time.Hour

// removeOldGroups removes empty groups that killed engines left.
func removeOldGroups() {
	for _, dir := range usage.Directories("/") {
		found, _ := filepath.Glob(filepath.Join(dir, parentPrefix+"*")) // the pattern is valid
		for _, group := range found {
			if info, err := os.Stat(group); err == nil && time.Since(info.ModTime()) > abandoned {
				_ = os.Remove(group) // fails if a container is in it
			}
		}
	}
}
