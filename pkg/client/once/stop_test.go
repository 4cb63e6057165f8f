package once

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// TestStopOnFailure checks that after a rejection in the middle no job runs and no run is open.
func TestStopOnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
		jobs, err := c.Submit(t.Context(), pipeline())
		stopped, ok := errors.AsType[*StoppedError](err)
		if !ok || !isA[*client.RefusedError](err) || len(stopped.Stopped) != 1 || stopped.Stopped[0].ID != clienttest.TestID(1) || len(jobs) != 1 {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if want := "; stopped the accepted jobs, 1 of 3: a (00000001)"; !strings.HasSuffix(err.Error(), want) {
			t.Error(err)
		}
		if !strings.HasPrefix(f.Stopped[clienttest.TestID(1)], "TerminateJob") || f.Count("SubmitJob") != 2 {
			t.Errorf("%v, %d calls", f.Stopped, f.Count("SubmitJob"))
		}
		if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
			t.Errorf("%+v, %v", open, err)
		}
		if got, err := c.Ledger.Entries(); len(got) != 1 || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestStopOnFailureOnlyThen checks that other errors leave the run open.
func TestStopOnFailureOnlyThen(t *testing.T) {
	for name, faults := range map[string]map[string][]clienttest.Fault{
		"throttled":   {"SubmitJob": append([]clienttest.Fault{Fine}, clienttest.Times(20, clienttest.Throttle())...)},
		"unreachable": {"SubmitJob": {Fine, clienttest.RefusedConnection}},
		"unknown":     {"SubmitJob": {Fine, clienttest.LostEOF}, "ListJobs": {forbidden()}},
		"expired":     {"SubmitJob": {Fine, clienttest.Reply(403, "ExpiredTokenException", `{"message":"expired"}`)}},
		"twins":       {"SubmitJob": {Fine, Fine, clienttest.LostEOF}, "ListJobs": {Fine, forbidden()}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			withLedger(t, c)
			c.StopOnFailure = true
			c.Replayable = name == "twins" // otherwise a job that is found cannot have a duplicate
			f.Faults = faults
			_, err := c.Submit(t.Context(), pipeline())
			if isA[*StoppedError](err) || !isA[*OpenError](err) && !isA[*DueError](err) || len(f.Stopped) > 0 {
				t.Errorf("%s: %v, stopped %v", name, err, f.Stopped)
			}
			onlyRun(t, c)
		})
	}
	f, c := newFake(t)
	withLedger(t, c)
	c.StopOnFailure = true
	f.Faults["SubmitJob"] = []clienttest.Fault{forbidden()}
	if _, err := c.Submit(t.Context(), pipeline()); isA[*StoppedError](err) || isA[*OpenError](err) || !isA[*client.RefusedError](err) {
		t.Errorf("nothing was accepted: %v", err)
	}
}

// TestStopOnFailureResumed checks that a resume stops the jobs that could not be stopped, and
// submits nothing more.
func TestStopOnFailureResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		ctx, cancel := context.WithCancel(t.Context())
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
		f.Faults["TerminateJob"] = []clienttest.Fault{func(func() *http.Response) (*http.Response, error) {
			cancel()
			return nil, context.Canceled
		}}
		_, err := c.Submit(ctx, pipeline())
		if isA[*StoppedError](err) || !isA[*OpenError](err) || len(f.Stopped) > 0 {
			t.Fatalf("%v, stopped %v", err, f.Stopped)
		}
		c.StopOnFailure = false // a resume does not need the option
		jobs, err := c.Resume(t.Context(), onlyRun(t, c).Name)
		if e, ok := errors.AsType[*StoppedError](err); !ok || len(e.Stopped) != 1 || len(jobs) != 1 || f.Count("SubmitJob") != 2 || len(f.Submitted) != 1 {
			t.Errorf("%+v, %v, %d submitted", jobs, err, len(f.Submitted))
		}
		if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
			t.Errorf("%+v", open)
		}
	})
}

// TestStopOnFailureWithADuplicate checks that a job without an answer may have a duplicate, which
// is ended later.
func TestStopOnFailureWithADuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEOF, Fine, forbidden()}
		f.Hidden = func(id string) bool { return id == clienttest.TestID(1) }
		_, err := c.Submit(t.Context(), pipeline())
		if !isA[*StoppedError](err) || f.Stopped[clienttest.TestID(2)] == "" || f.Stopped[clienttest.TestID(1)] != "" {
			t.Fatalf("%v, stopped %v", err, f.Stopped)
		}
		f.Hidden = nil
		if _, err := c.Resume(t.Context(), onlyRun(t, c).Name); err != nil || f.Stopped[clienttest.TestID(1)] == "" || len(f.Submitted) != 2 {
			t.Errorf("%v, stopped %v", err, f.Stopped)
		}
		if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
			t.Errorf("%+v", open)
		}
	})
}
