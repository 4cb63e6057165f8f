//go:build unix

package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// TestInterruptedWait checks that Ctrl-C during a wait, or while a log is followed, stops no
// job, asks no question and prints how to continue.
func TestInterruptedWait(t *testing.T) {
	path := filepath.Join(batchctlOnPath(t), "batchctl")
	dir := t.TempDir()
	job := `{ "name": "hold", "image": "x:1", "command": ["sh", "-c", "echo begun; exec sleep 60"], "resources": { "vcpus": 1, "memory": 64 }, "timeout": "2m" }`
	if err := os.WriteFile(filepath.Join(dir, "job.json"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(path, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, "state"))
		return c
	}
	t.Cleanup(func() {
		_ = command("stop", "hold").Run()
		_ = command("serve", "--stop").Run()
	})
	if out, err := command("submit", "job.json").CombinedOutput(); err != nil {
		t.Fatalf("submit: %v: %s", err, out)
	}
	for _, c := range []struct {
		args  []string
		ready string // what is printed once it waits
		want  string
	}{
		{[]string{"wait", "hold"}, "RUNNING", `batchctl: stopped waiting; the job continues
  continue waiting: batchctl wait ID    stop: batchctl stop ID
`},
		{[]string{"logs", "hold", "--follow"}, "begun", `batchctl: stopped following; the job continues
  follow again: batchctl logs ID --follow    stop it: batchctl stop ID
`},
	} {
		code, said := signalAfter(t, command(c.args...), syscall.SIGINT, c.ready)
		said = regexp.MustCompile(`\b[0-9a-f]{8}\b`).ReplaceAllString(said, "ID")
		if code != exit.Interrupted || !strings.HasSuffix(said, c.want) {
			t.Errorf("%q: exit %d, said %q", c.args, code, said)
		}
		out, err := command("status", "hold").Output()
		if err != nil || !strings.Contains(string(out), "status      RUNNING") {
			t.Errorf("after %q: %v: %s", c.args, err, out)
		}
	}
}

// TestHangup checks that a run whose terminal is closed ends its job. The second SIGHUP that
// the kernel sends must not end the run early.
func TestHangup(t *testing.T) {
	// Under nohup the signal is ignored, and child processes inherit that. They do not inherit
	// that a signal is caught.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	path := filepath.Join(batchctlOnPath(t), "batchctl")
	dir := t.TempDir()
	job := `{ "name": "hold", "image": "x:1", "command": ["sh", "-c", "trap 'kill $!; echo left > left; exit 7' TERM; sleep 60 & echo begun; wait"],
		"resources": { "vcpus": 1, "memory": 64 }, "timeout": "2m" }`
	if err := os.WriteFile(filepath.Join(dir, "job.json"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "run", "job.json")
	c.Dir = dir
	c.Env = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, "state"))
	code, said := signalAfter(t, c, syscall.SIGHUP, "begun", "ending the job")
	if code != exit.Interrupted || !strings.HasSuffix(said, "batchctl: interrupted; the job was stopped\n") {
		t.Errorf("exit %d, said %q", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "left")); err != nil {
		t.Errorf("the job was not ended: %v", err)
	}
}

// signalAfter sends a signal to the command each time that it has printed the next text.
func signalAfter(t *testing.T, c *exec.Cmd, s os.Signal, ready ...string) (code int, said string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = write, write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	for lines := bufio.NewScanner(read); lines.Scan(); {
		said += lines.Text() + "\n"
		if len(ready) > 0 && strings.Contains(lines.Text(), ready[0]) {
			ready = ready[1:]
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // the exit code tells
	return c.ProcessState.ExitCode(), said
}
