package apply

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// ThisProcess identifies this process: the start of the machine, its PID namespace, its number and when it began. It is
// "" without /proc, which only Linux has.
func ThisProcess() string {
	space, began := processSpace(), processStart("self")
	if space == "" || began == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", space, os.Getpid(), began)
}

// HasEnded reports whether the process with an identity has ended for certain. Nothing is certain about processes of
// other machines and of other PID namespaces.
func HasEnded(process string) bool {
	fields := strings.Fields(process)
	if len(fields) != 4 || fields[0]+" "+fields[1] != processSpace() {
		return false
	}
	pid, err := strconv.Atoi(fields[2])
	if err != nil || pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	began := processStart(fields[2]) // "" if /proc hides the processes of other users
	return began != "" && began != fields[3]
}

// WhoAmI names this user and machine for others who find the lock.
func WhoAmI() string {
	name := "an unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed machine"
	}
	return name + "@" + host
}

// processSpace identifies the boot of the local machine and the PID namespace; "" if they are unknown.
func processSpace() string {
	boot, errBoot := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, errSpace := os.Readlink("/proc/self/ns/pid")
	if errBoot != nil || errSpace != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + strings.Trim(space, "pid:[]")
}

// processStart returns when a process began, in ticks since the machine started (proc(5), field 22 of stat); "" if that
// is unknown.
func processStart(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the name in parentheses, which may contain blanks and parentheses.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}
