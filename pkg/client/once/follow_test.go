package once

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// endsAs makes job n end in a status, some time after now.
func endsAs(f *clienttest.Fake, n int, after time.Duration, status types.JobStatus) {
	id, at := clienttest.TestID(n), time.Now().Add(after)
	old := f.Jobs[id]
	f.Jobs[id] = func(d time.Duration) *types.JobDetail {
		job := old(d)
		if !time.Now().Before(at) {
			job.Status = status
		}
		return job
	}
}

func on(names ...string) (all []document.Dependency) {
	for _, n := range names {
		all = append(all, document.Dependency{Job: n})
	}
	return all
}

// threeEnds returns a job with two jobs that wait for its end, and one that waits for each of
// those.
func threeEnds() *plan.Plan {
	return planOf(job("a", "x"), when(job("always", "x", on("a")...), document.WhenAlways), when(job("alarm", "x", on("a")...), document.WhenFailure),
		job("behind", "x", on("always", "a")...), job("beyond", "x", on("alarm")...))
}

func submittedNames(f *clienttest.Fake) (names []string) {
	for _, s := range f.Submitted {
		text := client.DisplayName(*s.JobName)
		for _, d := range s.DependsOn {
			text += " after " + strings.TrimLeft(batch.ShortID(*d.JobId), "0")
		}
		names = append(names, text)
	}
	return names
}

// TestSubmitNow leaves waiting jobs to Resume, which waits for their dependencies.
func TestSubmitNow(t *testing.T) {
	for _, c := range []struct {
		status types.JobStatus
		want   []string
		lines  string
	}{
		{"SUCCEEDED", []string{"a", "always", "behind after 2 after 1"}, "alarm: no failure of a; beyond: alarm was not needed"},
		{"FAILED", []string{"a", "always", "alarm", "behind after 2 after 1", "beyond after 3"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, client := newFake(t)
			withLedger(t, client)
			jobs, waiting, err := client.SubmitNow(t.Context(), threeEnds())
			if err != nil || len(jobs) != 1 || waiting == nil || len(f.Submitted) != 1 {
				t.Fatalf("%+v, %+v, %v", jobs, waiting, err)
			}
			var steps []string
			for _, s := range waiting.Steps {
				text := s.Name + " " + s.When + ":"
				for _, w := range s.For {
					text += " " + w.Name + " " + batch.ShortID(w.ID)
				}
				steps = append(steps, text)
			}
			want := []string{"always always: a 00000001", "alarm failure: a 00000001", "behind : always ", "beyond : alarm "}
			if d := cmp.Diff(want, steps); d != "" || waiting.String() != "4 steps run when their dependencies have finished" {
				t.Error(waiting, d)
			}
			run := onlyRun(t, client)
			if run.Name != waiting.Run || run.Jobs != 5 || run.Accepted != 1 || run.Waiting != 4 || run.Unknown != 0 {
				t.Errorf("%+v", run)
			}
			endsAs(f, 1, time.Hour, c.status)
			calls := f.Count("DescribeJobs")
			start := time.Now()
			jobs, err = client.Resume(t.Context(), run.Name)
			if err != nil || len(jobs) != 5 || time.Since(start) > time.Hour+time.Minute {
				t.Fatalf("%+v, %v after %v", jobs, err, time.Since(start))
			}
			if n := f.Count("DescribeJobs") - calls; n > 1100 { // at most one every 4 s
				t.Errorf("%d calls in an hour", n)
			}
			if d := cmp.Diff(c.want, submittedNames(f)); d != "" {
				t.Error(d)
			}
			if got := strings.Join(skippedOf(jobs), "; "); got != c.lines {
				t.Errorf("skipped %s", got)
			}
			if open, err := client.Ledger.OpenRuns(); len(open) > 0 || err != nil {
				t.Errorf("%+v, %v", open, err)
			}
			if o, err := client.Ledger.outcomes(); o[clienttest.TestID(1)].Status != c.status {
				t.Errorf("the end is not remembered: %+v, %v", o, err)
			}
		})
	}
}

// TestSubmitNowOfWhatHasEnded checks that jobs whose dependencies have ended are submitted at
// once.
func TestSubmitNowOfWhatHasEnded(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	past(f, t, c, "data", 91, time.Hour, "FAILED")
	jobs, waiting, err := c.SubmitNow(t.Context(), planOf(when(before(job("alarm", "x"), "data"), document.WhenFailure), job("behind", "x", on("alarm")...)))
	if err != nil || waiting != nil || len(jobs) != 2 || len(f.Submitted[0].DependsOn) != 0 || len(f.Submitted[1].DependsOn) != 1 {
		t.Errorf("%+v, %+v, %v", jobs, waiting, err)
	}
	if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
		t.Errorf("%+v", open)
	}
}

func TestSubmitNowWithoutLedger(t *testing.T) {
	f, c := newFake(t)
	if _, _, err := c.SubmitNow(t.Context(), threeEnds()); err == nil || len(f.Calls) > 0 {
		t.Errorf("%v after %v", err, f.Calls)
	}
	if _, waiting, err := c.SubmitNow(t.Context(), pipeline()); err != nil || waiting != nil {
		t.Errorf("%v, %v", waiting, err)
	}
}

