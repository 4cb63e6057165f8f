//go:build unix && !linux

package process

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// processStart returns when a process started, in a form that no later process with the same
// number has.
func processStart(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if began := strings.Join(strings.Fields(string(out)), "_"); err == nil && began != "" {
		return began, nil
	}
	return "", fmt.Errorf("process %d does not exist", pid)
}

// ownGroup starts a process in a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// tooLarge returns nothing: this system does not report memory.
func tooLarge([]*memoryLimit) []*memoryLimit { return nil }

// startLimited starts a command with those ulimits of its container that can be set. They apply
// from its first instruction: the process is stopped there until they are set. A command without
// ulimits starts normally.
func startLimited(cmd *exec.Cmd, _ []types.Ulimit) error { return cmd.Start() }

// isolateMounts does nothing: these systems have no list of mounts for a process.
func isolateMounts(*syscall.SysProcAttr) {}
