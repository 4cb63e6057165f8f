//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// release builds batchctl as a version.
func release(t *testing.T, version string) string {
	t.Helper()
	return testtool.Program(t, "../../cmd/batchctl", "-ldflags", "-s -w -X github.com/batchctl/batchctl/pkg/buildinfo.release="+version)
}

// upgrade is a state directory that programs of two versions use.
type upgrade struct {
	t        *testing.T
	dir      string
	old, new string // programs
}

func newUpgrade(t *testing.T) *upgrade {
	u := &upgrade{t: t, dir: t.TempDir(), old: release(t, "v0.1.0"), new: release(t, "v0.2.0")}
	// Each run of a job appends its id: a file that is opened with O_APPEND takes short writes whole.
	u.file("job.json", `{"name": "job", "image": "busybox:1", "command": ["sh", "-c", "echo $AWS_BATCH_JOB_ID >> ran"], "resources": {"vcpus": 1, "memory": "16 MiB"}, "timeout": "2m"}`)
	u.file("slow.json", `{"name": "slow", "image": "busybox:1", "command": ["sh", "-c", "until [ -e go ]; do sleep 0.05; done; echo $AWS_BATCH_JOB_ID >> ran"], "resources": {"vcpus": 1, "memory": "16 MiB"}, "timeout": "2m"}`)
	u.file("batchctl.json", `{"targets": {"local": {"vcpus": 8, "memory": "1 GiB"}}}`)
	t.Cleanup(func() { _ = u.command(u.new, "serve", "--stop").Run() }) // there may be no engine
	return u
}

func (u *upgrade) file(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *upgrade) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = u.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.dir, "TMPDIR=" + os.TempDir(), "BATCHCTL_STATE_DIR=" + filepath.Join(u.dir, "state")}
	return c
}

// run runs a command and returns its stderr and exit code.
func (u *upgrade) run(program string, args ...string) (stderr string, code int) {
	u.t.Helper()
	var out bytes.Buffer
	c := u.command(program, args...)
	c.Stderr = &out
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), exit.ExitCode()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return out.String(), 0
}

// ok runs a command that must succeed and returns its stderr.
func (u *upgrade) ok(program string, args ...string) string {
	u.t.Helper()
	stderr, code := u.run(program, args...)
	if code != 0 {
		u.t.Fatalf("%s %v: exit code %d: %s", filepath.Base(program), args, code, stderr)
	}
	return stderr
}

// serves returns the version of the engine.
func (u *upgrade) serves() string {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(u.dir, "state", "connection.json"))
	if err != nil {
		u.t.Fatal(err)
	}
	var c struct{ Batchctl struct{ Version string } }
	if err := json.Unmarshal(text, &c); err != nil {
		u.t.Fatal(err)
	}
	return c.Batchctl.Version
}

// ended waits for all jobs and checks that each of n succeeded and ran once.
func (u *upgrade) ended(n int) {
	u.t.Helper()
	out, err := u.command(u.new, "list", "--limit", "0", "--output", "json").Output()
	if err != nil {
		u.t.Fatal(err)
	}
	var jobs []struct{ JobID string }
	if err := json.Unmarshal(out, &jobs); err != nil {
		u.t.Fatal(err)
	}
	ids := []string{"wait"}
	for _, j := range jobs {
		ids = append(ids, j.JobID)
	}
	u.ok(u.new, ids...) // its exit code is 1 if a job FAILED
	ran, err := os.ReadFile(filepath.Join(u.dir, "ran"))
	if err != nil {
		u.t.Fatal(err)
	}
	times := map[string]int{}
	for id := range strings.FieldsSeq(string(ran)) {
		times[id]++
	}
	if len(jobs) != n || len(times) != n {
		u.t.Errorf("%d jobs in the list, %d have run, of %d", len(jobs), len(times), n)
	}
	for _, j := range jobs {
		if times[j.JobID] != 1 {
			u.t.Errorf("job %s ran %d times", j.JobID, times[j.JobID])
		}
	}
}

// TestUpgrade submits 200 jobs with an old version, while a new one joins at a random moment. Each job
// succeeds and runs once, whichever engine runs it.
func TestUpgrade(t *testing.T) {
	rounds := testtool.Count(20, 1)
	replaced := 0
	for round := range rounds {
		random := rand.New(rand.NewPCG(35, uint64(round)))
		u := newUpgrade(t)
		// The old client submits in bundles, so that the engine is idle now and then.
		const bundles, bundle = 8, 25
		joins := random.IntN(bundles)
		joined := make(chan string, 1)
		for i := range bundles {
			c := u.command(u.old, "submit", "job.json", "--count", strconv.Itoa(bundle))
			if random.IntN(2) == 0 {
				c.Args = append(c.Args, "--wait")
			}
			var stderr bytes.Buffer
			c.Stderr = &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if i == joins {
				delay := time.Duration(random.IntN(600)) * time.Millisecond
				time.AfterFunc(delay, func() {
					out, err := u.command(u.new, "submit", "job.json", "--wait").CombinedOutput()
					joined <- fmt.Sprintf("%s%v", out, err)
				})
			}
			if err := c.Wait(); err != nil {
				t.Fatalf("round %d: %v: %s", round, err, stderr.String())
			}
		}
		story := <-joined
		if !strings.HasSuffix(story, "<nil>") {
			t.Fatalf("round %d: %s", round, story)
		}
		if strings.Contains(story, "this version has replaced it") {
			replaced++
		}
		u.ended(bundles*bundle + 1)
		u.ok(u.new, "submit", "job.json", "--wait")
		if v := u.serves(); v != "v0.2.0" {
			t.Errorf("round %d: the idle engine is %s", round, v)
		}
		u.ok(u.new, "serve", "--stop")
	}
	t.Logf("%d of %d engines were replaced in the middle", replaced, rounds)
}

