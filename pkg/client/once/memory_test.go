package once

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func TestResolveFromTheLedger(t *testing.T) {
	f, c := listing(t)
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
	ledger := []Entry{
		{Name: "prepare", ID: "cccc0000-0000-4000-8000-000000000001"},
		{Name: "prepare", ID: "cccc1111-0000-4000-8000-000000000002", ArraySize: 3, Run: "beef0001", Workflow: "recon"},
		{Name: "prepare", ID: "dddd1111-0000-4000-8000-000000000003", Target: "aws"},
	}
	if err := c.Ledger.Append(ledger...); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"prepare": ledger[1].ID, "cccc0": ledger[0].ID, "prepare:2": ledger[1].ID + ":2"} {
		if got, err := c.Resolve(t.Context(), word, nil); got != want || err != nil {
			t.Errorf("Resolve(%s) = %s, %v, want %s", word, got, err, want)
		}
	}
	if len(f.Calls) > 0 {
		t.Errorf("the service was asked: %v", f.Calls)
	}
	f.Jobs[ledger[1].ID] = clienttest.Life("prepare", clienttest.At(0, "RUNNING", ""))
	_, err := c.Resolve(t.Context(), "cccc", nil)
	if e, ok := errors.AsType[*client.AmbiguousIDError](err); !ok || e.Jobs[1].Status != "RUNNING" || !strings.Contains(e.Error(), ledger[1].ID+"  prepare  RUNNING  submission beef0001 recon") {
		t.Error(err)
	}
	if got, err := c.Resolve(t.Context(), "bbbb", nil); got != idC || err != nil {
		t.Errorf("not in the ledger: %s, %v", got, err)
	}
	if got, err := c.Resolve(t.Context(), "dddd", nil); err == nil {
		t.Errorf("another target's job was found: %s", got)
	}
}

// TestFindInTheLedger checks each form of a handle against the ledger. The service is not asked.
func TestFindInTheLedger(t *testing.T) {
	f, c := listing(t)
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
	at := func(minute int) time.Time { return time.Date(2026, 5, 4, 12, minute, 0, 0, time.UTC) }
	id := func(n int) string { return clienttest.TestID(n) }
	const sent = "7f3c1d2e-1111-4222-8333-444455556666"
	if err := c.Ledger.Append(
		Entry{Time: at(1), Name: "pre", ID: id(1), Run: "beef0001", Workflow: "recon"},
		Entry{Time: at(1), Name: "main", ID: id(2), Run: "beef0001", Workflow: "recon", ArraySize: 3},
		Entry{Time: at(2), Name: "recon", ID: id(3), Run: "cafe0002", Submission: sent}, // a single job
		Entry{Time: at(3), Name: "pre", ID: id(4), Run: "beef0003", Workflow: "recon"},
		Entry{Time: at(3), Name: "main", ID: id(5), Run: "beef0003", Workflow: "recon", ArraySize: 3},
		Entry{Time: at(4), Name: "train", ID: id(6), Run: "dada0004", Workflow: "train"}, // a job of the workflow's name
		Entry{Time: at(4), Name: "test", ID: id(7), Run: "dada0004", Workflow: "train"},
		Entry{Time: at(5), Name: "last", ID: id(8), Run: "eeee0005", Workflow: "old"},
		Entry{Time: at(6), Name: "old", ID: id(9), Run: "eeee0006"}, // newer than the workflow
		Entry{Time: at(7), Name: "cells", ID: id(10), Run: "abab0007", Workflow: "sweep", ArraySize: 4},
		Entry{Time: at(8), Name: "one", ID: id(11), Run: "abab0008", Workflow: "last"}, // newer than the job
		Entry{Time: at(8), Name: "two", ID: id(12), Run: "abab0008", Workflow: "last"},
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		handle       string
		newest       string // ids, as numbers
		whole        string
		jobs, others int
	}{
		{"recon", "4 5", "4 5", 1, 4},
		{"beef0001", "1 2", "1 2", 0, 2},
		{"beef0003", "4 5", "4 5", 0, 2},
		{"beef", "4 5", "4 5", 0, 4},
		{"pre", "4", "4 5", 2, 0},
		{"train", "6", "6 7", 1, 2},
		{"old", "9", "8", 1, 1},
		{"last", "b c", "b c", 1, 2},
		{sent, "3", "3", 1, 0},
		{id(2), "2", "1 2", 1, 0},
		{"arn:aws:batch:us-east-1:123456789012:job/" + id(2), "2", "1 2", 1, 0},
		{"00000007", "7", "6 7", 1, 0},
		{"main:1", "5", "4 5", 2, 0},
		{"sweep:2", "a", "a", 1, 0}, // the only job of its workflow
	} {
		m, err := c.Find(t.Context(), tt.handle, nil)
		if err != nil {
			t.Errorf("Find(%q): %v", tt.handle, err)
			continue
		}
		newest, _ := m.Newest()
		whole, err := c.Submission(t.Context(), m, nil)
		if numbers(newest) != tt.newest || numbers(whole) != tt.whole || err != nil || len(m.Jobs) != tt.jobs || len(m.Members) != tt.others {
			t.Errorf("Find(%q) = %s, submission %s, %d jobs, %d members, %v, want %+v", tt.handle, numbers(newest), numbers(whole), len(m.Jobs), len(m.Members), err, tt)
		}
	}
	if len(f.Calls) > 0 {
		t.Errorf("the service was asked: %v", f.Calls)
	}
	if got, err := c.Resolve(t.Context(), "last", nil); got != id(8) || err != nil {
		t.Errorf("where one job is possible, last is %s, %v", got, err)
	}
	_, err := c.Resolve(t.Context(), "beef0001", nil)
	if several, ok := errors.AsType[*client.SeveralJobsError](err); !ok || several.Error() != "beef0001 is a submission of 2 jobs: pre 00000001, main 00000002" {
		t.Error(err)
	}
}

