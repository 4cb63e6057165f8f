//go:build unix

package sweep

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTermIsForwarded checks that a line receives its child's SIGTERM and may take its time to end, and
// that no line starts after it.
func TestTermIsForwarded(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		testTerm(t, func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = []string{goChild + "=1"}
			return cmd
		})
	})
	eachShell(t, func(t *testing.T, sh shell) {
		testTerm(t, func() *exec.Cmd { return sh.command("-c", LinesProgram, "sh") })
	})
}

func testTerm(t *testing.T, command func() *exec.Cmd) {
	for name, tt := range map[string]struct {
		trap string
		want string
		exit int
	}{
		// The trap waits for what this test writes, so the line ends long after the signal. It
		// ends its own child only then: the end of a child may interrupt a shell that waits
		// for a FIFO to open.
		"ends with a code of its own": {`read x <in; kill $!; echo "ended $x"; exit 7`, "ended now\nbatchctl: line 1 of 3 failed with exit code 7\nbatchctl: asked to end: lines 2 to 3 are not run\n", 7},
		"ends well":                   {`read x <in; kill $!; echo "ended $x"; exit 0`, "ended now\nbatchctl: asked to end: lines 2 to 3 are not run\n", 143},
		"is ended":                    {"", "batchctl: line 1 of 3 failed with exit code 143\nbatchctl: asked to end: lines 2 to 3 are not run\n", 143},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, fifo := range []string{"in", "never"} {
				if err := syscall.Mkfifo(filepath.Join(dir, fifo), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// It runs a program that reads from a pipe without a writer.
			line := "exec cat never"
			if tt.trap != "" {
				line = fmt.Sprintf("trap %s TERM; cat never & wait", quoted("echo trapped; "+tt.trap))
			}
			s := &Sweep{Kind: Commands, Size: 1, KeepGoing: true, Lines: []string{line, "echo two", "echo three"}}
			cmd := command()
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, path(), DocumentVariable+"="+s.Document())
			out, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout, cmd.Stderr = w, w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			lines := bufio.NewReader(out)
			expect := func(want string) {
				t.Helper()
				if got, err := lines.ReadString('\n'); got != want {
					t.Fatalf("got %q (%v), want %q", got, err, want)
				}
			}
			expect("batchctl: line 1 of 3\n")
			// It opens once cat does; a shell that has only forked might not hear the signal.
			never, err := os.OpenFile(filepath.Join(dir, "never"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer never.Close()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if tt.trap != "" {
				expect("trapped\n")
				// Opened for both, it does not wait for a reader that may never come.
				in, err := os.OpenFile(filepath.Join(dir, "in"), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				if _, err := in.WriteString("now\n"); err != nil {
					t.Fatal(err)
				}
			}
			rest, err := io.ReadAll(lines)
			if err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if got := withoutTerminated(string(rest)); got != tt.want || cmd.ProcessState.ExitCode() != tt.exit {
				t.Errorf("exit %d, want %d\n%s\nwant\n%s", cmd.ProcessState.ExitCode(), tt.exit, got, tt.want)
			}
		})
	}
}

// withoutTerminated drops what shells say of a process that SIGTERM ended.
func withoutTerminated(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "Terminated") {
			b.WriteString(line)
		}
	}
	return b.String()
}
