package once

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

const here = "aws 123456789012 us-east-1"

func withLedger(t *testing.T, c *Client) *Client {
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: here}
	return c
}

func onlyRun(t *testing.T, c *Client) OpenRun {
	t.Helper()
	open, err := c.Ledger.OpenRuns()
	if err != nil || len(open) != 1 {
		t.Fatalf("open runs %+v, %v, want one", open, err)
	}
	return open[0]
}

func pipeline() *plan.Plan {
	return planOf(job("a", "x"), job("b", "x", document.Dependency{Job: "a"}), job("c", "x", document.Dependency{Job: "b"}, document.Dependency{Job: "a"}))
}

func forbidden() clienttest.Fault {
	return clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`)
}

func Fine(serve func() *http.Response) (*http.Response, error) { return serve(), nil }

// TestResume resumes a pipeline in the middle, with the ids of the accepted jobs.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.LeaveCheck = true
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, clienttest.LostEOF}
		f.Faults["ListJobs"] = []clienttest.Fault{forbidden()}
		jobs, err := c.Submit(t.Context(), pipeline())
		open, ok := errors.AsType[*OpenError](err)
		if !ok || len(jobs) != 1 || open.Jobs != 3 || open.Accepted != 1 || open.Unknown != 1 {
			t.Fatalf("%d jobs, %#v", len(jobs), err)
		}
		run := onlyRun(t, c)
		if run.Name != open.Run || run.Jobs != 3 || run.Accepted != 1 || run.Unknown != 2 { // a crash would leave the same
			t.Errorf("%+v", run)
		}
		if got, err := c.Ledger.Entries(); len(got) != 1 || got[0].Name != "a" || err != nil {
			t.Errorf("what is accepted is not seen: %+v, %v", got, err)
		}
		start := time.Now()
		jobs, err = c.Resume(t.Context(), run.Name)
		if waited := time.Since(start); waited > DefaultSettle { // one wait for all jobs that may have been sent
			t.Errorf("searched for %v", waited)
		}
		if err != nil || len(jobs) != 3 || len(f.Submitted) != 3 || jobs[1].ID != clienttest.TestID(2) || jobs[1].Definition != definitionARN+"b:1" {
			t.Errorf("%+v, %v", jobs, err)
		}
		if on := f.Submitted[2].DependsOn; len(on) != 2 || *on[0].JobId != clienttest.TestID(2) || *on[1].JobId != clienttest.TestID(1) {
			t.Errorf("c depends on %v", on)
		}
		if n := f.Count("RegisterJobDefinition"); n != 3 {
			t.Errorf("%d registrations", n)
		}
		onlyRun(t, c) // b may still have a duplicate
		start = time.Now()
		if _, err := c.Resume(t.Context(), run.Name); err != nil || time.Since(start) > lateCheck {
			t.Error(err, time.Since(start))
		}
		if _, err := c.Resume(t.Context(), run.Name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("resumed a closed run: %v", err)
		}
		if got, err := c.Ledger.Entries(); len(got) != 3 || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestResumeElsewhere(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
	_, err := c.Submit(t.Context(), pipeline())
	if _, refused := errors.AsType[*client.RefusedError](err); !refused {
		t.Fatal(err)
	}
	run := onlyRun(t, c)
	for _, there := range []string{"aws 999999999999 us-east-1", "aws 123456789012 eu-west-1", "local"} {
		c.Ledger.Target = there
		_, err := c.Resume(t.Context(), run.Name)
		if e, ok := errors.AsType[*ElsewhereError](err); !ok || e.Target != here || e.Current != there {
			t.Errorf("%s: %v", there, err)
		}
	}
	if n := f.Count("SubmitJob"); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// TestRefusedFromTheStart checks that a run without accepted jobs leaves nothing to resume.
func TestRefusedFromTheStart(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{forbidden()}
	_, err := c.Submit(t.Context(), pipeline())
	_, open := errors.AsType[*OpenError](err)
	if runs, _ := c.Ledger.OpenRuns(); err == nil || open || len(runs) > 0 {
		t.Errorf("%v, %+v", err, runs)
	}
}

func TestDrop(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
	_, _ = c.Submit(t.Context(), pipeline())
	jobs, err := c.Drop(onlyRun(t, c).Name)
	if err != nil || len(jobs) != 1 || f.Count("SubmitJob") != 2 {
		t.Errorf("%+v, %v", jobs, err)
	}
	if runs, _ := c.Ledger.OpenRuns(); len(runs) > 0 {
		t.Errorf("%+v", runs)
	}
	if got, _ := c.Ledger.Entries(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestResumeAfterRetention checks that a job that Batch may have forgotten is submitted again
// only on request.
func TestResumeAfterRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF}
		f.Faults["ListJobs"] = []clienttest.Fault{forbidden()}
		_, _ = c.Submit(t.Context(), planOf(job("a", "x")))
		f.Listed = nil
		time.Sleep(retention + time.Hour)
		run := onlyRun(t, c).Name
		_, err := c.Resume(t.Context(), run)
		if _, ok := errors.AsType[*ForgottenError](err); !ok || len(f.Submitted) != 1 {
			t.Fatalf("%v, %d submitted", err, len(f.Submitted))
		}
		c.SubmitAgain = true
		if jobs, err := c.Resume(t.Context(), run); err != nil || len(jobs) != 1 || len(f.Submitted) != 2 {
			t.Errorf("%+v, %v", jobs, err)
		}
	})
}

// TestOneResumeAtATime checks that only one of many processes resumes a run, and that the others
// name it.
func TestOneResumeAtATime(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
	_, _ = c.Submit(t.Context(), pipeline())
	run := onlyRun(t, c).Name
	c.Settle, c.LeaveCheck = time.Millisecond, true
	entered, leave := make(chan bool), make(chan bool)
	f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) {
		entered <- true
		<-leave
		return serve(), nil
	}}
	var first sync.WaitGroup
	first.Go(func() {
		if jobs, err := c.Resume(t.Context(), run); err != nil || len(jobs) != 3 {
			t.Errorf("%+v, %v", jobs, err)
		}
	})
	<-entered
	for range 100 {
		_, err := c.Resume(t.Context(), run)
		e, ok := errors.AsType[*LockedError](err)
		if !ok || e.PID != os.Getpid() || e.Run != run || e.Since.IsZero() {
			t.Fatalf("%#v", err)
		}
	}
	close(leave)
	first.Wait()
	if len(f.Submitted) != 3 {
		t.Errorf("%d submitted", len(f.Submitted))
	}
}

// TestDamagedIntent checks that a request that was changed on disk is not sent.
func TestDamagedIntent(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
	_, _ = c.Submit(t.Context(), pipeline())
	path := c.Ledger.logs().logPath(onlyRun(t, c).Name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), `"jobQueue":"cpu"`, `"jobQueue":"gpu"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	run := onlyRun(t, c)
	if run.Damage == nil || !strings.Contains(run.Damage.Error(), "does not match its checksum") {
		t.Error(run.Damage)
	}
	if _, err := c.Resume(t.Context(), run.Name); err == nil || f.Count("SubmitJob") != 2 {
		t.Error(err)
	}
	if _, err := c.Drop(run.Name); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
}

