//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"

	"github.com/batchctl/batchctl/pkg/usage"
)

// groups is the trees of systems where only the process group of an attempt can be ended.
// A process that leaves the group (setsid) outlives its job.
type groups struct{}

func newTrees() trees { return groups{} }

// newMarks returns the trees for programs without permission to create control groups.
func newMarks() trees { return groups{} }

func (groups) start(_ string, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	_, err := begin(ownGroup())
	return group{}, err
}

func (groups) clear(string, string) error { return nil }

func (groups) close() error { return nil }

// group has nothing to find beyond the process group.
type group struct{}

func (group) path() string { return "" }

func (group) end() error { return nil } // Run ends the group

// Start starts a command of the engine itself.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// wanted is what an attempt wants of a control group, which these systems do not have.
type wanted struct {
	measured bool
	memory   int64
}

// measuring is only on Linux: other systems count what a process and its waited-for children used.
type measuring struct{}

func (*measuring) start(others trees, id string, _ wanted,
	begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	return others.start(id, begin)
}

func (*measuring) close() error { return nil }

// keptLimit returns nil: the kernel keeps no limit of memory.
func keptLimit(tree) (ranOut func() bool) { return nil }

// meterOf returns the meter of an attempt that has just started.
func meterOf(tree, int) *usage.Meter { return new(usage.Meter) }
