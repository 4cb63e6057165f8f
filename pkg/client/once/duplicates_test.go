package once

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// repeated delivers a SubmitJob twice, and one answer.
func repeated(f *clienttest.Fake) clienttest.Fault {
	return func(serve func() *http.Response) (*http.Response, error) {
		r := serve()
		_, err := f.Submit(context.Background(), f.Submitted[len(f.Submitted)-1])
		return r, err
	}
}

// TestClearAnswers checks that after clear answers jobs are listed only if a request may be
// repeated, then twice within a second.
func TestClearAnswers(t *testing.T) {
	for _, path := range []struct {
		name                  string
		replayable, takesOnce bool
		looks                 int
		took                  time.Duration
	}{
		{"TLS to AWS", false, false, 0, 0},
		{"a proxy", true, false, 2 * 3, secondCheck},
		{"the local engine", true, true, 0, 0},
	} {
		t.Run(path.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				withLedger(t, c)
				c.Replayable, c.TakesOnce = path.replayable, path.takesOnce
				_, err := c.Submit(t.Context(), pipeline())
				if n, took := f.Count("ListJobs"), time.Since(f.Start); err != nil || n != path.looks || took != path.took {
					t.Errorf("%v, %d checks in %v", err, n, took)
				}
				if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
					t.Error(open, err)
				}
			})
		})
	}
}

// TestRepeatedRequest checks a request that was delivered twice with a clear answer.
func TestRepeatedRequest(t *testing.T) {
	for name, lag := range map[string]time.Duration{"listed at once": 0, "listed a moment later": secondCheck / 2, "listing lags": 50 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				withLedger(t, c)
				c.Replayable = true
				f.Faults["SubmitJob"] = []clienttest.Fault{repeated(f)}
				f.Hidden = func(id string) bool {
					return id == clienttest.TestID(2) && time.Since(f.Start) < lag || lag > secondCheck && time.Since(f.Start) < lag
				}
				jobs, err := c.Submit(t.Context(), planOf(job("a", "x")))
				if err != nil || len(jobs) != 1 || jobs[0].ID != clienttest.TestID(1) || f.Stopped[clienttest.TestID(2)] == "" || f.Stopped[clienttest.TestID(1)] != "" {
					t.Errorf("%+v, %v, stopped %v", jobs, err, f.Stopped)
				}
			})
		})
	}
}

// TestLagRemembered checks that a job gets the late check although it is listed at once, if the
// target's listing lagged recently.
func TestLagRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Replayable = true
		lag := 30 * time.Second
		f.Hidden = func(string) bool { return time.Since(f.Start) < lag }
		submit := func() time.Duration {
			begin := time.Now()
			if _, err := c.Submit(t.Context(), planOf(job("a", "x"))); err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		if took := submit(); took < time.Minute {
			t.Errorf("the listing lags: %v", took)
		}
		if took := submit(); took < time.Minute {
			t.Errorf("it lagged lately: %v", took)
		}
		time.Sleep(lagMemory)
		if took := submit(); took != secondCheck {
			t.Errorf("it lagged long ago: %v", took)
		}
	})
}

// TestFinishedDuplicate checks that a duplicate that has run is reported with its id: nothing can
// undo it.
func TestFinishedDuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Replayable = true
		f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) {
			r, err := repeated(f)(serve)
			detail := *f.Jobs[clienttest.TestID(2)](0)
			detail.Status = types.JobStatusSucceeded
			f.Jobs[clienttest.TestID(2)] = func(time.Duration) *types.JobDetail { d := detail; return &d }
			return r, err
		}}
		jobs, err := c.Submit(t.Context(), planOf(job("a", "x")))
		twice, ok := errors.AsType[*TwiceError](err)
		if !ok || len(jobs) != 1 || len(twice.Duplicates) != 1 || twice.Duplicates[0] != (Duplicate{"a", clienttest.TestID(1), clienttest.TestID(2), "SUCCEEDED"}) {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if len(f.Stopped) > 0 || !strings.Contains(err.Error(), clienttest.TestID(2)+" ended as SUCCEEDED") {
			t.Errorf("%v, stopped %v", err, f.Stopped)
		}
	})
}

