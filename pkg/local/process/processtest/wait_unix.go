//go:build unix

package processtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Appears waits for a file and returns what is in it.
func Appears(t *testing.T, path string) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%s did not appear", path)
	return ""
}

// Vanishes waits until a process has ended that is not a child of the test.
func Vanishes(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// zombie reports whether a process has ended and only waits for its parent.
func zombie(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil { // Linux, which may lack ps
		at := bytes.LastIndexByte(stat, ')') // the end of the program's name
		return at >= 0 && bytes.HasPrefix(stat[at+1:], []byte(" Z"))
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// Grandchild returns a command whose grandchild writes its pid to a file and stays.
func Grandchild(file string) string {
	return "sh -c 'echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000' & "
}
