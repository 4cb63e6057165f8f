package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// past gives the ledger a job of an age, which the service knows in a status; "" for
// one that it has forgotten.
func (f *fake) past(t *testing.T, c *Client, name string, n int, age time.Duration, status types.JobStatus) {
	t.Helper()
	id := testID(n)
	if err := c.Ledger.Append(Entry{Time: time.Now().Add(-age), Name: name, ID: id, Queue: "cpu"}); err != nil {
		t.Fatal(err)
	}
	if status != "" {
		f.jobs[id] = func(time.Duration) *types.JobDetail { return &types.JobDetail{JobName: &name, Status: status} }
	}
}

func TestEarlier(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.past(t, c, "data", 91, 2*time.Hour, "SUCCEEDED")
	f.past(t, c, "data", 92, time.Hour, "RUNNING")
	f.queues = []string{"cpu"}
	f.listed = []types.JobSummary{{JobId: aws.String(testID(93)), JobName: aws.String("elsewhere"), JobArn: aws.String("cpu"), Status: "RUNNING"}}
	f.jobs[testID(93)] = life("elsewhere", stage{0, "RUNNING", ""})
	a := before(job("a", "x"), "data", "elsewhere")
	a.Earlier[1].Type = "SEQUENTIAL"
	b := before(job("b", "x", document.Dependency{Job: "a"}), testID(91)[:8])
	if _, err := c.Submit(t.Context(), planOf(a, b)); err != nil {
		t.Fatal(err)
	}
	on := f.submitted[0].DependsOn
	if len(on) != 2 || *on[0].JobId != testID(92) || *on[1].JobId != testID(93) || on[1].Type != "SEQUENTIAL" {
		t.Errorf("a depends on %+v", on)
	}
	if on = f.submitted[1].DependsOn; len(on) != 2 || *on[0].JobId != testID(91) || *on[1].JobId != testID(1) {
		t.Errorf("b depends on %+v", on)
	}
}

// TestEarlierUnknown: a job of before that is not there is said before anything is sent.
func TestEarlierUnknown(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	f.past(t, c, "forgotten", 91, 8*24*time.Hour, "")
	f.past(t, c, "failed", 92, 8*24*time.Hour, "")
	if err := c.Ledger.Remember(types.JobDetail{JobId: aws.String(testID(92)), JobName: aws.String("failed"), Status: types.JobStatusFailed}); err != nil {
		t.Fatal(err)
	}
	f.past(t, c, "lost", 93, time.Hour, "")
	for _, step := range []struct {
		on, when string
		want     error
	}{
		{"nothing", "", &NoSuchJobError{}}, {"nothing", document.WhenAlways, &NoSuchJobError{}}, {"lost", "", &MissingError{}},
		{"forgotten", "", errForgotten}, {"failed", "", errForgotten}, {"forgotten", document.WhenFailure, errForgotten},
		{"forgotten", document.WhenAlways, nil}, {"failed", document.WhenFailure, nil},
	} {
		calls := f.count("SubmitJob") + f.count("RegisterJobDefinition")
		_, err := c.Submit(t.Context(), planOf(job("first", "x"), when(before(job("a", "x"), step.on), step.when)))
		sent := f.count("SubmitJob")+f.count("RegisterJobDefinition") > calls
		_, earlier := errors.AsType[*EarlierError](err)
		fits := err == nil
		switch step.want.(type) {
		case *NoSuchJobError:
			fits = isA[*NoSuchJobError](err)
		case *MissingError:
			fits = isA[*MissingError](err)
		case error:
			fits = errors.Is(err, step.want)
		}
		if !fits || earlier == sent || earlier != (step.want != nil) {
			t.Errorf("%+v: %v, sent %v", step, err, sent)
		}
		if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
			t.Errorf("%+v: open %+v", step, open)
		}
	}
}

// TestEarlierStays: a resume means the job that was meant, even if there is a newer one.
func TestEarlierStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		f.past(t, c, "data", 91, time.Hour, "RUNNING")
		f.faults["SubmitJob"] = []fault{fine, forbidden()}
		_, _ = c.Submit(t.Context(), planOf(job("a", "x"), before(job("b", "x"), "data")))
		f.past(t, c, "data", 92, 0, "RUNNING")
		if _, err := c.Resume(t.Context(), onlyRun(t, c).Name); err != nil {
			t.Fatal(err)
		}
		if on := f.submitted[1].DependsOn; len(on) != 1 || *on[0].JobId != testID(91) {
			t.Errorf("b depends on %+v", on)
		}
	})
}

func TestTooManyDependencies(t *testing.T) {
	f, c := newFake(t)
	p := &plan.Plan{}
	last := job("last", "x")
	for i := range maxDependencies + 1 {
		j := job(testID(i), "x")
		p.Jobs, last.After = append(p.Jobs, j), append(last.After, document.Dependency{Job: j.Name})
	}
	p.Jobs = append(p.Jobs, last)
	if _, err := c.Submit(t.Context(), p); err == nil || len(f.calls) > 0 {
		t.Errorf("%v, %d calls", err, len(f.calls))
	}
}
