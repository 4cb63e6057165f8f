package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"golang.org/x/sys/unix"
)

// ulimit is a limit of a process in the kernel's own terms.
type ulimit struct {
	name     string
	resource int
	limit    unix.Rlimit
}

// numberOf returns the kernel's number of a limit with the name that Batch and docker use; see
// setrlimit(2). ok is false for an unknown name.
func numberOf(name string) (number int, ok bool) {
	switch name {
	case "core":
		return unix.RLIMIT_CORE, true
	case "cpu":
		return unix.RLIMIT_CPU, true
	case "data":
		return unix.RLIMIT_DATA, true
	case "fsize":
		return unix.RLIMIT_FSIZE, true
	case "locks":
		return unix.RLIMIT_LOCKS, true
	case "memlock":
		return unix.RLIMIT_MEMLOCK, true
	case "msgqueue":
		return unix.RLIMIT_MSGQUEUE, true
	case "nice":
		return unix.RLIMIT_NICE, true
	case "nofile":
		return unix.RLIMIT_NOFILE, true
	case "nproc":
		return unix.RLIMIT_NPROC, true
	case "rss":
		return unix.RLIMIT_RSS, true
	case "rtprio":
		return unix.RLIMIT_RTPRIO, true
	case "rttime":
		return unix.RLIMIT_RTTIME, true
	case "sigpending":
		return unix.RLIMIT_SIGPENDING, true
	case "stack":
		return unix.RLIMIT_STACK, true
	}
	return 0, false
}

// ulimits splits the ulimits of a container into those that this process may set, and the names of
// the others: unknown ones, and hard limits above its own, which only a privileged process may
// raise.
func ulimits(asked []types.Ulimit) (can []ulimit, cannot []string) {
	for _, u := range asked {
		name := aws.ToString(u.Name)
		// -1: no limit
		l := ulimit{name: name, limit: unix.Rlimit{Cur: uint64(aws.ToInt32(u.SoftLimit)),
			Max: uint64(aws.ToInt32(u.HardLimit))}}
		number, ok := numberOf(name)
		if !ok {
			cannot = append(cannot, "ulimits "+name)
			continue
		}
		l.resource = number
		var own unix.Rlimit
		if err := unix.Getrlimit(number, &own); err != nil || l.limit.Max > own.Max && !mayRaise() {
			cannot = append(cannot, fmt.Sprintf("ulimits %s (its hard limit is above this machine's, %d)", name,
				own.Max))
			continue
		}
		can = append(can, l)
	}
	return can, cannot
}

// unhonouredUlimits returns the ulimits that have no effect on this system.
func unhonouredUlimits(asked []types.Ulimit) []string {
	_, cannot := ulimits(asked)
	return cannot
}

// mayRaise reports whether this process may raise hard limits (CAP_SYS_RESOURCE).
func mayRaise() bool { return hasCapability(unix.CAP_SYS_RESOURCE) }

// hasCapability reports whether this process has a capability in its effective set; see capabilities(7).
func hasCapability(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // one for each 32 capabilities
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	return sets[capability/32].Effective&(1<<(capability%32)) != 0
}

// startLimited starts a command with those ulimits of its container that can be set. They apply
// from its first instruction: the process is stopped there until they are set. A command without
// ulimits starts normally.
func startLimited(cmd *exec.Cmd, asked []types.Ulimit) error {
	limits, _ := ulimits(asked) // the others were reported as having no effect
	if len(limits) == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread() // only the thread that started a process traces it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := limit(cmd.Process.Pid, limits); err != nil {
		return errors.Join(err, cmd.Process.Kill(), reap(cmd))
	}
	return nil
}

// limit waits until a traced process stops at its first instruction, sets its limits and continues
// it.
func limit(pid int, limits []ulimit) error {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("wait for the command to begin: %w", err)
		}
	}
	for _, l := range limits {
		if err := unix.Prlimit(pid, l.resource, &l.limit, nil); err != nil {
			return fmt.Errorf("set ulimit %s: %w", l.name, err)
		}
	}
	return syscall.PtraceDetach(pid)
}

// reap waits for a command that was killed, which is no error.
func reap(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}