// TestUpgradeWaitsForJobs checks that a new version uses the old engine while a job runs there, and
// replaces it afterwards; and that an old version joins the new engine.
func TestUpgradeWaitsForJobs(t *testing.T) {
	u := newUpgrade(t)
	u.ok(u.old, "submit", "slow.json")
	if stderr := u.ok(u.new, "submit", "job.json", "--wait"); !strings.Contains(stderr,
		"note: the local engine runs batchctl v0.1.0, and this is v0.2.0: it has 1 unfinished job, so this command uses it; a later command replaces it once nothing uses it\n") {
		t.Error(stderr)
	}
	if v := u.serves(); v != "v0.1.0" {
		t.Errorf("with a job that runs, the engine is %s", v)
	}
	u.file("go", "")
	u.ok(u.old, "wait", "slow")
	for range 2 { // the second joins without a word
		stderr := u.ok(u.new, "submit", "job.json", "--wait")
		if again := strings.Contains(stderr, "the local engine runs"); again != strings.Contains(stderr, "nothing used it, so this version has replaced it") {
			t.Error(stderr)
		}
		if v := u.serves(); v != "v0.2.0" {
			t.Errorf("the idle engine is %s: %s", v, stderr)
		}
	}
	if stderr := u.ok(u.old, "submit", "job.json", "--wait"); strings.Contains(stderr, "the local engine runs") || u.serves() != "v0.2.0" {
		t.Errorf("%s: %s", u.serves(), stderr)
	}
	u.ended(5)
}

// TestUpgradeLeavesTheForeground checks that an engine of a serve in the foreground is not replaced.
func TestUpgradeLeavesTheForeground(t *testing.T) {
	u := newUpgrade(t)
	serve := u.command(u.old, "serve")
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the exports: it answers
		t.Fatal(err)
	}
	stderr := u.ok(u.new, "submit", "job.json", "--wait")
	want := fmt.Sprintf("it belongs to another command (process %d), so this command uses it; to upgrade, stop that command and start it again", serve.Process.Pid)
	if !strings.Contains(stderr, want) || u.serves() != "v0.1.0" {
		t.Errorf("%s: %s", u.serves(), stderr)
	}
	u.ok(u.new, "serve", "--stop")
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}

// TestDowngrade checks the commands of an old version on the state of a newer one.
func TestDowngrade(t *testing.T) {
	u := newUpgrade(t)
	state := filepath.Join(u.dir, "state")
	if err := os.MkdirAll(filepath.Join(state, "open"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"journal":         "batchctl journal 3 v0.9.0\n",
		"open/r01a.jsonl": `{"time":"2026-01-01T00:00:00Z","what":"run","run":"r01a","target":"local","batchctl":"v0.9.0","jobs":1,"format":3}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"submit", "job.json"}, {"run", "job.json"}, {"list"}, {"status", "job"}, {"serve"}} {
		stderr, code := u.run(u.old, args...)
		if code != 3 || strings.Count(stderr, `written by a newer batchctl (journal 3 v0.9.0; this one reads journal 2)`) != 1 || !strings.Contains(stderr, filepath.Join(state, "journal")) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if err := os.Remove(filepath.Join(state, "journal")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"resume"}, {"resume", "--drop", "r01a"}} {
		stderr, code := u.run(u.old, args...)
		if code != 3 || !strings.Contains(stderr, "open/r01a.jsonl:1: written by batchctl v0.9.0 (format 3; this one reads 2): use that version; nothing was changed") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestUpgradeAtOnce checks that several commands of a new version, and one of the old version, can meet the
// old engine at the same time.
func TestUpgradeAtOnce(t *testing.T) {
	u := newUpgrade(t)
	u.ok(u.old, "submit", "job.json", "--wait")
	stories := make(chan string)
	programs := []string{u.new, u.new, u.old, u.new}
	for _, program := range programs {
		go func() {
			out, err := u.command(program, "submit", "job.json", "--wait").CombinedOutput()
			stories <- fmt.Sprintf("%s%v", out, err)
		}()
	}
	for range programs {
		if story := <-stories; !strings.HasSuffix(story, "<nil>") {
			t.Error(story)
		}
	}
	u.ended(1 + len(programs))
}

// TestStartAfterAnother checks that a command starts an engine if the one that had the state directory ends meanwhile.
func TestStartAfterAnother(t *testing.T) {
	u := newUpgrade(t)
	u.ok(u.new, "submit", "job.json", "--wait")
	u.ok(u.new, "serve", "--stop")
	state := filepath.Join(u.dir, "state")
	lock, err := os.OpenFile(filepath.Join(state, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	submit := u.command(u.new, "submit", "job.json", "--wait")
	submit.Stderr = &out
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		log, err := os.ReadFile(filepath.Join(state, "engine.log"))
		if err != nil || time.Now().After(end) {
			t.Fatalf("%s: %v", log, err)
		}
		if bytes.Contains(log, []byte("an engine already serves")) {
			break
		}
	}
	lock.Close()
	if err := submit.Wait(); err != nil {
		t.Errorf("%v: %s", err, &out)
	}
	u.ended(2)
	// The message of an engine that cannot start is its error, not the hint below it, nor an earlier message.
	if err := os.Remove(filepath.Join(state, "journal")); err != nil {
		t.Fatal(err)
	}
	u.ok(u.new, "serve", "--stop")
	if err := os.WriteFile(filepath.Join(state, "journal"), []byte("batchctl journal 3 v0.9.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stderr, code := u.run(u.new, "submit", "job.json")
	if code != 3 || !strings.HasPrefix(stderr, "batchctl: the local engine did not start: open the engine: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
