package once

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// workers runs the commands: `false` fails, and every command takes a minute. It counts the
// concurrent attempts by name of the command.
type workers struct {
	mu        sync.Mutex
	now, most int
}

func (w *workers) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("worker")
	w.Count(1)
	defer w.Count(-1)
	select {
	case <-ctx.Done():
		return 143, nil
	case <-time.After(time.Minute):
	}
	if a.Command[0] == "false" {
		return 1, nil
	}
	return 0, nil
}

func (w *workers) Count(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now += by
	w.most = max(w.most, w.now)
}

func (*workers) Clear(_, _ string) error                                { return nil }
func (*workers) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// inCalm calls a test with a service that loses nothing and runs its jobs.
func inCalm(t *testing.T, test func(t *testing.T, s *service, w *workers)) {
	synctest.Test(t, func(t *testing.T) {
		w := &workers{}
		s := newService(t, func() time.Duration { return 0 }, 8, w)
		s.calm = true
		test(t, s, w)
	})
}

// command returns a job of the definition work that runs a command.
func command(name, arg string, after ...string) *plan.Job {
	j := &plan.Job{Name: name, Submit: &awsbatch.SubmitJobInput{JobName: &name, JobQueue: aws.String("default"), JobDefinition: aws.String("work"),
		ContainerOverrides: &types.ContainerOverrides{Command: []string{arg}}}}
	for _, a := range after {
		j.After = append(j.After, document.Dependency{Job: a})
	}
	return j
}

func when(j *plan.Job, when string) *plan.Job { j.When = when; return j }

func before(j *plan.Job, names ...string) *plan.Job {
	for _, n := range names {
		j.Earlier = append(j.Earlier, document.Dependency{Job: n})
	}
	return j
}

// part returns an array of a group with a limit on concurrent children.
func part(j *plan.Job, group string, size int32, most int) *plan.Job {
	j.Submit.ArrayProperties = &types.ArrayProperties{Size: &size}
	j.Group, j.MaxParallel = group, most
	return j
}

func stages(j *plan.Job, url string) *plan.Job {
	j.Staged = []plan.Staged{{URL: url, Text: "the text of " + url}}
	return j
}

// everything returns a plan with all kinds of jobs. The job `past` belongs to an earlier
// submission.
func everything() *plan.Plan {
	return &plan.Plan{Name: "everything", Jobs: []*plan.Job{
		command("prepare", "true"),
		stages(part(command("train-1of2", "true", "prepare"), "train", 2, 3), "s3://b/one"),
		stages(part(command("train-2of2", "true", "prepare"), "train", 2, 3), "s3://b/one"),
		command("bad", "false"),
		when(command("clean", "true", "prepare", "bad"), document.WhenAlways),
		stages(when(command("alarm", "true", "bad"), document.WhenFailure), "s3://b/two"),
		part(command("report", "true", "alarm", "prepare"), "report", 3, 2),
		before(command("late", "true"), "past"),
		before(when(command("past-too", "true", "clean"), document.WhenAlways), "past"),
		when(command("quiet", "true", "prepare"), document.WhenFailure),
		command("quieter", "true", "quiet"),
		when(command("last", "true", "quieter", "report"), document.WhenAlways),
	}}
}

