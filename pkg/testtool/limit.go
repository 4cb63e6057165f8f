package testtool

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// go test ends a package after its -timeout. It prints the stacks of all goroutines, and does not end the programs that
// the tests started. So M.Run ends the package shortly before: it prints one sentence and kills these programs. Some of
// them are detached, such as an engine in the background: a mark in their environment identifies them.

// mark is the environment variable that marks the processes of a run of tests.
const mark = "BATCHCTL_TEST_RUN"

// Mark returns the variable that marks the processes of the tests, as NAME=VALUE. Processes inherit it. A test that
// gives a program another environment adds it.
func Mark() string { return mark + "=" + os.Getenv(mark) }

// setMark chooses the value of the mark.
func setMark() error {
	return os.Setenv(mark, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()))
}

// Running records that a subtest runs, for the sentence about the limit. M.Run finds test functions without it.
func Running(t testing.TB) {
	current.lock()
	defer current.mu.Unlock()
	current.running[t.Name()] = true
	t.Cleanup(func() {
		current.lock()
		defer current.mu.Unlock()
		delete(current.running, t.Name())
	})
}

// watch ends this program and the processes of its tests shortly before the limit of go test, and after a signal.
func watch() {
	var limit time.Duration
	if f := flag.Lookup("test.timeout"); f != nil {
		limit, _ = f.Value.(flag.Getter).Get().(time.Duration)
	}
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit - min(time.Second+limit/20, 10*time.Second, limit/2))
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-over:
			fmt.Fprintln(os.Stderr, current.unfinished(limit))
		case s := <-signals:
			fmt.Fprintf(os.Stderr, "%s: %v\n", packageName(), s)
		}
		forbidStarts()
		// Tests whose programs are killed now fail, and that is nothing to read.
		_ = os.Stdout.Close()
		_ = os.Stderr.Close()
		endProcesses()
		current.removeFolder()
		os.Exit(1)
	}()
}

var testFunction = regexp.MustCompile(`(?m)^\S+\.(Test\w+)[.(]`)

// unfinished is the sentence about tests that reach the limit.
func (r *record) unfinished(limit time.Duration) string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	r.mu.Lock()
	defer r.mu.Unlock()
	names := sorted(r.running)
	for _, m := range testFunction.FindAllSubmatch(stacks, -1) {
		if name := string(m[1]); name != "TestMain" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("%s: the tests did not finish in %v (unfinished: %s); on a busy machine, run go test -timeout 30m ./%[1]s", packageName(), limit, strings.Join(names, ", "))
}

// process is a process on this machine.
type process struct {
	pid, parent int
	marked      bool
}

// endProcesses kills the processes of the tests and all their descendants. A process may start another one during the
// search, so it repeats the search until it finds none.
func endProcesses() {
	own := os.Getpid()
	for range 20 {
		all := processes(Mark())
		ours := map[int]bool{own: true}
		for known := 0; known < len(ours); { // a child may be listed before its parent
			known = len(ours)
			for _, p := range all {
				ours[p.pid] = ours[p.pid] || p.marked || ours[p.parent]
				if !ours[p.pid] {
					delete(ours, p.pid)
				}
			}
		}
		if len(ours) == 1 {
			return
		}
		for pid := range ours {
			if p, err := os.FindProcess(pid); err == nil && pid != own {
				_ = p.Kill()
				_ = p.Release()
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// parseProcess reads "PID PARENT STATE ENVIRONMENT". It returns false for a process that has ended.
func parseProcess(line, mark string) (p process, ok bool) {
	f := strings.Fields(line)
	if len(f) < 3 || f[2][0] == 'Z' || f[2][0] == 'X' {
		return p, false
	}
	pid, err := strconv.Atoi(f[0])
	parent, err2 := strconv.Atoi(f[1])
	return process{pid, parent, strings.Contains(line, mark)}, err == nil && err2 == nil
}
