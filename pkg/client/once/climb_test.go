package once

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/notify"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// hungry runs jobs that need the MiB in their variable NEED, one number for each cell. A number
// below 10 is an exit code. It counts the runs by job, cell and memory.
type hungry struct {
	mu   sync.Mutex
	runs map[string]int
	took time.Duration
}

func (h *hungry) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("hungry")
	variable := map[string]string{}
	for _, v := range a.Environment {
		variable[aws.ToString(v.Name)] = aws.ToString(v.Value)
	}
	cell, _ := strconv.Atoi(variable["AWS_BATCH_JOB_ARRAY_INDEX"])
	if cells, err := sweep.ParseCells(variable[sweep.CellsVariable]); err == nil && variable[sweep.CellsVariable] != "" {
		cell, _ = cells.At(cell)
	}
	need, _ := strconv.Atoi(strings.Split(variable["NEED"], ",")[cell])
	memory := 0
	for _, r := range a.Container.ResourceRequirements {
		if r.Type == types.ResourceTypeMemory {
			memory, _ = strconv.Atoi(*r.Value)
		}
	}
	h.mu.Lock()
	h.runs[fmt.Sprintf("%s[%d] %d MiB", variable["NAME"], cell, memory)]++
	h.mu.Unlock()
	select {
	case <-ctx.Done():
		return 143, nil
	case <-time.After(h.took):
	}
	switch {
	case need < 10:
		return need, nil
	case need > memory:
		return 1, errors.New("OutOfMemoryError: Container killed due to memory usage")
	}
	return 0, nil
}

// counts returns the runs, when all submitted jobs have ended.
func (h *hungry) counts() map[string]int {
	time.Sleep(10 * time.Hour) // virtual
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.runs)
}

func (*hungry) Clear(_, _ string) error                                { return nil }
func (*hungry) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// laddered returns a job of 64 MiB with rungs. Each needs entry is a cell.
func laddered(name string, rungs ladder.Ladder, needs ...string) *plan.Job {
	j := &plan.Job{Name: name, Submit: &awsbatch.SubmitJobInput{JobName: &name, JobQueue: aws.String("default"), JobDefinition: aws.String("work"),
		ContainerOverrides: &types.ContainerOverrides{Environment: []types.KeyValuePair{
			{Name: aws.String("NEED"), Value: aws.String(strings.Join(needs, ","))}, {Name: aws.String("NAME"), Value: &name}}}}}
	if len(needs) > 1 {
		j.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(len(needs)))}
	}
	if text := rungs.Format(); text != "" {
		j.Submit.ContainerOverrides.Environment = append(j.Submit.ContainerOverrides.Environment, types.KeyValuePair{Name: aws.String(ladder.Variable), Value: &text})
	}
	return j
}

// after adds dependencies.
func after(j *plan.Job, names ...string) *plan.Job { j.After = on(names...); return j }

// climbing returns a workflow in which one job succeeds in the end, and an array does not: one of
// its children ends with an exit code that no rung lists.
func climbing() *plan.Plan {
	more := ladder.Ladder{{Cause: ladder.OutOfMemory, Factor: 2, UpToMiB: 256}}
	return planOf(
		laddered("train", more, "100"),
		laddered("sweep", more, "64", "200", "3", "100"),
		after(laddered("report", nil, "64"), "train"),
		after(laddered("skipped", nil, "64"), "sweep"),
		when(after(laddered("alarm", nil, "64"), "sweep"), document.WhenFailure),
	)
}

// climbed are the runs of climbing.
var climbed = map[string]int{
	"train[0] 64 MiB": 1, "train[0] 128 MiB": 1,
	"sweep[0] 64 MiB": 1, "sweep[1] 64 MiB": 1, "sweep[2] 64 MiB": 1, "sweep[3] 64 MiB": 1,
	"sweep[1] 128 MiB": 1, "sweep[3] 128 MiB": 1, "sweep[1] 256 MiB": 1,
	"report[0] 64 MiB": 1, "alarm[0] 64 MiB": 1,
}

// hungryService is an engine that runs hungry jobs, behind a network that loses nothing.
func hungryService(t *testing.T) (*service, *hungry) {
	h := &hungry{runs: map[string]int{}, took: 30 * time.Second}
	s := newService(t, func() time.Duration { return 0 }, 4, h)
	s.calm = true
	return s, h
}

