//go:build !linux

package testtool

import (
	"os/exec"
	"runtime"
	"strings"
)

// forbidStarts does nothing, because processes starts ps.
func forbidStarts() {}

// processes returns the processes on this machine, and which of them have a variable in their environment. It returns
// none where ps does not show environments. An engine without jobs ends on its own, after ten minutes.
func processes(mark string) (all []process) {
	environment := "-axeww"
	if runtime.GOOS == "darwin" {
		environment = "-axEww"
	}
	out, err := exec.Command("ps", environment, "-o", "pid=,ppid=,state=,command=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if p, ok := parseProcess(line, mark); ok {
			all = append(all, p)
		}
	}
	return all
}
