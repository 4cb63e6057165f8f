package apply

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHasEnded checks that only local processes of the same namespace that are gone have ended.
func TestHasEnded(t *testing.T) {
	self := ThisProcess()
	if self == "" || HasEnded(self) {
		t.Errorf("this process: %q", self)
	}
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	identity := fmt.Sprintf("%s %d %s", processSpace(), child.Process.Pid, processStart(fmt.Sprint(child.Process.Pid)))
	if HasEnded(identity) {
		t.Errorf("a process that runs has ended: %s", identity)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(self)
	for name, c := range map[string]struct {
		process string
		want    bool
	}{
		"a process that has ended":          {identity, true},
		"another one with its number":       {fmt.Sprintf("%s %d %s0", processSpace(), os.Getpid(), fields[3]), true},
		"one of another machine":            {strings.Replace(identity, fields[0], "x", 1), false},
		"one of another PID namespace":      {fields[0] + " 1 " + strings.Join(strings.Fields(identity)[2:], " "), false},
		"none, as on a system without it":   {"", false},
		"the identity of another program":   {"x", false},
		"a number that no process can have": {processSpace() + " -1 5", false},
	} {
		if got := HasEnded(c.process); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