// TestDuplicates checks that a duplicate that appears late is ended, and that the job with the
// reported id stays.
func TestDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.LeaveCheck = true
		var messages []string
		c.Progress = func(text string) { messages = append(messages, text) }
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF}
		hidden := time.Now().Add(30 * time.Second) // later than the client searches
		f.Hidden = func(id string) bool { return id == clienttest.TestID(1) && time.Now().Before(hidden) }
		jobs, err := c.Submit(t.Context(), planOf(job("a", "x")))
		if err != nil || len(jobs) != 1 || jobs[0].ID != clienttest.TestID(2) || len(f.Submitted) != 2 || *f.Submitted[0].JobName != *f.Submitted[1].JobName {
			t.Fatalf("%+v, %v", jobs, err)
		}
		run := onlyRun(t, c)
		if run.Unchecked != 1 || len(f.Stopped) != 0 {
			t.Errorf("%+v, stopped %v", run, f.Stopped)
		}
		if err := c.CheckDuplicates(t.Context(), run.Name); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(f.Stopped[clienttest.TestID(1)], "TerminateJob batchctl: twin of "+clienttest.TestID(2)) || f.Stopped[clienttest.TestID(2)] != "" {
			t.Errorf("stopped %v", f.Stopped)
		}
		if last := messages[len(messages)-1]; !strings.Contains(last, "was accepted twice") || !strings.Contains(last, "was RUNNABLE") {
			t.Errorf("messages %q", messages)
		}
		if runs, _ := c.Ledger.OpenRuns(); len(runs) > 0 {
			t.Errorf("%+v", runs)
		}
	})
}