// TestWaitBeyondRetention checks that a job that was not due was certainly not sent, however long
// ago the run began. A job that was due may be forgotten.
func TestWaitBeyondRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		if _, _, err := c.SubmitNow(t.Context(), threeEnds()); err != nil {
			t.Fatal(err)
		}
		endsAs(f, 1, 0, "SUCCEEDED")
		time.Sleep(2 * retention)
		f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) {
			f.Faults["ListJobs"] = []clienttest.Fault{forbidden()}
			return clienttest.LostEOF(serve)
		}}
		run := onlyRun(t, c).Name
		_, err := c.Resume(t.Context(), run)
		if open, ok := errors.AsType[*OpenError](err); !ok || open.Unknown != 1 || open.Skipped != 2 || open.Waiting != 1 || len(f.Submitted) != 2 {
			t.Fatalf("%#v, %d submitted", err, len(f.Submitted))
		}
		time.Sleep(2 * retention)
		f.Listed = nil
		if _, err := c.Resume(t.Context(), run); !isA[*ForgottenError](err) || len(f.Submitted) != 2 {
			t.Errorf("%v, %d submitted", err, len(f.Submitted))
		}
		c.SubmitAgain = true
		if _, err := c.Resume(t.Context(), run); err != nil || len(f.Submitted) != 4 {
			t.Errorf("%v, %d submitted", err, len(f.Submitted))
		}
	})
}

// TestEndForgotten checks jobs after a dependency whose outcome is forgotten. A job that runs in
// any case is submitted; one that runs after a failure is left to the user.
func TestEndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		if _, _, err := c.SubmitNow(t.Context(), threeEnds()); err != nil {
			t.Fatal(err)
		}
		delete(f.Jobs, clienttest.TestID(1))
		time.Sleep(8 * 24 * time.Hour)
		_, err := c.Resume(t.Context(), onlyRun(t, c).Name)
		if e, ok := errors.AsType[*EndForgottenError](err); !ok || e.Job != "alarm" || e.On != "a" {
			t.Errorf("%v", err)
		}
		if d := cmp.Diff([]string{"a", "always", "behind after 2 after 1"}, submittedNames(f)); d != "" {
			t.Error(d)
		}
		if jobs, err := c.Drop(onlyRun(t, c).Name); err != nil || len(jobs) != 3 {
			t.Errorf("%+v, %v", jobs, err)
		}
	})
}

// TestInterruptedWait checks that the run stays open and reports what it waits for.
func TestInterruptedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newFake(t)
		withLedger(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := c.Submit(ctx, threeEnds())
		if open, ok := errors.AsType[*OpenError](err); !ok || open.Waiting != 4 || open.Unknown != 0 ||
			!strings.HasSuffix(err.Error(), "1 of 5 jobs were accepted, 4 wait for others to finish") {
			t.Errorf("%v", err)
		}
		c.Attached = true
		_, err = c.Submit(ctx, threeEnds())
		if open, _ := c.Ledger.OpenRuns(); len(open) != 1 || err == nil {
			t.Errorf("%+v, %v", open, err)
		}
	})
}

// TestWaitForMany checks that a call asks for at most a hundred jobs.
func TestWaitForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t) // it rejects more
		p, last := &plan.Plan{}, when(job("last", "x"), document.WhenAlways)
		last.Register, last.Submit.JobDefinition = nil, aws.String("d:1")
		for i := range 250 {
			j := job(fmt.Sprintf("j%d", i), "x")
			j.Register, j.Submit.JobDefinition = nil, aws.String("d:1")
			p.Jobs, last.After = append(p.Jobs, j), append(last.After, on(j.Name)...)
		}
		c.Accepted = func(s Submitted) {
			if s.Name == "j249" {
				for n := range 250 {
					endsAs(f, n+1, time.Minute, "SUCCEEDED")
				}
			}
		}
		p.Jobs = append(p.Jobs, last)
		if jobs, err := c.Submit(t.Context(), p); err != nil || len(jobs) != 251 || len(f.Submitted[250].DependsOn) > 0 {
			t.Errorf("%d jobs, %v", len(jobs), err)
		}
	})
}

// TestLateDuplicateWhileWaiting checks that the last check for duplicates does not wait for the
// ends of other jobs.
func TestLateDuplicateWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF}
		hidden := time.Now().Add(30 * time.Second)
		f.Hidden = func(id string) bool { return id == clienttest.TestID(1) && time.Now().Before(hidden) }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err := c.Submit(ctx, threeEnds())
		if !isA[*OpenError](err) || f.Stopped[clienttest.TestID(1)] == "" || f.Stopped[clienttest.TestID(2)] != "" {
			t.Errorf("%v, stopped %v", err, f.Stopped)
		}
		if run := onlyRun(t, c); run.Unchecked != 0 {
			t.Errorf("%+v", run)
		}
	})
}