// TestClimbingDependencies checks that jobs with rungs do not count towards AWS's limit of dependencies: they have
// ended before the job that waits for them is sent.
func TestClimbingDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := hungryService(t)
		c := withLedger(t, New(s.Config()))
		p := planOf(laddered("last", nil, "64"))
		last := p.Jobs[0]
		p.Jobs = nil
		for i := range maxDependencies + 1 {
			j := laddered(fmt.Sprintf("first%d", i), ladder.Ladder{{Cause: ladder.OutOfMemory, Factor: 2, UpToMiB: 256}}, "64")
			p.Jobs, last.After = append(p.Jobs, j), append(last.After, on(j.Name)...)
		}
		p.Jobs = append(p.Jobs, last)
		if _, err := c.Submit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := h.counts()["last[0] 64 MiB"]; got != 1 {
			t.Errorf("the last job ran %d times", got)
		}
	})
}

func TestClimb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := hungryService(t)
		c := withLedger(t, New(s.Config()))
		var progress []string
		c.Progress = func(text string) { progress = append(progress, text) }
		jobs, err := c.Submit(t.Context(), climbing())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(climbed, h.counts()); d != "" {
			t.Error(d)
		}
		var got []string
		for _, j := range jobs {
			text := j.Name
			switch {
			case j.Skipped != "":
				text += " skipped: " + j.Skipped
			case j.Healed:
				text += " healed"
			}
			if j.Again != "" {
				text += " again"
			}
			got = append(got, text)
		}
		slices.Sort(got)
		want := []string{"alarm", "report", "skipped skipped: sweep FAILED", "sweep", "sweep-try2 healed again", "sweep-try3 again", "train healed", "train-try2 again"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		all := strings.Join(progress, "\n")
		for _, text := range []string{"FAILED: out of memory; submitting train-try2, 128 MiB, queue default", "child 2: no rung lists its exit code 3"} {
			if !strings.Contains(all, text) {
				t.Errorf("no progress %q in:\n%s", text, all)
			}
		}
		if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
			t.Errorf("%+v, %v", open, err)
		}
		runs, err := c.Ledger.RunsOf(jobs[0].ID)
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		var chain []string
		last := slices.IndexFunc(jobs, func(j Submitted) bool { return j.Name == "train-try2" })
		chains, err := c.Ledger.Chains([]client.Known{{ID: jobs[last].ID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range chains[0] {
			j, _ := runs[0].Job(k.ID)
			chain = append(chain, fmt.Sprintf("%s %s %d", j.Name, j.Cause, j.MemoryMiB))
		}
		if d := cmp.Diff([]string{"train-try2 outOfMemory 128", "train  0"}, chain); d != "" {
			t.Error(d)
		}
	})
}

// killedAt is the network of a client that is killed at one of its requests: before it is sent, or
// before the answer arrives. What the ledger has at that moment is copied.
type killedAt struct {
	next   aws.HTTPClient
	at     int
	sent   bool // the request is sent
	dir    string
	corpse string
	kill   func()

	mu       sync.Mutex
	requests int
	dead     bool
}

func (m *killedAt) Do(r *http.Request) (*http.Response, error) { return m.through(m.next, r) }

// through sends a request through one of the networks of the client.
func (m *killedAt) through(next aws.HTTPClient, r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.requests++
	now, dead := m.requests == m.at, m.dead
	m.mu.Unlock()
	if dead {
		return nil, errors.New("killed")
	}
	if !now {
		return next.Do(r)
	}
	if m.sent {
		if out, err := next.Do(r.WithContext(context.WithoutCancel(r.Context()))); err == nil {
			out.Body.Close()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	err := os.CopyFS(m.corpse, os.DirFS(m.dir))
	m.kill()
	return nil, errors.Join(errors.New("killed"), err)
}

// TestKilledWhileClimbing kills the client at each of its requests, or at one in four in a short run. It resumes with
// the ledger of that moment. Each job runs once with each amount of memory.
func TestKilledWhileClimbing(t *testing.T) {
	kills := 0
	for at, alive := 1, false; !alive; at += testtool.Count(1, 4) {
		for _, sent := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s, h := hungryService(t)
				dir := t.TempDir()
				first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
				ctx, kill := context.WithCancel(t.Context())
				m := &killedAt{next: s.weather, at: at, sent: sent, dir: first, corpse: second, kill: kill}
				cfg := s.Config()
				cfg.HTTPClient = m
				c := New(cfg)
				c.AtOnce, c.Ledger = 1, &Ledger{Dir: first, Target: here}
				_, err := c.Submit(ctx, climbing())
				kill()
				if !m.dead {
					alive = true
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				kills++
				c = New(s.Config())
				c.Ledger = &Ledger{Dir: second, Target: here}
				checkResumed(t, c, h.counts, climbed, at, sent)
			})
		}
	}
	t.Logf("%d kills", kills)
	if kills < testtool.Count(40, 10) {
		t.Errorf("only %d kills", kills)
	}
}