// TestOldestDuplicateStays checks that the oldest job stays if no id was reported.
func TestOldestDuplicateStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF}
		f.Faults["ListJobs"] = []clienttest.Fault{forbidden()}
		_, _ = c.Submit(t.Context(), planOf(job("a", "x")))
		time.Sleep(time.Second)
		if _, err := f.Submit(t.Context(), f.Submitted[0]); err != nil { // as if the network had repeated the request
			t.Fatal(err)
		}
		jobs, err := c.Resume(t.Context(), onlyRun(t, c).Name)
		if err != nil || len(jobs) != 1 || jobs[0].ID != clienttest.TestID(1) || f.Stopped[clienttest.TestID(2)] == "" || f.Stopped[clienttest.TestID(1)] != "" {
			t.Errorf("%+v, %v, stopped %v", jobs, err, f.Stopped)
		}
	})
}

// TestForeignDuplicates checks that jobs of the same name in other letters, or with another
// submission's tag, are left alone.
func TestForeignDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) {
			serve()
			f.Listed[0].JobName = aws.String(strings.ToUpper(*f.Listed[0].JobName))
			return nil, io.ErrUnexpectedEOF
		}}
		jobs, err := c.Submit(t.Context(), planOf(job("a", "x")))
		if err != nil || jobs[0].ID != clienttest.TestID(2) {
			t.Errorf("%+v, %v", jobs, err)
		}
	})
}

// TestOutage loses every answer for a minute.
func TestOutage(t *testing.T) {
	inWeather(t, lags[2].lag, func(t *testing.T, s *service) {
		start := time.Now()
		s.lost = func() bool { d := time.Since(start); return d > 2*time.Second && d < 62*time.Second }
		submitAll(t, s, 300)
	})
}

// TestExpiredCredentials checks that a resume with new credentials submits the jobs that were
// rejected because of the old ones.
func TestExpiredCredentials(t *testing.T) {
	inWeather(t, lags[1].lag, func(t *testing.T, s *service) {
		start := time.Now()
		s.expired = func() bool { d := time.Since(start); return d > 20*time.Second && d < 40*time.Second }
		submitAll(t, s, 300)
	})
}

// TestInterrupted interrupts submissions and resumes at random times.
func TestInterrupted(t *testing.T) {
	inWeather(t, lags[1].lag, func(t *testing.T, s *service) {
		c := withLedger(t, New(s.Config()))
		random := rand.New(rand.NewPCG(5, 6))
		interrupt := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(60000))*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}
		_, err := c.Submit(interrupt(), clienttest.Works(300))
		interrupted := 0
		for ; err != nil && interrupted < 500; interrupted++ {
			open, _ := c.Ledger.OpenRuns()
			if len(open) == 0 { // nothing had been accepted
				_, err = c.Submit(interrupt(), clienttest.Works(300))
				continue
			}
			_, err = c.Resume(interrupt(), open[0].Name)
		}
		if interrupted < 3 {
			t.Errorf("interrupted only %d times", interrupted)
		}
		for range 3 {
			if _, err := resumeAll(t, c); err != nil {
				t.Log(err)
			}
		}
		alive := s.alive(t)
		for submission, ids := range alive {
			if len(ids) != 1 {
				t.Errorf("%s: %v", submission, ids)
			}
		}
		if entries, err := c.Ledger.Entries(); len(alive) != 300 || len(entries) != 300 || err != nil {
			t.Errorf("%d alive, %d entries, %v", len(alive), len(entries), err)
		}
		t.Logf("interrupted %d times", interrupted)
	})
}

// TestTakesOnce checks a service that recognises repeated submissions by the invocation id: names
// stay unchanged.
func TestTakesOnce(t *testing.T) {
	f, c := newFake(t)
	c.TakesOnce = true
	var ids []string
	f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF}
	f.Saw = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "submitjob") {
			ids = append(ids, r.Header.Get(invocationHeader))
		}
	}
	f.Hidden = func(string) bool { return true }
	jobs, err := c.Submit(t.Context(), planOf(job("a", "x")))
	if err != nil || len(jobs) != 1 || len(ids) != 2 || ids[0] != ids[1] || ids[0] != f.Submitted[0].Tags[client.SubmissionTag] || *f.Submitted[0].JobName != "a" {
		t.Errorf("%+v, %v, %q", jobs, err, ids)
	}
}