// census returns the state of a plan at the service: for each job how often it exists, and its
// request.
func census(t *testing.T, s *service) []string {
	t.Helper()
	c := New(s.cfg)
	var ids []string
	for job, err := range c.List(t.Context(), client.Filter{Queues: []string{"default"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *job.JobId)
	}
	jobs, err := c.Describe(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, job := range jobs {
		names[*job.JobId] = *job.JobName
	}
	var lines []string
	for _, job := range jobs {
		if strings.HasPrefix(aws.ToString(job.StatusReason), "batchctl: twin of") {
			continue
		}
		text := fmt.Sprintf("%s %v", *job.JobName, batch.ArraySize(job))
		for _, d := range job.DependsOn {
			text += " after " + names[*d.JobId]
		}
		for _, b := range boundsOf(job) {
			text += " bound " + b[strings.LastIndexByte(b, '-'):] + " " + job.Tags[MaxParallelTag]
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	return lines
}

var wantCensus = []string{
	"alarm 0", "bad 0", "clean 0", "last 0", "late 0 after past", "past 0", "past-too 0", "prepare 0",
	"report 3 after alarm after prepare bound -report 2",
	"train-1of2 2 after prepare bound -train 3", "train-2of2 2 after prepare bound -train 3",
}

// submitPast submits the job of the earlier submission.
func submitPast(t *testing.T, s *service) {
	t.Helper()
	if _, err := New(s.cfg).Submit(t.Context(), &plan.Plan{Jobs: []*plan.Job{command("past", "true")}}); err != nil {
		t.Fatal(err)
	}
}

// stageArea stores the staged texts.
type stageArea struct {
	mu    sync.Mutex
	texts map[string]string
	calls int
}

func (a *stageArea) put(_ context.Context, url, text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.texts == nil {
		a.texts = map[string]string{}
	}
	a.texts[url] = text
	a.calls++
	return nil
}

func skippedOf(jobs []Submitted) (names []string) {
	for _, j := range jobs {
		if j.Skipped != "" {
			names = append(names, j.Name+": "+j.Skipped)
		}
	}
	return names
}

var wantSkipped = []string{"quiet: no failure of prepare", "quieter: quiet was not needed"}

// TestEverything submits a plan of all kinds of jobs without faults, and removes its resources
// when all jobs have ended.
func TestEverything(t *testing.T) {
	inCalm(t, func(t *testing.T, s *service, _ *workers) {
		submitPast(t, s)
		c := withLedger(t, New(s.Config()))
		area, messages := &stageArea{}, []string(nil)
		var mu sync.Mutex
		c.Stage = area.put
		c.Accepted = func(s Submitted) { mu.Lock(); messages = append(messages, s.Name); mu.Unlock() }
		jobs, err := c.Submit(t.Context(), everything())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(wantCensus, census(t, s)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(wantSkipped, skippedOf(jobs)); d != "" {
			t.Error(d)
		}
		if area.calls != 2 || area.texts["s3://b/two"] != "the text of s3://b/two" {
			t.Errorf("%d calls, %q", area.calls, area.texts)
		}
		if len(jobs) != 12 || len(messages) != 12 {
			t.Errorf("%d jobs, reported %d", len(jobs), len(messages))
		}
		if open, err := os.ReadDir(string(c.Ledger.logs())); len(open) > 0 || err != nil {
			t.Errorf("left %v, %v", open, err)
		}
		var ids []string
		for _, j := range jobs {
			if j.ID != "" {
				ids = append(ids, j.ID)
			}
		}
		removed, err := c.ReleaseResources(t.Context(), ids...)
		if err != nil || len(removed) != 2 || !strings.HasSuffix(removed[1].Name, "-train") || removed[1].MaxParallel != 3 {
			t.Errorf("%+v, %v", removed, err)
		}
		if left, err := c.Resources(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

// TestMaxParallel checks that the arrays of a group never run more concurrent children than
// allowed.
func TestMaxParallel(t *testing.T) {
	inCalm(t, func(t *testing.T, s *service, w *workers) {
		c := withLedger(t, New(s.Config()))
		jobs, err := c.Submit(t.Context(), &plan.Plan{Jobs: []*plan.Job{
			part(command("a-1of2", "true"), "a", 5, 3), part(command("a-2of2", "true"), "a", 6, 3)}})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range c.Watch(t.Context(), jobs[0].ID, jobs[1].ID) {
			if err != nil {
				t.Fatal(err)
			}
			removed, err := c.ReleaseResources(t.Context(), jobs[0].ID)
			if (len(removed) == 1) != e.Last || err != nil {
				t.Errorf("removed %+v, %v, with %s %s", removed, err, aws.ToString(e.Job.JobName), e.Status)
			}
		}
		if w.most != 3 {
			t.Errorf("%d ran at once", w.most)
		}
	})
}

// errDead is the error of every call once a process is dead.
var errDead = errors.New("dead")

// mortal is the network of a process that is killed at its n-th step: a call of the service,
// before or after it is executed, or the staging of a text. The ledger at that time is copied.
type mortal struct {
	next   aws.HTTPClient
	dir    string // the ledger
	keep   string // where it is kept
	n      int
	served bool // the call is served, and only its answer lost
	cancel context.CancelFunc

	mu    sync.Mutex
	steps int
	dead  bool
	last  int64 // size of the log when the last step began
	since int64 // the same, of the step before
	calls []string
}

func (m *mortal) step(name string) (dies, dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, true
	}
	m.steps++
	m.calls = append(m.calls, name)
	m.since, m.last = m.last, logSize(m.dir)
	return m.steps == m.n, false
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	if err := os.CopyFS(m.keep, os.DirFS(m.dir)); err != nil {
		panic(err)
	}
	m.cancel()
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	name, _ := wire.Operation(r.Method, r.URL.Path)
	dies, dead := m.step(name)
	switch {
	case dead:
		return nil, errDead
	case !dies:
		return m.next.Do(r)
	}
	if m.served {
		if out, err := m.next.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, out.Body)
		}
	}
	m.die()
	return nil, errDead
}

// logSize returns the size of the only open run's log; 0 if there is none.
func logSize(dir string) (size int64) {
	logs, _ := filepath.Glob(filepath.Join(dir, "open", "*.jsonl"))
	for _, l := range logs {
		if info, err := os.Stat(l); err == nil {
			size = info.Size()
		}
	}
	return size
}

// killed submits everything and dies at step n. It returns false if the process finished first.
// The ledger of the dead process is at keep.
func killed(t *testing.T, s *service, area *stageArea, n int, served bool, keep string) (*mortal, bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	m := &mortal{next: s.weather, dir: dir, keep: keep, n: n, served: served, cancel: cancel}
	cfg := s.cfg
	cfg.HTTPClient = m
	c := New(cfg)
	c.AtOnce = 1
	c.Ledger = &Ledger{Dir: dir, Target: here}
	c.Stage = func(ctx context.Context, url, text string) error {
		dies, dead := m.step("Stage")
		if dies && served {
			_ = area.put(ctx, url, text)
		}
		if dies {
			m.die()
		}
		if dies || dead {
			return errDead
		}
		return area.put(ctx, url, text)
	}
	_, err := c.Submit(ctx, everything())
	if m.dead == (err == nil) {
		t.Fatalf("step %d: %v", n, err)
	}
	return m, m.dead
}

// afterlife resumes the submission of dead processes in dir, as a user would.
func afterlife(t *testing.T, s *service, area *stageArea, dir string) (jobs []Submitted) {
	t.Helper()
	c := New(s.Config())
	c.AtOnce, c.Stage = 1, area.put
	c.Ledger = &Ledger{Dir: dir, Target: here}
	for range 4 {
		more, err := resumeAll(t, c)
		if err != nil {
			t.Fatal(err)
		}
		if more != nil {
			jobs = more
		}
	}
	if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
		t.Errorf("open: %+v, %v", open, err)
	}
	if len(census(t, s)) == 1 { // the run had not begun
		var err error
		if jobs, err = c.Submit(t.Context(), everything()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(string(c.Ledger.logs())); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left %v, %v", left, err)
	}
	return jobs
}

// thorough reports whether tests are long, as for .ci/run.
func thorough() bool { return os.Getenv("BATCHCTL_SUBMITS") != "" }

// TestKilledAnywhere kills a submission of everything at every step (at every third in a short
// run), before and after the call is executed. After a resume the result must be that of an
// undisturbed run.
func TestKilledAnywhere(t *testing.T) {
	stride := 3
	if testtool.IsLong() || thorough() {
		stride = 1
	}
	for n, lives := 1, false; !lives; n += stride {
		ways := []bool{false, true}
		if !thorough() {
			ways = ways[n%2:][:1]
		}
		for _, served := range ways {
			inCalm(t, func(t *testing.T, s *service, _ *workers) {
				submitPast(t, s)
				keep, area := filepath.Join(t.TempDir(), "keep"), &stageArea{}
				m, died := killed(t, s, area, n, served, keep)
				if !died {
					lives = true
					if n < 50 {
						t.Errorf("only %d steps: %v", n, m.calls)
					}
					return
				}
				jobs := afterlife(t, s, area, keep)
				at := fmt.Sprintf("step %d, %s, served %v", n, m.calls[n-1], served)
				if d := cmp.Diff(wantCensus, census(t, s)); d != "" {
					t.Errorf("killed at %s: %s", at, d)
				}
				if d := cmp.Diff(wantSkipped, skippedOf(jobs)); d != "" {
					t.Errorf("killed at %s: %s", at, d)
				}
			})
		}
	}
}

// TestKilledAndTorn kills at some steps, and cuts the log at the end and in the middle of every
// line after the intents, as a machine that loses power may.
func TestKilledAndTorn(t *testing.T) {
	cuts, stride, least := 0, 54, 15
	if testtool.IsLong() {
		stride, least = 27, 30
	}
	if thorough() {
		stride = 7
	}
	for n, lives := 16, false; !lives; n += stride {
		for cut := 0; ; cut++ {
			more := false
			inCalm(t, func(t *testing.T, s *service, _ *workers) {
				submitPast(t, s)
				keep, area := filepath.Join(t.TempDir(), "keep"), &stageArea{}
				m, died := killed(t, s, area, n, true, keep)
				if lives = !died; lives {
					return
				}
				if more = tear(t, keep, cut); !more {
					return
				}
				cuts++
				afterlife(t, s, area, keep)
				if d := cmp.Diff(wantCensus, census(t, s)); d != "" {
					t.Errorf("killed at step %d, %s, torn %d: %s", n, m.calls[n-1], cut, d)
				}
			})
			if !more {
				break
			}
		}
	}
	if cuts < least {
		t.Errorf("only %d cuts", cuts)
	}
	t.Logf("%d cuts", cuts)
}

// tear cuts the log at position number cut after its intents: at the end of a line, or slightly
// after it. It returns false if the log has no such position.
func tear(t *testing.T, dir string, cut int) bool {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "open", "*.jsonl"))
	if len(logs) == 0 {
		return false
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	intents := 1 + len(everything().Jobs)
	keep := intents + cut/2
	if len(lines)-1 <= keep {
		return false
	}
	torn := strings.Join(lines[:keep], "")
	if cut%2 == 1 {
		torn += lines[keep][:len(lines[keep])/2]
	}
	if err := os.WriteFile(logs[0], []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestEverythingInBadWeather loses answers, lets calls fail, and interrupts and resumes. In the
// end each job exists once.
func TestEverythingInBadWeather(t *testing.T) {
	total := 0
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			s := newService(t, func() time.Duration { return time.Duration(random.Int64N(int64(2 * time.Second))) }, 8, &workers{})
			s.random = rand.New(rand.NewPCG(seed, 8))
			submitPast(t, s)
			area := &stageArea{}
			c := withLedger(t, New(s.Config()))
			c.Stage = area.put
			interrupt := func() context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(90))*time.Second)
				t.Cleanup(cancel)
				return ctx
			}
			_, err := c.Submit(interrupt(), everything())
			interrupted := 0
			for ; interrupted < 300; interrupted++ {
				open, _ := c.Ledger.OpenRuns()
				switch {
				case len(open) > 0:
					_, err = c.Resume(interrupt(), open[0].Name)
				case err != nil: // nothing had been accepted
					_, err = c.Submit(interrupt(), everything())
				}
				if open, _ = c.Ledger.OpenRuns(); len(open) == 0 && err == nil {
					break
				}
			}
			if d := cmp.Diff(wantCensus, census(t, s)); d != "" {
				t.Errorf("seed %d, interrupted %d times, %v: %s", seed, interrupted, err, d)
			}
			total += interrupted
		})
	}
	if total < 10 {
		t.Errorf("interrupted only %d times", total)
	}
	t.Logf("interrupted %d times", total)
}