// checkResumed resumes what a killed client left, and checks that each job runs as often as it should. counts returns
// how often the jobs ran.
func checkResumed(t *testing.T, c *Client, counts func() map[string]int, want map[string]int, at int, sent bool) {
	t.Helper()
	if _, err := resumeAll(t, c); err != nil {
		t.Fatalf("killed at request %d: %v", at, err)
	}
	runs := counts()
	if len(runs) == 0 {
		return // it was killed before the intents
	}
	if d := cmp.Diff(want, runs); d != "" {
		t.Errorf("killed at request %d (sent: %v): %s", at, sent, d)
	}
	if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
		t.Errorf("killed at request %d: %+v, %v", at, open, err)
	}
}

// TestChangeQueue moves a job that has no capacity to another queue: it is cancelled once, and runs
// only there.
func TestChangeQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := hungryService(t)
		h.took = 2 * time.Hour
		_, err := s.direct.CreateJobQueue(t.Context(), &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("b"), Priority: aws.Int32(1),
			ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String(model.ComputeEnvironment)}}})
		if err != nil {
			t.Fatal(err)
		}
		c := withLedger(t, New(s.Config()))
		busy := laddered("busy", nil, "64", "64", "64", "64")
		if _, err := c.Submit(t.Context(), planOf(busy)); err != nil {
			t.Fatal(err)
		}
		other := ladder.Ladder{{Cause: ladder.NoCapacity, After: 20 * time.Minute, Queue: "b"}}
		began := time.Now()
		jobs, err := c.Submit(t.Context(), planOf(laddered("single", other, "64"), laddered("array", other, "64", "64")))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range jobs {
			got = append(got, fmt.Sprintf("%s %s %v", j.Name, j.Queue, j.Healed))
		}
		if d := cmp.Diff([]string{"single default true", "array default true", "single-try2 b false", "array-try2 b false"}, got); d != "" {
			t.Error(d)
		}
		if d := time.Since(began); d < 20*time.Minute || d > 5*time.Hour {
			t.Errorf("it took %v", d)
		}
		runs := h.counts()
		if runs["single[0] 64 MiB"] != 1 || runs["array[0] 64 MiB"] != 1 || runs["array[1] 64 MiB"] != 1 || s.calls["CancelJob"] != 2 {
			t.Errorf("runs %v, %d cancellations", runs, s.calls["CancelJob"])
		}
	})
}

// TestStateMachineClimbs checks that the client leaves a job with the tag of the state machine alone,
// and that its message says that the state machine may run the job again.
func TestStateMachineClimbs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := hungryService(t)
		c := withLedger(t, New(s.Config()))
		j := laddered("train", ladder.Ladder{{Cause: ladder.OutOfMemory, Factor: 2, UpToMiB: 256}}, "100")
		j.Submit.Tags, j.Notify = map[string]string{ladder.Tag: ladder.ByStateMachine}, []string{"hook"}
		own := laddered("own", nil, "100")
		own.Notify = j.Notify
		n := &notified{}
		c.Notify = n.send
		if _, err := c.Submit(t.Context(), planOf(j, own)); err != nil {
			t.Fatal(err)
		}
		if len(n.events) != 1 || n.events[0].Status != "FAILED" || n.events[0].Jobs[0].Ladder != ladder.ByStateMachine || n.events[0].Jobs[1].Ladder != "" {
			t.Errorf("%+v", n.events)
		}
		if d := cmp.Diff(map[string]int{"train[0] 64 MiB": 1, "own[0] 64 MiB": 1}, h.counts()); d != "" {
			t.Error(d)
		}
	})
}

// TestSubmitNowLeavesRungs leaves the rungs to Resume, and Drop gives them up.
func TestSubmitNowLeavesRungs(t *testing.T) {
	for _, drop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, h := hungryService(t)
			c := withLedger(t, New(s.Config()))
			jobs, waiting, err := c.SubmitNow(t.Context(), climbing())
			if err != nil || waiting == nil || len(jobs) != 2 || len(waiting.Followed) != 2 || len(waiting.Steps) != 3 {
				t.Fatalf("%+v, %+v, %v", jobs, waiting, err)
			}
			if run := onlyRun(t, c); run.Followed != 2 || run.Accepted != 2 || run.Waiting != 3 {
				t.Errorf("%+v", run)
			}
			time.Sleep(time.Hour)
			want := climbed
			if drop {
				want = map[string]int{"train[0] 64 MiB": 1, "sweep[0] 64 MiB": 1, "sweep[1] 64 MiB": 1, "sweep[2] 64 MiB": 1, "sweep[3] 64 MiB": 1}
				_, err = c.Drop(waiting.Run)
			} else {
				_, err = c.Resume(t.Context(), waiting.Run)
			}
			if d := cmp.Diff(want, h.counts()); d != "" || err != nil {
				t.Error(d, err)
			}
			if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
				t.Errorf("%+v, %v", open, err)
			}
		})
	}
}