func TestTooLarge(t *testing.T) {
	f, c := newFake(t)
	long := strings.Repeat("x", 9000)
	overrides := job("a", "x")
	overrides.Submit.ContainerOverrides = &types.ContainerOverrides{Command: []string{long}}
	parameters := job("a", "x")
	parameters.Submit.Parameters = map[string]string{"p": strings.Repeat(long, 4)}
	definition := job("a", strings.Repeat(long, 3))
	for _, c2 := range []struct {
		job  *plan.Job
		want string
	}{
		{overrides, "containerOverrides of a has 9"}, {parameters, "SubmitJob of a has 36"}, {definition, "RegisterJobDefinition of a has 27"},
	} {
		_, err := c.Submit(t.Context(), planOf(job("b", "x"), c2.job))
		if e, ok := errors.AsType[*TooLargeError](err); !ok || !strings.Contains(e.Error(), c2.want) {
			t.Errorf("got %v, want %s", err, c2.want)
		}
	}
	if len(f.Calls) > 0 {
		t.Errorf("called %v", f.Calls)
	}
}

// TestLockHolder checks that a process that holds a run is named to others, and that a killed
// process holds none.
func TestLockHolder(t *testing.T) {
	if dir := os.Getenv("BATCHCTL_TEST_HOLDER"); dir != "" {
		log, _, err := (&Ledger{Dir: dir}).logs().reopen("run")
		if err != nil {
			t.Fatal(err)
		}
		_ = os.WriteFile(filepath.Join(dir, "held"), nil, 0o600)
		// Until it is killed. Without cgo, the runtime ends a program that waits for nothing.
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = log.release() // until here: a log that nothing refers to is closed with its lock
	}
	l := &Ledger{Dir: t.TempDir(), Target: here}
	log, err := l.logs().begin("run", nil, []line{worker(lineRun)})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.release(); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(os.Args[0], "-test.run=^TestLockHolder$")
	holder.Env = append(os.Environ(), "BATCHCTL_TEST_HOLDER="+l.Dir)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(l.Dir, "held")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the holder does not hold")
		}
	}
	if _, _, err := l.logs().reopen("run"); err == nil || !strings.Contains(err.Error(), "has been in use by process") {
		t.Error(err)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait() // it was killed
	if log, _, err = l.logs().reopen("run"); err != nil {
		t.Fatal(err)
	}
	if err := log.remove(); err != nil {
		t.Error(err)
	}
}

// TestGC checks that new and used revisions are kept.
func TestGC(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	for _, image := range []string{"1", "2", "3", "4", "5"} {
		if _, err := c.Submit(t.Context(), planOf(job("train", image))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range f.Listed { // all but the second have ended
		f.Listed[i].Status, f.Listed[i].JobDefinition = "FAILED", f.Submitted[i].JobDefinition
	}
	f.Listed[1].Status = "RUNNING"
	f.Queues = []string{"cpu"}
	f.Definitions = append(f.Definitions, types.JobDefinition{JobDefinitionName: aws.String("train"), JobDefinitionArn: aws.String(definitionARN + "train:9"),
		Revision: aws.Int32(9), Status: aws.String("ACTIVE")})
	f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()} // an open run still uses the third
	last := job("train", "3")
	if _, err := c.Submit(t.Context(), planOf(job("first", "x"), last)); err == nil {
		t.Fatal("not refused")
	}
	f.Listed[5].JobDefinition, f.Listed[5].Status = aws.String(definitionARN+"first:1"), "FAILED"
	got, other, err := c.Revisions(t.Context(), 1, "train")
	if err != nil || other != 1 {
		t.Fatal(other, err)
	}
	var lines []string
	for _, r := range got {
		lines = append(lines, strings.TrimPrefix(r.ARN, definitionARN)+" "+r.Kept)
	}
	want := []string{"train:5 one of the last 1", "train:4 ", "train:3 used by submission " + onlyRun(t, c).Name, "train:2 used by job train (00000002)", "train:1 "}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