// numbers returns the numbers in ids of clienttest.TestID.
func numbers(jobs []client.Known) string {
	var all []string
	for _, k := range jobs {
		all = append(all, strings.TrimLeft(k.ID[:8], "0"))
	}
	return strings.Join(all, " ")
}

// TestRecent checks that completion's view of the ledger has its last entries and the open runs,
// however long the files are, and passes over damage.
func TestRecent(t *testing.T) {
	l := &Ledger{Dir: t.TempDir(), Target: "local"}
	if got := l.Recent(); got != nil {
		t.Errorf("an empty ledger: %v", got)
	}
	var entries []Entry
	for i := range 2000 {
		entries = append(entries, Entry{Time: time.Unix(int64(i), 0), Name: "job", ID: clienttest.TestID(i), Run: "beef0001", Workflow: "recon"})
	}
	if err := errors.Join(l.Append(entries...), os.MkdirAll(string(l.logs()), 0o700)); err != nil {
		t.Fatal(err)
	}
	line := func(text string) string { return string(seal([]byte(text))) + "\n" }
	log := line(`{"what":"run","run":"cafe0002","target":"local","name":"live","jobs":2}`) + line(`{"what":"intent","name":"a","submission":"s"}`) + "rubbish\n" +
		line(`{"what":"accepted","name":"a","id":"`+idA+`"}`) + `{"what":"acc`
	if err := os.WriteFile(l.logs().logPath("cafe0002"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	got := l.Recent()
	if n := len(got); n < 100 || n > 1000 || got[0].Workflow != "recon" || got[n-3].ID != clienttest.TestID(1999) {
		t.Fatalf("%d entries, %+v ... %+v", n, got[0], got[n-3])
	}
	want := []Entry{{Target: "local", Run: "cafe0002", Workflow: "live"}, {Target: "local", Run: "cafe0002", Workflow: "live", Name: "a", ID: idA}}
	if diff := cmp.Diff(want, got[len(got)-2:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, l.RecentOpen()); diff != "" {
		t.Error(diff)
	}
}

// TestResolvePart checks that a child or node that the job does not have is not reported as
// forgotten, whether the ledger or the service has the number of children.
func TestResolvePart(t *testing.T) {
	const array, single, nodes, old = "cccc1111-0000-4000-8000-000000000001", "cccc2222-0000-4000-8000-000000000002", "cccc3333-0000-4000-8000-000000000003", "cccc4444-0000-4000-8000-000000000004"
	f, c := listing(t)
	f.Jobs[single] = clienttest.Life("train", clienttest.At(0, "RUNNING", ""))
	f.Jobs[nodes] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("mpi"), Status: types.JobStatusRunning, NodeProperties: &types.NodeProperties{NumNodes: aws.Int32(2)}}
	}
	f.Jobs[idA] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("far"), Status: types.JobStatusRunning, ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(100)}}
	}
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
	if err := c.Ledger.Append(Entry{Name: "sweep", ID: array, ArraySize: 10}, Entry{Name: "one", ID: idB, ArraySize: 1}, Entry{Name: "train", ID: single}, Entry{Name: "mpi", ID: nodes},
		Entry{Name: "old", ID: old}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ word, want, err, use string }{
		{"sweep:0", array + ":0", "", ""},
		{"sweep:9", array + ":9", "", ""},
		{"mpi#1", nodes + "#1", "", ""},
		{idA + ":99", idA + ":99", "", ""},
		{"old:3", old + ":3", "", ""}, // the service has forgotten it, so the number of children is unknown
		{"sweep:10", "", "no job sweep:10: sweep has children 0 to 9", "sweep:9"},
		{"sweep:99999999999999999999", "", "no job sweep:99999999999999999999: sweep has children 0 to 9", "sweep:9"},
		{array + ":77", "", "no job " + array + ":77: cccc1111 has children 0 to 9", "cccc1111:9"},
		{"arn:aws:batch:us-east-1:123456789012:job/" + idA + ":100", "", "no job " + idA + ":100: aaaa1111 has children 0 to 99", "aaaa1111:99"},
		{"cccc1111:-1", "", "cccc1111 has children 0 to 9", "cccc1111:9"},
		{"sweep:abc", "", "sweep has children 0 to 9", "sweep:9"},
		{"sweep:", "", "sweep has children 0 to 9", "sweep:9"},
		{"sweep:07", "", "sweep has children 0 to 9", "sweep:9"},
		{"sweep:+7", "", "sweep has children 0 to 9", "sweep:9"},
		{"one:1", "", "one has child 0", "one:0"},
		{"sweep#1", "", "sweep is an array: write its children with a colon", "sweep:0"},
		{"sweep:7#2", "", "only batchctl replay accepts an attempt after the index", "sweep:7"},
		{"sweep:70#2", "", "no job sweep:70: sweep has children 0 to 9", "sweep:9"},
		{"train:3", "", "no job train:3: train is not an array", "train"},
		{"train:x", "", "no job train:x: train is not an array", "train"},
		{"train#1", "", "no job train#1: train does not have several nodes", "train"},
		{"mpi#2", "", "no job mpi#2: mpi has nodes 0 to 1", "mpi#1"},
		{"mpi:0", "", "mpi has nodes: write them with #", "mpi#0"},
		{"old:x", "", "\"x\" is not an index", "old:0"},
	} {
		got, err := c.Resolve(t.Context(), w.word, nil)
		part, _ := errors.AsType[*client.NoSuchPartError](err)
		switch {
		case w.err == "" && (err != nil || got != w.want):
			t.Errorf("Resolve(%q) = %q, %v, want %q", w.word, got, err, w.want)
		case w.err != "" && (part == nil || !strings.Contains(part.Error(), w.err) || part.Use != w.use):
			t.Errorf("Resolve(%q): %v %+v, want %s, %s", w.word, err, part, w.err, w.use)
		}
	}
}

// TestStopJustSubmitted checks that a job that DescribeJobs does not show yet is waited for and
// stopped, if the ledger has a recent entry for it.
func TestStopJustSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
		if err := c.Ledger.Append(Entry{Time: time.Now(), ID: "1", Name: "a"}); err != nil {
			t.Fatal(err)
		}
		runs := clienttest.Stoppable(f, "RUNNING", false)
		f.Jobs["1"] = func(d time.Duration) *types.JobDetail {
			if d < 20*time.Second {
				return nil
			}
			return runs(d)
		}
		if got, err := c.Stop(t.Context(), "1", ""); err != nil || got.Job.Status != "FAILED" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

const (
	idA = clienttest.IDA
	idB = clienttest.IDB
	idC = clienttest.IDC
)

func listing(t *testing.T) (*clienttest.Fake, *Client) {
	f := clienttest.Listing(t)
	return f, New(f.Config())
}