// TestInterruptedCheck checks that Ctrl-C while submit waits for the late check is an error, and
// that the next command ends the duplicate.
func TestInterruptedCheck(t *testing.T) {
	for _, at := range []time.Duration{time.Second / 2, 5 * time.Second, 20 * time.Second, 50 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				withLedger(t, c)
				c.Replayable = true
				f.Faults["SubmitJob"] = []clienttest.Fault{repeated(f), clienttest.LostEOF, clienttest.LostEOF}
				f.Hidden = func(string) bool { return time.Since(f.Start) < 55*time.Second }
				ctx, cancel := context.WithTimeout(t.Context(), at)
				defer cancel()
				_, err := c.Submit(ctx, planOf(job("a", "x"), job("b", "x")))
				if !isA[*DueError](err) && !isA[*OpenError](err) {
					t.Fatal(err)
				}
				run := onlyRun(t, c)
				if run.CheckDue.IsZero() {
					t.Fatalf("%+v", run)
				}
				time.Sleep(time.Until(run.CheckDue))
				if err := c.CheckDuplicates(t.Context(), run.Name); err != nil {
					t.Fatal(err)
				}
				alive := map[string]int{}
				for i, in := range f.Submitted {
					if f.Stopped[clienttest.TestID(i+1)] == "" {
						alive[*in.JobName]++
					}
				}
				for name, n := range alive {
					if n > 1 {
						t.Errorf("%s is alive %d times", name, n)
					}
				}
			})
		})
	}
}

// TestStoppedRunLeavesNoDuplicate checks that a submission that is stopped because of a rejection
// also stops the duplicates of its other jobs.
func TestStoppedRunLeavesNoDuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Replayable, c.StopOnFailure = true, true
		f.Faults["SubmitJob"] = []clienttest.Fault{repeated(f), forbidden()}
		_, err := c.Submit(t.Context(), planOf(job("a", "x"), job("b", "x")))
		if err == nil || f.Stopped[clienttest.TestID(1)] == "" || f.Stopped[clienttest.TestID(2)] == "" {
			t.Errorf("%v, stopped %v", err, f.Stopped)
		}
	})
}

// TestRecheck checks that a later command ends the duplicate of a repeated request that is listed
// long after the job. From then on, jobs of the target get the late check.
func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Replayable = true
		f.Faults["SubmitJob"] = []clienttest.Fault{repeated(f)}
		f.Hidden = func(id string) bool { return id == clienttest.TestID(2) && time.Since(f.Start) < 50*time.Second }
		if _, err := c.Submit(t.Context(), planOf(job("a", "x"))); err != nil || len(f.Stopped) > 0 {
			t.Fatal(err, f.Stopped)
		}
		unverified := func(want int) {
			t.Helper()
			if jobs, err := c.Ledger.Unverified(); len(jobs) != want || err != nil {
				t.Fatalf("%+v, %v", jobs, err)
			}
		}
		unverified(0) // it is too early
		time.Sleep(lateCheck)
		unverified(1)
		f.Faults["DescribeJobs"] = []clienttest.Fault{forbidden()}
		if err := c.RecheckDuplicates(t.Context()); err == nil || len(f.Stopped) > 0 {
			t.Fatal(err, f.Stopped)
		}
		unverified(1) // it failed
		if err := c.RecheckDuplicates(t.Context()); err != nil || f.Stopped[clienttest.TestID(2)] == "" || f.Stopped[clienttest.TestID(1)] != "" {
			t.Fatal(err, f.Stopped)
		}
		unverified(0)
		began := time.Now()
		if _, err := c.Submit(t.Context(), planOf(job("b", "x"))); err != nil || time.Since(began) < time.Minute {
			t.Error(err, time.Since(began))
		}
		time.Sleep(2 * recheckSpan)
		unverified(0) // too old
	})
}
