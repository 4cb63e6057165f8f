package once

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/plan"
)

// trial is many submits over an unreliable path to one service, each by its own client.
type trial struct {
	*service
	ledger     *Ledger
	replayable bool
	// stopped is the percentage of commands that get a Ctrl-C.
	stopped int

	mu     sync.Mutex
	random *rand.Rand
	ended  int     // duplicates
	twice  int     // jobs that are reported to have run twice
	failed []error // of the next commands
}

// submitted is one command that submits, and its result.
type submitted struct {
	plan *plan.Plan
	jobs []Submitted
	err  error
}

func (tr *trial) client() *Client {
	c := New(tr.Config())
	c.Ledger, c.Replayable = tr.ledger, tr.replayable
	c.Progress = func(text string) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if strings.Contains(text, "stopped its duplicate") {
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

// plans returns n plans for concurrent submits, most of them of one job.
func (tr *trial) plans(n int) (all []*plan.Plan) {
	for n > 0 {
		size := min(n, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 30}[tr.intN(15)])
		p := clienttest.Works(size)
		for _, j := range p.Jobs {
			j.Name = fmt.Sprintf("run-%d-%s", len(all), j.Name)
			j.Submit.JobName = aws.String(j.Name)
		}
		all, n = append(all, p), n-size
	}
	return all
}

// Submit submits the plans, some at once.
func (tr *trial) Submit(t *testing.T, plans []*plan.Plan) []*submitted {
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
// any other command runs, or counts them where they may be left.
func (tr *trial) checkSucceeded(t *testing.T, all []*submitted, mayLeave bool) (succeeded, left int) {
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
			switch ids := alive[key[j.ID]]; {
			case len(ids) > 1 && mayLeave:
				left++
			case len(ids) != 1:
				t.Errorf("job %s is %s, and %v are alive after exit 0", j.Name, j.ID, ids)
			}
		}
	}
	return succeeded, left
}

// checkDue does what the next commands of the ledger, each a minute after the last one, do before
// their own work.
func (tr *trial) checkDue(t *testing.T) {
	t.Helper()
	for range 5 { // these commands use the same path
		time.Sleep(lateCheck)
		open, err := tr.ledger.OpenRuns()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range open {
			if r.CheckDue.IsZero() || time.Now().Before(r.CheckDue) {
				continue
			}
			if err := tr.client().CheckDuplicates(t.Context(), r.Name); err != nil {
				tr.Count(err)
				tr.failed = append(tr.failed, fmt.Errorf("%s: %w", r.Name, err))
			}
		}
		if tr.replayable {
			tr.Count(tr.client().RecheckDuplicates(t.Context()))
		}
	}
}

func (tr *trial) Count(err error) {
	if twice, ok := errors.AsType[*TwiceError](err); ok {
		tr.twice += len(twice.Duplicates)
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
		certainly := c.err != nil && len(c.jobs) == 0 && !open[name] // then its user submits it again
		if n := kept[name]; n != len(c.plan.Jobs) && !(certainly && n == 0) {
			t.Errorf("%s: %d of %d jobs are in the ledger: %v", name, n, len(c.plan.Jobs), c.err)
		}
	}
}

// openPlans returns the names of plans that have an open run.
func (tr *trial) openPlans(t *testing.T) map[string]bool {
	t.Helper()
	names, err := tr.ledger.logs().runs()
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, n := range names {
		r, err := tr.ledger.logs().read(n)
		if err != nil {
			t.Fatal(err)
		}
		plan, _, _ := strings.Cut(r.tasks[0].name, "-job-")
		open[plan] = true
	}
	return open
}

// badPaths are the kinds of network between the commands of a trial and the service.
var badPaths = []struct {
	name       string
	lag        func(*rand.Rand) time.Duration
	replayable bool
	// mixed says that most jobs are listed at once and some much later. Nothing shows a first
	// command that the duplicate of its job is one of these: a later command ends it.
	mixed bool
}{
	{"proxy, lag up to 60 s", anyLag, true, false},
	{"proxy, lag 1 s on average", lags[2].lag, true, false},
	{"proxy, a tenth lags up to 60 s", func(r *rand.Rand) time.Duration {
		if r.IntN(10) > 0 {
			return 0
		}
		return anyLag(r)
	}, true, true},
	{"AWS, lag up to 60 s", anyLag, false, false},
}