// TestDamagedClimb refuses a log in which a decision may be lost: a step may run twice.
func TestDamagedClimb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := hungryService(t)
		c := withLedger(t, New(s.Config()))
		_, waiting, err := c.SubmitNow(t.Context(), climbing())
		if err != nil {
			t.Fatal(err)
		}
		path := c.Ledger.logs().logPath(waiting.Run)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.SplitSeq(strings.TrimSpace(string(text)), "\n"))
		lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], "accepted", "climbed", 1)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = c.Resume(t.Context(), waiting.Run)
		if damage, ok := errors.AsType[*RunDamageError](err); !ok || !strings.Contains(damage.Why, "no longer says which of its steps were submitted") {
			t.Errorf("%v", err)
		}
	})
}

// notified are the messages that a client sends.
type notified struct {
	events []notify.Event
	err    error
}

func (n *notified) send(_ context.Context, receiver string, e notify.Event) error {
	e.Name += " to " + receiver
	n.events = append(n.events, e)
	return n.err
}

// TestNotify sends one message for each receiver, when the last of its jobs has ended. It is sent
// again, with the same id, only if the client was killed before it recorded it.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := hungryService(t)
		c := withLedger(t, New(s.Config()))
		n := &notified{err: errors.New("receiver is down")}
		c.Notify = n.send
		var progress []string
		c.Progress = func(text string) { progress = append(progress, text) }
		p := climbing()
		p.Jobs[0].Notify, p.Jobs[1].Notify = []string{"a", "b"}, []string{"b"}
		if _, err := c.Submit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range n.events {
			text := e.Name + " " + e.Status
			for _, j := range e.Jobs {
				text += ", " + j.Name + " " + j.Status + " " + j.Cause
			}
			got = append(got, text)
		}
		want := []string{"test to a SUCCEEDED, train FAILED , train-try2 SUCCEEDED outOfMemory",
			"test to b FAILED, train FAILED , sweep FAILED , train-try2 SUCCEEDED outOfMemory, sweep-try2 FAILED outOfMemory, sweep-try3 SUCCEEDED outOfMemory"}
		for i := range got { // the order of arrays and jobs that end at the same time varies
			parts := strings.Split(got[i], ", ")
			slices.Sort(parts[1:])
			got[i] = strings.Join(parts, ", ")
			parts = strings.Split(want[i], ", ")
			slices.Sort(parts[1:])
			want[i] = strings.Join(parts, ", ")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if !slices.Contains(progress, "warning: receiver is down") {
			t.Errorf("no warning in %q", progress)
		}
		if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
			t.Errorf("%+v, %v", open, err)
		}
	})
}

// TestNotifyResumed leaves a message to Resume, and interrupts the first try.
func TestNotifyResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := hungryService(t)
		c := withLedger(t, New(s.Config()))
		p := planOf(laddered("train", nil, "64"))
		p.Jobs[0].Notify = []string{"a"}
		_, waiting, err := c.SubmitNow(t.Context(), p)
		if err != nil || waiting == nil || len(waiting.Followed) != 1 {
			t.Fatalf("%+v, %v", waiting, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := &notified{}, &notified{}
		c.Notify = func(ctx context.Context, receiver string, e notify.Event) error {
			cancel()
			return errors.Join(first.send(ctx, receiver, e), ctx.Err())
		}
		if _, err := c.Resume(ctx, waiting.Run); err == nil {
			t.Error("an interrupted message closes the run")
		}
		c.Notify = second.send
		if _, err := c.Resume(t.Context(), waiting.Run); err != nil {
			t.Error(err)
		}
		if len(first.events) != 1 || len(second.events) != 1 || first.events[0].ID != second.events[0].ID || second.events[0].Jobs[0].Status != "SUCCEEDED" {
			t.Errorf("%+v, then %+v", first.events, second.events)
		}
		if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
			t.Errorf("%+v, %v", open, err)
		}
	})
}
