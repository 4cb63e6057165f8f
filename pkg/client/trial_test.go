package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/plan"
)

// trial is many submits over a bad path to one service, each by a client of its own.
type trial struct {
	*service
	ledger     *Ledger
	replayable bool
	// stopped is the percentage of commands that get a Ctrl-C.
	stopped int

	mu     sync.Mutex
	random *rand.Rand
	ended  int // duplicates
	twice  int // jobs that are reported to have run twice
}

// submitted is one command that submits and what came of it.
type submitted struct {
	plan *plan.Plan
	jobs []Submitted
	err  error
}

func (tr *trial) client() *Client {
	c := New(tr.config())
	c.Ledger, c.Replayable = tr.ledger, tr.replayable
	c.Tell = func(text string) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if strings.Contains(text, "ended its duplicate") {
			tr.ended++
		}
	}
	return c
}

func (tr *trial) intN(n int) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.random.IntN(n)
}

// plans are n submits together: most of them of one job, as people type them.
func (tr *trial) plans(n int) (all []*plan.Plan) {
	for n > 0 {
		size := min(n, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 30}[tr.intN(15)])
		p := works(size)
		for _, j := range p.Jobs {
			j.Name = fmt.Sprintf("run-%d-%s", len(all), j.Name)
			j.Submit.JobName = aws.String(j.Name)
		}
		all, n = append(all, p), n-size
	}
	return all
}

// submit submits the plans, some at once.
func (tr *trial) submit(t *testing.T, plans []*plan.Plan) []*submitted {
	all := make([]*submitted, len(plans))
	todo := make(chan int)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range todo {
				ctx, cancel := context.WithCancel(t.Context())
				if tr.intN(100) < tr.stopped {
					time.AfterFunc(time.Duration(tr.intN(90_000))*time.Millisecond, cancel)
				}
				jobs, err := tr.client().Submit(ctx, plans[i])
				all[i] = &submitted{plans[i], jobs, err}
				cancel()
			}
		})
	}
	for i := range plans {
		todo <- i
	}
	close(todo)
	workers.Wait()
	return all
}

// checkSucceeded reports duplicates of jobs whose command exited with status 0, before
// any other command runs.
func (tr *trial) checkSucceeded(t *testing.T, all []*submitted) (succeeded int) {
	t.Helper()
	key, alive := map[string]string{}, tr.alive(t)
	for k, ids := range alive {
		for _, id := range ids {
			key[id] = k
		}
	}
	for _, c := range all {
		if c.err != nil {
			continue
		}
		succeeded++
		if len(c.jobs) != len(c.plan.Jobs) {
			t.Errorf("%d of %d jobs were accepted, and no error", len(c.jobs), len(c.plan.Jobs))
		}
		for _, j := range c.jobs {
			if ids := alive[key[j.ID]]; len(ids) != 1 {
				t.Errorf("job %s is %s, and %v are alive after exit 0", j.Name, j.ID, ids)
			}
		}
	}
	return succeeded
}

// checkDue is what the next commands of the ledger do before their own work.
func (tr *trial) checkDue(t *testing.T) {
	t.Helper()
	for range 5 { // the path is bad for these commands, too
		open, err := tr.ledger.OpenRuns()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range open {
			if r.LookDue.IsZero() || time.Now().Before(r.LookDue) {
				continue
			}
			err := tr.client().CheckDuplicates(t.Context(), r.Name)
			tr.count(err)
		}
	}
}

func (tr *trial) count(err error) {
	if twice, ok := errors.AsType[*TwiceError](err); ok {
		tr.twice += len(twice.Twins)
	}
}

// checkAll reports duplicates, and jobs that were lost.
func (tr *trial) checkAll(t *testing.T, all []*submitted, open map[string]bool) {
	t.Helper()
	alive := tr.alive(t)
	entries, err := tr.ledger.Entries()
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{} // by plan
	for _, e := range entries {
		plan, _, _ := strings.Cut(e.Name, "-job-")
		kept[plan]++
		if ids := alive[e.Submission]; len(ids) != 1 || ids[0] != e.ID {
			t.Errorf("job %s is %s in the ledger, and %v are alive", e.Name, e.ID, ids)
		}
	}
	if len(alive) != len(entries) {
		t.Errorf("%d jobs are alive, and %d in the ledger", len(alive), len(entries))
	}
	for _, c := range all {
		name, _, _ := strings.Cut(c.plan.Jobs[0].Name, "-job-")
		certainly := c.err != nil && len(c.jobs) == 0 && !open[name] // and its user submits it again
		if n := kept[name]; n != len(c.plan.Jobs) && !(certainly && n == 0) {
			t.Errorf("%s: %d of %d jobs are in the ledger: %v", name, n, len(c.plan.Jobs), c.err)
		}
	}
}

// openPlans are the names of plans that have an open run.
func (tr *trial) openPlans(t *testing.T) map[string]bool {
	t.Helper()
	names, err := tr.ledger.openRuns()
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, n := range names {
		r, err := tr.ledger.read(n)
		if err != nil {
			t.Fatal(err)
		}
		plan, _, _ := strings.Cut(r.tasks[0].name, "-job-")
		open[plan] = true
	}
	return open
}

// TestNoDuplicateAfterSuccess: whatever a path to the service does, no duplicate is alive after
// exit 0, the next command ends the duplicates of any other, and resume loses nothing.
func TestNoDuplicateAfterSuccess(t *testing.T) {
	for _, path := range []struct {
		name       string
		lag        func(*rand.Rand) time.Duration
		replayable bool
	}{
		{"proxy, lag up to 60 s", func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(time.Minute))) }, true},
		{"proxy, lag 1 s on average", lags[2].lag, true},
		{"proxy, some lag", func(r *rand.Rand) time.Duration {
			if r.IntN(10) > 0 {
				return 0
			}
			return time.Duration(r.Int64N(int64(time.Minute)))
		}, true},
		{"AWS, lag up to 60 s", func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(time.Minute))) }, false},
	} {
		t.Run(path.name, func(t *testing.T) {
			inWeather(t, path.lag, func(t *testing.T, s *service) {
				tr := &trial{service: s, ledger: &Ledger{Dir: t.TempDir(), Target: here}, replayable: path.replayable, stopped: 10, random: rand.New(rand.NewPCG(5, 6))}
				if path.replayable {
					s.repeated = 5
				}
				all := tr.submit(t, tr.plans(many()))
				time.Sleep(time.Minute) // every job is listed by now
				succeeded := tr.checkSucceeded(t, all)
				if succeeded < len(all)/2 || tr.ended == 0 || tr.twice > 0 {
					t.Errorf("%d of %d commands succeeded, %d duplicates were ended", succeeded, len(all), tr.ended)
				}
				byThemselves := tr.ended
				tr.checkDue(t)
				for submission, ids := range tr.alive(t) {
					if len(ids) > 1 {
						t.Errorf("submission %s: %v are alive after the next command", submission, ids)
					}
				}
				open := tr.openPlans(t)
				for range 20 { // as a user would
					if _, err := resumeAll(t, tr.client()); err != nil {
						tr.count(err)
					}
				}
				tr.checkAll(t, all, open)
				t.Logf("%d submits by %d commands, %d with exit 0; %d calls of SubmitJob, %d delivered twice; duplicates ended: %d by submit, %d by the next commands",
					many(), len(all), succeeded, s.calls["SubmitJob"], s.calls["repeated"], byThemselves, tr.ended-byThemselves)
			})
		})
	}
}
