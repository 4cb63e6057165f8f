package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// TestStopOnFailure: a refusal in the middle leaves nothing that runs, and no open run.
func TestStopOnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		f.faults["SubmitJob"] = []fault{fine, forbidden()}
		jobs, err := c.Submit(t.Context(), pipeline())
		stopped, ok := errors.AsType[*StoppedError](err)
		if !ok || !isA[*RefusedError](err) || len(stopped.Stopped) != 1 || stopped.Stopped[0].ID != testID(1) || len(jobs) != 1 {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if want := "; stopped what had been accepted, 1 of 3 jobs: a (00000001)"; !strings.HasSuffix(err.Error(), want) {
			t.Error(err)
		}
		if !strings.HasPrefix(f.stopped[testID(1)], "CancelJob") || f.count("SubmitJob") != 2 {
			t.Errorf("%v, %d calls", f.stopped, f.count("SubmitJob"))
		}
		if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
			t.Errorf("%+v, %v", open, err)
		}
		if got, err := c.Ledger.Entries(); len(got) != 1 || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestStopOnFailureOnlyThen: what is no refusal of a submission leaves the run open.
func TestStopOnFailureOnlyThen(t *testing.T) {
	for name, faults := range map[string]map[string][]fault{
		"throttled":   {"SubmitJob": append([]fault{fine}, times(20, throttle())...)},
		"unreachable": {"SubmitJob": {fine, refusedConnection}},
		"unknown":     {"SubmitJob": {fine, lostEOF}, "ListJobs": {forbidden()}},
		"expired":     {"SubmitJob": {fine, says(403, "ExpiredTokenException", `{"message":"expired"}`)}},
		"twins":       {"SubmitJob": {fine, fine, lostEOF}, "ListJobs": {fine, forbidden()}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			withLedger(t, c)
			c.StopOnFailure = true
			c.Replayable = name == "twins" // else nothing can have doubled a job that is found
			f.faults = faults
			_, err := c.Submit(t.Context(), pipeline())
			if isA[*StoppedError](err) || !isA[*OpenError](err) && !isA[*DueError](err) || len(f.stopped) > 0 {
				t.Errorf("%s: %v, stopped %v", name, err, f.stopped)
			}
			onlyRun(t, c)
		})
	}
	f, c := newFake(t)
	withLedger(t, c)
	c.StopOnFailure = true
	f.faults["SubmitJob"] = []fault{forbidden()}
	if _, err := c.Submit(t.Context(), pipeline()); isA[*StoppedError](err) || isA[*OpenError](err) || !isA[*RefusedError](err) {
		t.Errorf("nothing was accepted: %v", err)
	}
}

// TestStopOnFailureResumed: what could not be stopped is stopped by a resume, which
// submits nothing more.
func TestStopOnFailureResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		ctx, cancel := context.WithCancel(t.Context())
		f.faults["SubmitJob"] = []fault{fine, forbidden()}
		f.faults["CancelJob"] = []fault{func(func() *http.Response) (*http.Response, error) {
			cancel()
			return nil, context.Canceled
		}}
		_, err := c.Submit(ctx, pipeline())
		if isA[*StoppedError](err) || !isA[*OpenError](err) || len(f.stopped) > 0 {
			t.Fatalf("%v, stopped %v", err, f.stopped)
		}
		c.StopOnFailure = false // whoever resumes need not say it again
		jobs, err := c.Resume(t.Context(), onlyRun(t, c).Name)
		if e, ok := errors.AsType[*StoppedError](err); !ok || len(e.Stopped) != 1 || len(jobs) != 1 || f.count("SubmitJob") != 2 || len(f.submitted) != 1 {
			t.Errorf("%+v, %v, %d submitted", jobs, err, len(f.submitted))
		}
		if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
			t.Errorf("%+v", open)
		}
	})
}

// TestStopOnFailureWithATwin: a job whose answer was missing may be doubled, and its
// twin is ended later.
func TestStopOnFailureWithATwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.StopOnFailure = true
		f.faults["SubmitJob"] = []fault{lostEOF, fine, forbidden()}
		f.hidden = func(id string) bool { return id == testID(1) }
		_, err := c.Submit(t.Context(), pipeline())
		if !isA[*StoppedError](err) || f.stopped[testID(2)] == "" || f.stopped[testID(1)] != "" {
			t.Fatalf("%v, stopped %v", err, f.stopped)
		}
		f.hidden = nil
		if _, err := c.Resume(t.Context(), onlyRun(t, c).Name); err != nil || f.stopped[testID(1)] == "" || len(f.submitted) != 2 {
			t.Errorf("%v, stopped %v", err, f.stopped)
		}
		if open, _ := c.Ledger.OpenRuns(); len(open) > 0 {
			t.Errorf("%+v", open)
		}
	})
}
