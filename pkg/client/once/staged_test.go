package once

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func TestStagedWithoutStage(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	if _, err := c.Submit(t.Context(), planOf(job("a", "x"), stages(job("b", "x"), "s3://b/k"))); !errors.Is(err, errNoStage) || len(f.Calls) > 0 {
		t.Errorf("%v after %v", err, f.Calls)
	}
	if left, err := os.ReadDir(string(c.Ledger.logs())); err == nil && len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestStagedFirst checks that a text that cannot be staged stops the submission before its first
// job, without traces.
func TestStagedFirst(t *testing.T) {
	f, c := newFake(t)
	withLedger(t, c)
	trouble := errors.New("no bucket")
	c.Stage = func(context.Context, string, string) error { return trouble }
	jobs, err := c.Submit(t.Context(), planOf(job("a", "x"), stages(job("b", "x"), "s3://b/k")))
	if !errors.Is(err, trouble) || isA[*OpenError](err) || !strings.Contains(err.Error(), "stage s3://b/k for job b: no bucket") || len(jobs) > 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	if len(f.Calls) > 0 {
		t.Errorf("sent %v", f.Calls)
	}
	if left, err := os.ReadDir(string(c.Ledger.logs())); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestStaged checks that a resume stages the texts of an interrupted submission again, from the
// files next to the log, and removes those files with the log.
func TestStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Stage = (&stageArea{}).put
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
		_, err := c.Submit(t.Context(), planOf(job("a", "x"), stages(job("b", "x"), "s3://b/k")))
		if !isA[*OpenError](err) {
			t.Fatal(err)
		}
		run := onlyRun(t, c).Name
		if text, err := os.ReadFile(c.Ledger.logs().logPath(run)); err != nil || strings.Contains(string(text), "the text of") {
			t.Errorf("the text is in the log: %v", err)
		}
		c.Stage = nil
		if _, err := c.Resume(t.Context(), run); !errors.Is(err, errNoStage) {
			t.Error(err)
		}
		area := &stageArea{}
		c.Stage = area.put
		if _, err := c.Resume(t.Context(), run); err != nil || area.texts["s3://b/k"] != "the text of s3://b/k" || len(f.Submitted) != 2 {
			t.Errorf("%v, %+v", err, area.texts)
		}
		if left, err := os.ReadDir(string(c.Ledger.logs())); len(left) > 0 || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
	})
}

// TestStagedChanged checks that a text that was changed on disk is not staged, and that the next
// run removes texts without a run.
func TestStagedChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		withLedger(t, c)
		c.Stage = (&stageArea{}).put
		f.Faults["SubmitJob"] = []clienttest.Fault{Fine, forbidden()}
		_, _ = c.Submit(t.Context(), planOf(job("a", "x"), stages(job("b", "x"), "s3://b/k")))
		run := onlyRun(t, c).Name
		texts, err := filepath.Glob(filepath.Join(string(c.Ledger.logs()), "*"+stagedSuffix, "*"))
		if err != nil || len(texts) != 1 {
			t.Fatal(texts, err)
		}
		if err := os.WriteFile(texts[0], []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resume(t.Context(), run); err == nil || !strings.Contains(err.Error(), "has changed") || len(f.Submitted) != 1 {
			t.Errorf("%v, %d submitted", err, len(f.Submitted))
		}
		if err := os.Remove(c.Ledger.logs().logPath(run)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(t.Context(), planOf(job("a", "x"))); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(string(c.Ledger.logs())); len(left) > 0 || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
	})
}
