package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/local/process/scan"
)

// marks are the trees that need no permission. The first process of an attempt is marked with a
// value of RLIMIT_LOCKS, which Linux has not enforced since 2.4.25. Every descendant inherits the
// value, and setsid, exec, a double fork or an empty environment do not change it. Unlike a child
// subreaper, the engine does not adopt the monitors of containers (conmon), and it can find the
// processes of an engine that was killed.
//
// A process escapes only if it changes both this limit and BATCHCTL_ATTEMPT.
type marks struct {
	mu       sync.Mutex
	changed  *sync.Cond
	started  int // scans that were started
	finished int // the latest scan that has finished
	scanning bool
	latest   map[uint64][]int
}

// newMarks returns the trees for programs without permission to create control groups.
func newMarks() *marks {
	m := new(marks)
	m.changed = sync.NewCond(&m.mu)
	return m
}

// forks is held while a process starts: a fork copies the limits of the whole program.
var forks sync.Mutex

// Start starts a command of the engine itself, which belongs to no attempt. A command that starts
// without it, at the same moment as an attempt, could count as part of that attempt.
func Start(cmd *exec.Cmd) error {
	forks.Lock()
	defer forks.Unlock()
	return cmd.Start()
}

// markOf returns the value of RLIMIT_LOCKS for an attempt. No program requests so many locks.
func markOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return 1<<62 | binary.BigEndian.Uint64(sum[:])>>2
}

// startMarked calls begin while this program itself has the mark.
func startMarked(id string, attr *syscall.SysProcAttr,
	begin func(*syscall.SysProcAttr) (int, error)) (marked bool, err error) {
	forks.Lock()
	defer forks.Unlock()
	var own unix.Rlimit
	marked = unix.Getrlimit(unix.RLIMIT_LOCKS, &own) == nil
	hard := own.Max
	if mayRaise() {
		hard = markOf(id) // this program can return to its own
	}
	// It fails below a low hard limit.
	marked = marked && unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: markOf(id), Max: hard}) == nil
	pid, err := begin(attr)
	if !marked {
		return false, err
	}
	if err == nil {
		// Below this hard limit, only root can return to a limit without a mark. A process that has ended already needs none.
		_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: markOf(id), Max: markOf(id)}, nil)
	}
	return true, errors.Join(err, unix.Setrlimit(unix.RLIMIT_LOCKS, &own))
}

// start gives the first process the mark of the attempt.
func (m *marks) start(id string, begin func(*syscall.SysProcAttr) (int, error)) (tree, error) {
	inLimit, err := startMarked(id, ownGroup(), begin)
	return &marked{m, id, inLimit}, err
}

func (m *marks) clear(id, _ string) error {
	return endMarked(id, false) // Run may wait for the attempt's first process, and needs its exit code
}

func (m *marks) close() error { return nil }

// marked is the processes with the mark of one attempt.
type marked struct {
	marks   *marks
	id      string
	inLimit bool // else the mark is in the environment only
}

func (t *marked) path() string { return "" }

// end kills the marked processes, if a scan finds any.
func (t *marked) end() error {
	if !t.inLimit || t.marks.left(markOf(t.id)) {
		return endMarked(t.id, true)
	}
	return nil
}

// left reports whether a process has a mark. Attempts that end at the same time share a scan.
func (m *marks) left(mark uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for next := m.started + 1; m.finished < next; {
		if m.scanning {
			m.changed.Wait()
			continue
		}
		m.scanning = true
		m.started++
		this := m.started
		m.mu.Unlock()
		found := markedProcesses()
		m.mu.Lock()
		m.scanning, m.finished, m.latest = false, this, found
		m.changed.Broadcast()
	}
	return m.latest == nil || len(m.latest[mark]) > 0
}

// markedProcesses returns the processes of each mark; nil if that is unknown: /proc cannot be
// read, or processes started and ended too quickly for every scan.
func markedProcesses() map[uint64][]int {
	found := map[uint64][]int{}
	for range scan.Tries {
		missed, err := scan.Each(func(pid int) (gone bool) {
			var limit unix.Rlimit
			err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
			for _, mark := range []uint64{limit.Cur, limit.Max} { // a process may lower the first alone
				if err == nil && mark>>62 == 1 && !slices.Contains(found[mark], pid) {
					found[mark] = append(found[mark], pid)
				}
			}
			return errors.Is(err, unix.ESRCH)
		})
		if err != nil {
			return nil
		}
		if !missed {
			return found
		}
	}
	return nil
}

// endTime limits the wait for killed processes: those that wait for a broken disk or driver do not
// end.
const endTime = 30 * time.Second

// endMarked kills every process of this user that has the mark of an attempt in its limit or its
// environment, and returns when none is left. It scans more than once, because processes start
// others in the meantime. With reap it collects those that ended and became children of this
// process.
func endMarked(id string, reap bool) error {
	mark, variable := markOf(id), []byte(attemptVariable+id)
	ended := map[int]bool{} // those that a scan has seen
	for deadline := time.Now().Add(endTime); ; time.Sleep(time.Millisecond) {
		alive := 0
		missed, err := scan.Each(func(pid int) (gone bool) {
			var limit unix.Rlimit
			err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
			switch {
			case errors.Is(err, unix.ESRCH):
				return true
			case (err != nil || limit.Cur != mark && limit.Max != mark) && !hasVariable(pid, variable):
				return false
			case scan.HasEnded(pid):
				if reap { // only as the init process of a container does the engine adopt them
					_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				}
				// It may have started another process since the scan read its number.
				gone = !ended[pid]
				ended[pid] = true
				return gone
			default:
				alive++
				killWithGroup(pid, mark)
				return false
			}
		})
		late := time.Now().After(deadline)
		switch {
		case err != nil:
			return err
		case alive == 0 && (!missed || late):
			return nil
		case late:
			return fmt.Errorf("%d processes that the job started did not end after SIGKILL", alive)
		}
	}
}

// killWithGroup kills a process, and its group if the group leader also has the mark. Killing a
// group in one call keeps its members from starting others.
func killWithGroup(pid int, mark uint64) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	if group, err := syscall.Getpgid(pid); err == nil && group > 1 && group != syscall.Getpgrp() {
		var limit unix.Rlimit
		if unix.Prlimit(group, unix.RLIMIT_LOCKS, nil, &limit) == nil && limit.Cur == mark {
			signalGroup(group, syscall.SIGKILL)
		}
	}
}

// hasVariable reports whether a process started with a variable, given as NAME=VALUE. It cannot
// read that of another user's process.
func hasVariable(pid int, variable []byte) bool {
	environment, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for v := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(v, variable) {
			return true
		}
	}
	return false
}
