package cli_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
)

// lookout is a user of a remote that can lose an answer.
type lookout struct {
	*killedClient
	lose bool // the answer of the next SubmitJob
}

func newLookout(t *testing.T) *lookout {
	l, r := &lookout{}, &remote{alive: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if strings.HasSuffix(in.URL.Path, "/submitjob") && l.lose {
			l.lose = false
			r.ServeHTTP(httptest.NewRecorder(), in)
			panic(http.ErrAbortHandler)
		}
		r.ServeHTTP(w, in)
	}))
	t.Cleanup(server.Close)
	l.killedClient = newDoomed(t, r, server.URL)
	const job = `{"name": "train", "image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "queue": "cpu",
		"resources": {"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"}`
	if err := os.WriteFile(filepath.Join(l.dir, "train.json"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// types runs a command, interrupts it when its messages contain a text, and checks its exit status.
func (l *lookout) types(code int, line, interruptAt string) (out, said string) {
	l.t.Helper()
	cmd := exec.Command(l.program, strings.Fields(line)...)
	cmd.Dir, cmd.Env = l.dir, l.environ
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	messages, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	for lines := bufio.NewScanner(messages); lines.Scan(); {
		said += lines.Text() + "\n"
		if interruptAt != "" && strings.Contains(lines.Text(), interruptAt) {
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
		got = exit.ExitCode()
	}
	if got != code {
		l.t.Fatalf("batchctl %s: exit status %d, want %d\n%s%s", line, got, code, &stdout, said)
	}
	return stdout.String(), said
}

// age makes a file of the ledger an hour older.
func (d *killedClient) age(pattern string) {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.state(), pattern))
	if err != nil || len(files) != 1 {
		d.t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		d.t.Fatal(err)
	}
	var aged bytes.Buffer
	for _, one := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var members map[string]json.RawMessage
		var at time.Time
		if err := errors.Join(json.Unmarshal(one, &members), json.Unmarshal(members["time"], &at)); err != nil {
			d.t.Fatal(err)
		}
		delete(members, "sum")
		if members["time"], err = json.Marshal(at.Add(-time.Hour)); err != nil {
			d.t.Fatal(err)
		}
		one, err := json.Marshal(members)
		if err != nil {
			d.t.Fatal(err)
		}
		body := bytes.TrimSuffix(one, []byte("}"))
		fmt.Fprintf(&aged, "%s,\"sum\":\"%.8x\"}\n", body, sha256.Sum256(body))
	}
	if err := os.WriteFile(files[0], aged.Bytes(), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// turnUp adds a duplicate of the first job to the list.
func (l *lookout) turnUp() (id string) {
	l.remote.mu.Lock()
	defer l.remote.mu.Unlock()
	twin := l.remote.jobs[0]
	id = "99999999-0000-4000-8000-000000000000"
	twin.JobId = &id
	l.remote.jobs = append(l.remote.jobs, twin)
	return id
}

// TestRecheck checks that the next command ends a duplicate that is listed after
// submit has exited with status 0, even if no answer was missing.
func TestRecheck(t *testing.T) {
	t.Parallel()
	l := newLookout(t)
	l.types(exit.OK, "submit train.json", "")
	id := l.turnUp()
	if _, said := l.types(exit.OK, "list", ""); strings.Contains(said, "duplicate") || len(l.remote.stopped) > 0 {
		t.Errorf("within the first minute: stopped %v, %s", l.remote.stopped, said)
	}
	l.age("submissions.jsonl")
	if _, said := l.types(exit.OK, "list", ""); !slices.Contains(l.remote.stopped, id) || !strings.Contains(said, "stopped its duplicate 99999999") {
		t.Errorf("stopped %v, %s", l.remote.stopped, said)
	}
	if _, said := l.types(exit.OK, "list", ""); strings.Contains(said, "duplicate") {
		t.Error(said)
	}
}

// TestDueCheck checks that Ctrl-C while submit waits to check for duplicates
// gives exit status 6, and that any next command ends the duplicates that have
// appeared.
func TestDueCheck(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"list", "status train", "logs train", "stop train", "wait train --timeout 1s", "submit train.json --settle 10ms"} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			l := newLookout(t)
			l.lose = true
			out, said := l.types(exit.Unknown, "submit train.json", "checking for duplicates again in ")
			if !strings.Contains(out, "train  cpu") || !strings.Contains(said, "check 1 job for duplicates: interrupted") || !strings.Contains(said, "batchctl resume ") {
				t.Errorf("%s%s", out, said)
			}
			if _, said := l.types(exit.OK, "list", ""); !strings.Contains(said, "may have duplicates; the first command after ") {
				t.Error(said)
			}
			// The first request turns up late: the id that was printed stays.
			id := l.turnUp()
			l.age("open/*.jsonl")
			cmd := exec.Command(l.program, strings.Fields(next)...)
			cmd.Dir, cmd.Env = l.dir, l.environ
			told, _ := cmd.CombinedOutput() // its own exit status is not the point
			if !slices.Contains(l.remote.stopped, id) || !strings.Contains(string(told), "stopped its duplicate 99999999") {
				t.Errorf("stopped %v\n%s", l.remote.stopped, told)
			}
			if open, err := (&once.Ledger{Dir: l.state()}).OpenRuns(); len(open) > 0 || err != nil {
				t.Errorf("open runs %+v, %v", open, err)
			}
		})
	}
}

// TestSubmitRepeated checks that a SubmitJob that is delivered twice leaves one
// job. If both have run, submit names them.
func TestSubmitRepeated(t *testing.T) {
	t.Parallel()
	const waits = "checking for duplicates again in "
	l := newLookout(t)
	l.remote.twice = true
	_, said := l.types(exit.Unknown, "submit train.json", waits)
	if !strings.Contains(said, "accepted twice: stopped its duplicate 00000002") || strings.Contains(said, "ran twice") {
		t.Error(said)
	}
	l.age("open/*.jsonl")
	if _, said := l.types(exit.OK, "list", ""); strings.Contains(said, "twice") {
		t.Errorf("batchctl ended the duplicate, so it did not run: %s", said)
	}
	l.remote.twice, l.remote.alive = true, false
	out, said := l.types(exit.Unknown, "submit train.json", waits)
	if !strings.Contains(out, "00000003  train") || !strings.Contains(said, "check 1 job for duplicates: interrupted") {
		t.Errorf("%s%s", out, said)
	}
	l.age("open/*.jsonl")
	_, said = l.types(exit.OK, "list", "")
	if !strings.Contains(said, "job train ran twice: 00000003-0000-4000-8000-000000000000 counts; its duplicate 00000004-0000-4000-8000-000000000000 ended as SUCCEEDED\n") {
		t.Error(said)
	}
}
