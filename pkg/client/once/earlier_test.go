package once

import (
	"errors"
	"slices"
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

// past adds a job of an age to the ledger. The service has it with the given status; "" means
// that the service has forgotten it.
func past(f *clienttest.Fake, t *testing.T, c *Client, name string, n int, age time.Duration, status types.JobStatus) {
	t.Helper()
	id := clienttest.TestID(n)
	if err := c.Ledger.Append(Entry{Time: time.Now().Add(-age), Name: name, ID: id, Queue: "cpu"}); err != nil {
		t.Fatal(err)
	}
	if status != "" {
		f.Jobs[id] = func(time.Duration) *types.JobDetail { return &types.JobDetail{JobName: &name, Status: status} }
	}
}

func TestEarlier(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	past(f, t, c, "data", 91, 2*time.Hour, "SUCCEEDED")
	past(f, t, c, "data", 92, time.Hour, "RUNNING")
	f.Queues = []string{"cpu"}
	f.Listed = []types.JobSummary{{JobId: aws.String(clienttest.TestID(93)), JobName: aws.String("elsewhere"), JobArn: aws.String("cpu"), Status: "RUNNING"}}
	f.Jobs[clienttest.TestID(93)] = clienttest.Life("elsewhere", clienttest.At(0, "RUNNING", ""))
	a := before(job("a", "x"), "data", "elsewhere")
	a.Earlier[1].Type = "SEQUENTIAL"
	b := before(job("b", "x", document.Dependency{Job: "a"}), clienttest.TestID(91)[:8])
	if _, err := c.Submit(t.Context(), planOf(a, b)); err != nil {
		t.Fatal(err)
	}
	on := f.Submitted[0].DependsOn
	if len(on) != 2 || *on[0].JobId != clienttest.TestID(92) || *on[1].JobId != clienttest.TestID(93) || on[1].Type != "SEQUENTIAL" {
		t.Errorf("a depends on %+v", on)
	}
	if on = f.Submitted[1].DependsOn; len(on) != 2 || *on[0].JobId != clienttest.TestID(91) || *on[1].JobId != clienttest.TestID(1) {
		t.Errorf("b depends on %+v", on)
	}
}

// TestEarlierHealed checks that a job waits for the job that healed an earlier one: AWS Batch would fail it with the
// earlier one. A job that also FAILED in other cells still counts.
func TestEarlierHealed(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	id := clienttest.TestID
	for _, e := range []Entry{{Name: "train", ID: id(91)}, {Name: "train-try2", ID: id(92), Again: id(91)},
		{Name: "sweep", ID: id(93), ArraySize: 3}, {Name: "sweep-try2", ID: id(94), Again: id(93), Cells: "1"}} {
		e.Time, e.Queue = time.Now(), "cpu"
		if err := c.Ledger.Append(e); err != nil {
			t.Fatal(err)
		}
		status := types.JobStatusFailed
		if e.Again != "" {
			status = types.JobStatusRunning
		}
		f.Jobs[e.ID] = func(time.Duration) *types.JobDetail {
			d := &types.JobDetail{JobName: &e.Name, Status: status}
			if e.ArraySize > 0 {
				d.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(3), StatusSummary: map[string]int32{"FAILED": 2, "SUCCEEDED": 1}}
			}
			return d
		}
	}
	if _, err := c.Submit(t.Context(), planOf(before(job("a", "x"), "train"), before(job("b", "x"), "sweep"))); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{id(92)}, {id(94), id(93)}} {
		var on []string
		for _, d := range f.Submitted[i].DependsOn {
			on = append(on, *d.JobId)
		}
		if !slices.Equal(on, want) {
			t.Errorf("job %d depends on %v, want %v", i, on, want)
		}
	}
}

// TestEarlierUnknown checks that an unknown job of an earlier submission is reported before
// anything is sent.
func TestEarlierUnknown(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	past(f, t, c, "forgotten", 91, 8*24*time.Hour, "")
	past(f, t, c, "failed", 92, 8*24*time.Hour, "")
	if err := c.Ledger.Remember(types.JobDetail{JobId: aws.String(clienttest.TestID(92)), JobName: aws.String("failed"), Status: types.JobStatusFailed}); err != nil {
		t.Fatal(err)
	}
	past(f, t, c, "lost", 93, time.Hour, "")
	for _, step := range []struct {
		on, when string
		want     error
	}{
		{"nothing", "", &client.NoSuchJobError{}}, {"nothing", document.WhenAlways, &client.NoSuchJobError{}}, {"lost", "", &client.MissingError{}},
		{"forgotten", "", errForgotten}, {"failed", "", errForgotten}, {"forgotten", document.WhenFailure, errForgotten},
		{"forgotten", document.WhenAlways, nil}, {"failed", document.WhenFailure, nil},
	} {
		calls := f.Count("SubmitJob") + f.Count("RegisterJobDefinition")
		_, err := c.Submit(t.Context(), planOf(job("first", "x"), when(before(job("a", "x"), step.on), step.when)))
		sent := f.Count("SubmitJob")+f.Count("RegisterJobDefinition") > calls
		_, earlier := errors.AsType[*EarlierError](err)
		fits := err == nil
		switch step.want.(type) {
		case *client.NoSuchJobError:
			fits = isA[*client.NoSuchJobError](err)
		case *client.MissingError:
			fits = isA[*client.MissingError](err)
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

// TestEarlierStays checks that a resume uses the same earlier job, even if there is a newer one
// of that name.
func TestEarlierStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		past(f, t, c, "data", 91, time.Hour, "RUNNING")
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
		_, _ = c.Submit(t.Context(), planOf(job("a", "x"), before(job("b", "x"), "data")))
		past(f, t, c, "data", 92, 0, "RUNNING")
		if _, err := c.Resume(t.Context(), onlyRun(t, c).Name); err != nil {
			t.Fatal(err)
		}
		if on := f.Submitted[1].DependsOn; len(on) != 1 || *on[0].JobId != clienttest.TestID(91) {
			t.Errorf("b depends on %+v", on)
		}
	})
}

func TestTooManyDependencies(t *testing.T) {
	f, c := newFake(t)
	p := &plan.Plan{}
	last := job("last", "x")
	for i := range maxDependencies + 1 {
		j := job(clienttest.TestID(i), "x")
		p.Jobs, last.After = append(p.Jobs, j), append(last.After, document.Dependency{Job: j.Name})
	}
	p.Jobs = append(p.Jobs, last)
	if _, err := c.Submit(t.Context(), p); err == nil || len(f.Calls) > 0 {
		t.Errorf("%v, %d calls", err, len(f.Calls))
	}
}