func anyLag(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(time.Minute))) }

// trialRound is how many submits share a service and a ledger.
const trialRound = 100

// trialSubmits is how many submits a trial makes; BATCHCTL_SUBMITS says otherwise.
func trialSubmits() int {
	if n, err := strconv.Atoi(os.Getenv("BATCHCTL_SUBMITS")); err == nil {
		return n
	}
	return 8 * trialRound
}

// totals are sums over the rounds of a trial.
type totals struct {
	commands, succeeded, calls, repeated int
	ended, endedLater                    int // duplicates: by submit, and by later commands
	left                                 int // of those: of commands with exit status 0
}

func (s *totals) add(o totals) {
	s.commands += o.commands
	s.succeeded += o.succeeded
	s.calls += o.calls
	s.repeated += o.repeated
	s.ended += o.ended
	s.endedLater += o.endedLater
	s.left += o.left
}

// TestNoDuplicateAfterSuccess checks that, whatever the path to the service does, no duplicate is
// alive after exit status 0 (but see mixed). The next command ends the duplicates of any other
// command, and resume loses nothing. A proxy delivers 5 % of the requests twice, and a tenth of
// the commands are interrupted.
func TestNoDuplicateAfterSuccess(t *testing.T) {
	var mu sync.Mutex
	sums := make([]totals, len(badPaths))
	n := trialSubmits()
	t.Run("round", func(t *testing.T) {
		for i := 0; i*trialRound < n; i++ {
			path := i % len(badPaths)
			t.Run(badPaths[path].name, func(t *testing.T) {
				t.Parallel()
				seen := trialOf(t, uint64(i), path, min(trialRound, n-i*trialRound))
				mu.Lock()
				defer mu.Unlock()
				sums[path].add(seen)
			})
		}
	})
	var all totals
	for i, s := range sums {
		t.Logf("%s: %d commands, %d with exit status 0; %d calls of SubmitJob, %d delivered twice; duplicates ended: %d by submit, %d by later commands, %d of them alive after exit status 0",
			badPaths[i].name, s.commands, s.succeeded, s.calls, s.repeated, s.ended, s.endedLater, s.left)
		all.add(s)
	}
	if all.succeeded < all.commands/2 || all.ended == 0 || all.repeated == 0 {
		t.Errorf("the trial does not test much: %+v", all)
	}
	if !t.Failed() {
		t.Logf("%d submits: 0 duplicates alive after the next command, 0 jobs lost", n)
	}
}

// trialOf is one round of a trial.
func trialOf(t *testing.T, seed uint64, path, n int) (seen totals) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newService(t, func() time.Duration { return badPaths[path].lag(random) }, 1, sleeper{})
		s.random = rand.New(rand.NewPCG(seed, 2))
		tr := &trial{service: s, ledger: &Ledger{Dir: t.TempDir(), Target: here}, replayable: badPaths[path].replayable, stopped: 10, random: rand.New(rand.NewPCG(seed, 3))}
		if tr.replayable {
			s.repeated = 5
		}
		all := tr.Submit(t, tr.plans(n))
		time.Sleep(time.Minute) // every job is listed by now
		seen = totals{commands: len(all), ended: tr.ended}
		seen.succeeded, seen.left = tr.checkSucceeded(t, all, badPaths[path].mixed)
		tr.checkDue(t)
		for submission, ids := range tr.alive(t) {
			if len(ids) > 1 {
				open, err := tr.ledger.OpenRuns()
				t.Errorf("submission %s: %v are alive after the next command; %v; open runs %+v, %v", submission, ids, tr.failed, open, err)
			}
		}
		open := tr.openPlans(t)
		for range 20 { // as a user would
			if _, err := resumeAll(t, tr.client()); err != nil {
				tr.Count(err)
			}
		}
		tr.checkAll(t, all, open)
		if tr.twice > 0 {
			t.Errorf("%d jobs are reported to have run twice, and no job ends on its own", tr.twice)
		}
		seen.calls, seen.repeated, seen.endedLater = s.calls["SubmitJob"], s.calls["repeated"], tr.ended-seen.ended
	})
	return seen
}
