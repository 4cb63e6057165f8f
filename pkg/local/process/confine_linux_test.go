package process

import (
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"

	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/usage"
	"golang.org/x/sys/unix"
)

func limitOf(name string, soft, hard int32) types.Ulimit {
	return types.Ulimit{Name: &name, SoftLimit: &soft, HardLimit: &hard}
}

func TestUlimitsHoldFromTheFirstInstruction(t *testing.T) {
	c := &types.ContainerProperties{Ulimits: []types.Ulimit{limitOf("nofile", 40, 50), limitOf("core", 0, 0)}}
	r := execute(t, attempt.Attempt{Container: c, Command: []string{"cat", "/proc/self/limits"}}, nil)
	if r.exit != 0 || r.err != nil {
		t.Fatalf("exit %d, %v", r.exit, r.err)
	}
	for name, want := range map[string]string{"Max open files": "40 50", "Max core file size": "0 0"} {
		at := strings.Index(r.log, name)
		if got := strings.Join(strings.Fields(r.log[at+len(name):])[:2], " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if r := execute(t, attempt.Attempt{Container: c, Command: []string{"sh", "-c", "kill -9 $$"}}, nil); r.exit != 137 || r.err != nil {
		t.Errorf("a limited command that is killed: exit %d, %v", r.exit, r.err)
	}
	if r := execute(t, attempt.Attempt{Container: c, Command: []string{"/etc/passwd"}}, nil); r.exit != 126 {
		t.Errorf("a limited command that cannot start: exit %d, %v", r.exit, r.err)
	}
}

func TestUlimitsWithoutEffectAreNamed(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	none := int32(-1)
	asked := []types.Ulimit{limitOf("nofile", 16, 16), limitOf("files", 1, 1), limitOf("nofile", 16, none)}
	got := Executor{}.Unhonoured(&types.ContainerProperties{Image: aws.String("batchctl-workloads"), Ulimits: asked})
	names := []string{"ulimits files"}
	if own.Max != unix.RLIM_INFINITY && !mayRaise() {
		names = append(names, "ulimits nofile")
	}
	if len(got) != len(names) || !slices.EqualFunc(got, names, func(m attempt.Member, name string) bool {
		return strings.HasPrefix(m.Name, name) && m.Effect == attempt.Differs
	}) {
		t.Errorf("%v, want %q", got, names)
	}
}

// TestPrivilegedMountsStayInside mounts a directory in a job, and looks at it from outside.
func TestPrivilegedMountsStayInside(t *testing.T) {
	if !hasCapability(unix.CAP_SYS_ADMIN) {
		testtool.Unsupported(t, "this user may not mount")
	}
	from, to := t.TempDir(), t.TempDir()
	// Mounts below a shared mount reach every other list of mounts.
	if err := unix.Mount(to, to, "", unix.MS_BIND, ""); err != nil {
		testtool.Unsupported(t, "mount: %v", err)
	}
	defer unix.Unmount(to, unix.MNT_DETACH)
	if err := unix.Mount("", to, "", unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "inside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, ulimits := range [][]types.Ulimit{nil, {limitOf("core", 0, 0)}} {
		c := &types.ContainerProperties{Privileged: aws.Bool(true), Ulimits: ulimits}
		r := execute(t, attempt.Attempt{Container: c, Command: []string{"sh", "-c", "mount --bind " + from + " " + to + " && ls " + to}}, nil)
		if r.exit != 0 || r.err != nil || strings.TrimSpace(r.log) != "inside" {
			t.Errorf("exit %d, %v: %s", r.exit, r.err, r.log)
		}
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || string(after) != string(before) {
		t.Errorf("the job mounted for this machine: %v\n%s", err, after)
	}
	if _, err := os.Stat(filepath.Join(to, "inside")); err == nil {
		t.Error("the mount is visible outside the job")
	}
}

// holding returns a command that uses a number of bytes until it is ended.
func holding(bytes string) []string {
	return []string{"sh", "-c", "(head -c " + bytes + " /dev/zero; exec sleep 1000) | tail -c " + bytes}
}

func TestMemoryWatch(t *testing.T) {
	watch := &memoryWatch{timer: time.NewTimer(time.Hour)} // checks on demand
	file := filepath.Join(t.TempDir(), "pid")
	command := holding("64000000")
	command[2] = "echo $$ > " + file + "; " + command[2]
	r := execute(t, attempt.Attempt{Command: command}, func(_ attempt.Attempt, end, _ func()) {
		defer end()
		group, err := strconv.Atoi(processtest.Appears(t, file)) // the shell leads it
		if err != nil {
			t.Error(err)
			return
		}
		roomy := watch.add(group, 128<<20, nil)
		for deadline := time.Now().Add(30 * time.Second); len(tooLarge([]*memoryLimit{{group: group, bytes: 60 << 20}})) == 0 && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		watch.old()
		if found := tooLarge(watch.old()); len(found) != 0 || watch.remove(roomy) {
			t.Error("64 MB were too much for 128 MiB")
		}
		tight := watch.add(group, 32<<20, nil)
		if len(watch.old()) != 0 {
			t.Error("measured at the first check")
		}
		for _, l := range tooLarge(watch.old()) {
			watch.kill(l)
		}
		if !watch.remove(tight) {
			t.Error("64 MB were not too much for 32 MiB")
		}
		if watch.kill(roomy); roomy.killed {
			t.Error("a group that is not watched any more was killed")
		}
	})
	if r.exit != 137 || r.err != nil {
		t.Errorf("exit %d, %v; want 137 by the other watch", r.exit, r.err)
	}
}

// TestOwnMemory checks that pages of a file do not count as a process's own memory, and that
// other pages do.
func TestOwnMemory(t *testing.T) {
	const size = 64 << 20
	before := usage.OwnMemory([]int{os.Getpid()})
	if before == 0 {
		t.Skip("this kernel does not say what a process shares")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	grown := func(fd, flags int) int64 {
		m, err := syscall.Mmap(fd, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, flags)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Munmap(m)
		for i := 0; i < len(m); i += 4096 {
			m[i] = 1
		}
		return usage.OwnMemory([]int{os.Getpid()}) - before
	}
	var in unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &in); err != nil {
		t.Fatal(err)
	}
	isMemory := in.Type == unix.TMPFS_MAGIC // /tmp often is one
	if by := grown(int(file.Fd()), syscall.MAP_SHARED); by > size/2 != isMemory {
		t.Errorf("a mapped file counts %d bytes; in a tmpfs: %t", by, isMemory)
	}
	if by := grown(-1, syscall.MAP_ANON|syscall.MAP_PRIVATE); by < size/2 {
		t.Errorf("64 MiB of memory count %d bytes", by)
	}
}
