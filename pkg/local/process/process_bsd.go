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

// processStart returns when a process began, to the second, as ps prints it.
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

// startLimited starts a command without the ulimits of its container, which were reported as having
// no effect.
func startLimited(cmd *exec.Cmd, _ []types.Ulimit) error { return cmd.Start() }
