package cli_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// pty is a terminal for the test, and its user.
type pty struct {
	t        *testing.T
	person   *os.File // sees and types
	terminal *os.File // what the program has
	mu       sync.Mutex
	seen     string
	screen   *vt.Emulator // shows what was written, and answers queries
}

func openPTY(t *testing.T) *pty {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	p := &pty{t: t, person: person, terminal: terminal, screen: vt.NewEmulator(100, 24)}
	// Close of the emulator sets a variable that the goroutines below read; its pipe has a lock.
	if pipe, ok := p.screen.InputPipe().(io.Closer); ok {
		t.Cleanup(func() { pipe.Close() })
	} else {
		t.Fatal("the emulator's input cannot be closed")
	}
	p.resize(100, 24)
	go p.watch()
	go io.Copy(person, p.screen)
	return p
}

func (p *pty) watch() {
	for buf := make([]byte, 4096); ; {
		n, err := p.person.Read(buf)
		p.mu.Lock()
		p.seen += string(buf[:n])
		p.screen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) resize(columns, lines uint16) {
	p.t.Helper()
	p.mu.Lock()
	p.screen.Resize(int(columns), int(lines))
	p.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(p.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pty) press(keys string) {
	p.t.Helper()
	if _, err := p.person.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// see waits until the text is written, and forgets what came before it.
func (p *pty) see(text string) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		seen := p.seen
		_, after, ok := strings.Cut(seen, text)
		if ok {
			p.seen = after
		}
		p.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%q was not written, but %q", text, seen[max(0, len(seen)-2000):])
		}
	}
}

// shows waits until a line of the screen contains the text. Lines count from 1; 0 is any line.
func (p *pty) shows(line int, text string) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		screen := p.screen.String()
		p.mu.Unlock()
		lines := strings.Split(screen, "\n")
		if line == 0 && strings.Contains(screen, text) || line > 0 && line <= len(lines) && strings.Contains(lines[line-1], text) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%q is not on the screen (line %d):\n%s", text, line, screen)
		}
	}
}

func (p *pty) settings() unix.Termios {
	p.t.Helper()
	settings, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *settings
}

// start runs batchctl with the pty as its controlling terminal.
func (p *pty) start(state string, args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(batchctlOnPath(p.t), "batchctl"), args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "BATCHCTL_STATE_DIR="+state)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.terminal, p.terminal, p.terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// exitCode waits for a program's end.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

const (
	screenTaken = "\x1b[?1049h\x1b[?25l"
	screenGiven = "\x1b[?1049l\x1b[?25h"
)

// The terminal is restored, however the view is left.
func TestTopGivesTheTerminalBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(*pty, *exec.Cmd)
		code  int
	}{
		{"q", func(p *pty, _ *exec.Cmd) { p.press("q") }, 0},
		{"Ctrl-C", func(p *pty, _ *exec.Cmd) { p.press("\x03") }, 130},
		{"SIGTERM", func(_ *pty, cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }, 130},
		{"Ctrl-C while a filter is typed", func(p *pty, _ *exec.Cmd) { p.press("/q\x03") }, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openPTY(t)
			before := p.settings()
			cmd := p.start(t.TempDir(), "top")
			p.see(screenTaken)
			p.shows(0, "no job is running or waiting")
			if during := p.settings(); during.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 {
				t.Error("keys are echoed, or come by the line")
			}
			c.leave(p, cmd)
			p.see(screenGiven)
			if code := exitCode(t, cmd); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if p.settings() != before {
				t.Errorf("the terminal is not restored: %+v, was %+v", p.settings(), before)
			}
		})
	}
}

// The keys of the view, a terminal that changes its size, and an engine that starts and stops.
func TestTopOnATerminal(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	p := openPTY(t)
	cmd := p.start(state, "top", "--interval", "100ms")
	p.shows(0, "no engine is running")
	p.shows(0, "q quit")
	p.press("?")
	p.shows(0, "quit; the jobs continue")
	p.press(" ")
	p.shows(0, "QUEUE")
	p.press("s")
	p.shows(0, "no job")

	defer runIn(t, state, "serve", "--stop")
	submitJobs(t, state, "train", "train", "eval")
	p.shows(0, "engine at http://127.0.0.1:")
	p.shows(0, "train")
	p.shows(0, "jobs 1-3 of 3, oldest first")
	p.press("/eva")
	p.shows(0, "name: eva_")
	p.press("\r")
	p.shows(0, `jobs 1-1 of 1, named "eva"`)
	p.resize(40, 10)
	p.shows(10, "jobs 1-1 of 1")
	p.press("\x1b")
	p.shows(0, " of 3, oldest first")
	p.resize(100, 24)

	if _, _, said := runIn(t, state, "serve", "--stop"); !strings.Contains(said, "the engine has stopped, with 3 jobs") {
		t.Error(said)
	}
	p.shows(0, "no engine is running")
	p.press("q")
	p.see(screenGiven)
	if code := exitCode(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The view sends no query to the terminal: the shell would read an answer that arrives late.
func TestTopAsksTheTerminalNothing(t *testing.T) {
	p := openPTY(t)
	cmd := p.start(t.TempDir(), "top")
	p.shows(0, "no job is running or waiting")
	p.mu.Lock()
	written := p.seen
	p.mu.Unlock()
	for _, query := range []string{ansi.RequestModeSynchronizedOutput, ansi.RequestModeUnicodeCore, ansi.RequestKittyKeyboard, ansi.RequestPrimaryDeviceAttributes} {
		if strings.Contains(written, query) {
			t.Errorf("%q is written", query)
		}
	}
	p.press("q")
	if code := exitCode(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// If the first snapshot fails, the error is on the normal screen.
func TestTopOfATargetThatDoesNotAnswer(t *testing.T) {
	p := openPTY(t)
	before := p.settings()
	cmd := p.start(t.TempDir(), "top", "nope")
	p.see(screenGiven)
	p.see("batchctl: no queue nope here")
	if code := exitCode(t, cmd); code != 3 || p.settings() != before {
		t.Errorf("exit code %d, or the terminal is not restored", code)
	}
}

// submitJobs starts an engine with jobs that wait for each other's capacity.
func submitJobs(t *testing.T, state string, names ...string) {
	t.Helper()
	for _, name := range names {
		file := filepath.Join(t.TempDir(), name+".json")
		text := `{ "name": "` + name + `", "image": "busybox:1", "command": ["sleep", "1000"], "resources": { "vcpus": 1, "memory": 64 }, "timeout": "1h" }`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := runIn(t, state, "submit", file); code != 0 {
			t.Fatal(said)
		}
	}
}

func runIn(t *testing.T, state string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return run(t, append(args, "--state-dir", state)...)
}
