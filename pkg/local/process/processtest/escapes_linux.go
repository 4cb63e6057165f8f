package processtest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/local/process/scan"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// commands are shell commands that leave a process which tries to outlive its job. OUT is a file
// that appears once the process has escaped. TOKEN is in the command line of every remaining
// process.
var commands = map[string]string{
	"background":      `sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"setsid":          `setsid sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"double fork":     `(setsid sh -c '(echo > OUT; exec sleep TOKEN) & exit' &)`,
	"no environment":  `env -i /usr/bin/setsid /bin/sh -c '(/bin/sh -c "echo > OUT; exec /bin/sleep TOKEN" &)' &`,
	"changed marker":  `BATCHCTL_ATTEMPT=other setsid sh -c 'echo > OUT; exec sleep TOKEN' &`,
	"nohup":           `nohup setsid sh -c 'cd /; echo > OUT; exec sleep TOKEN' </dev/null >/dev/null 2>&1 &`,
	"ignores signals": `setsid sh -c 'trap "" TERM HUP INT QUIT; echo > OUT; while :; do sleep 0.1; done' TOKEN &`,
	"forks":           `setsid sh -c 'echo > OUT; while :; do setsid sleep TOKEN & sleep 0.002; done' TOKEN &`,
	"hops":            `echo 'echo > OUT; env -i /usr/bin/setsid /bin/sh OUT.sh TOKEN & exit' > OUT.sh; setsid sh OUT.sh TOKEN &`,
	"leaves group":    `env -i /usr/bin/setsid /bin/sh -c 'for g in /sys/fs/cgroup /sys/fs/cgroup/*; do echo $$ > $g/cgroup.procs; done 2>/dev/null; echo > OUT; exec /bin/sleep TOKEN' &`,
	// A user without CAP_SYS_RESOURCE gets the hard limit a moment after the command has started.
	"lowers limit": `i=0; while [ $i -lt 100 ] && grep -q 'file locks.*unlimited *locks' /proc/$$/limits; do i=$((i+1)); done
env -i /usr/bin/setsid /bin/sh -c 'for g in /sys/fs/cgroup /sys/fs/cgroup/*; do echo $$ > $g/cgroup.procs; done 2>/dev/null; prlimit --pid $$ --locks=7: ; echo > OUT; exec /bin/sleep TOKEN' &`,
	"subreaper": `ESCAPEE -test.run=^TestEscapee$ OUT TOKEN &`,
}

// Token returns an argument for sleep: about 11 days, and unique.
func Token() string { return fmt.Sprintf("1000000.%015d", rand.Int64N(1e15)) }

// Escape returns a command that ends once OUT exists.
func Escape(name, out, token string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	command := strings.NewReplacer("OUT", out, "TOKEN", token, "ESCAPEE", "BATCHCTL_TEST_ESCAPEE=1 "+self).
		Replace(commands[name])
	return command + "\nuntil [ -e " + out + " ]; do sleep 0.005; done\n"
}

// Escapee is the body of TestEscapee in each package whose tests run escapes: the command of an
// escape that adopts its descendants.
func Escapee(t *testing.T) {
	t.Helper()
	if os.Getenv("BATCHCTL_TEST_ESCAPEE") == "" {
		t.Skip("runs only as a job")
	}
	out, token := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/sh", "-c", "(sleep "+token+" &) ; echo > "+out)
	child.Env = []string{}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
}

// Survivors returns the running processes with a token in their command line.
func Survivors(token string) (pids []int) {
	ended, nameless := map[int]bool{}, map[int]bool{} // those that a scan has seen
	for range scan.Tries {
		missed, err := scan.Each(func(pid int) (gone bool) {
			line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if scan.HasEnded(pid) { // it may have started another process since the scan read its number
				gone, ended[pid] = !ended[pid], true
				return gone
			}
			if bytes.Contains(line, []byte(token)) {
				pids = append(pids, pid)
			}
			if err == nil && len(line) == 0 { // a thread of the kernel, or a process in the middle of its exec
				gone, nameless[pid] = !nameless[pid], true
				return gone
			}
			return err != nil
		})
		if err != nil {
			panic(err)
		}
		if !missed || len(pids) > 0 {
			break
		}
	}
	return pids
}

// EndSurvivors kills the processes that a test left.
func EndSurvivors(token string) {
	for left := Survivors(token); len(left) > 0; left = Survivors(token) {
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// EveryEscape returns a command that performs every escape.
func EveryEscape(dir, token string) string {
	var all strings.Builder
	n := 0
	for name := range commands {
		all.WriteString(Escape(name, filepath.Join(dir, "out"+strconv.Itoa(n)), token))
		n++
	}
	return all.String() + "echo > " + filepath.Join(dir, "away") + "\n"
}

// Escapes returns the names of the escapes.
func Escapes() []string { return slices.Sorted(maps.Keys(commands)) }

// NeedEscapes skips the test unless the programs of the escapes are installed.
func NeedEscapes(t *testing.T) {
	t.Helper()
	testtool.Need(t, "setsid", "nohup", "env", "sleep")
}
