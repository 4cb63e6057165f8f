package once

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func TestResolveFromTheLedger(t *testing.T) {
	f, c := listing(t)
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
	ledger := []Entry{
		{Name: "prepare", ID: "cccc0000-0000-4000-8000-000000000001"},
		{Name: "prepare", ID: "cccc1111-0000-4000-8000-000000000002", ArraySize: 3},
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
	if e, ok := errors.AsType[*client.AmbiguousIDError](err); !ok || e.Jobs[1].Status != "RUNNING" {
		t.Error(err)
	}
	if got, err := c.Resolve(t.Context(), "bbbb", nil); got != idC || err != nil {
		t.Errorf("not in the ledger: %s, %v", got, err)
	}
	if got, err := c.Resolve(t.Context(), "dddd", nil); err == nil {
		t.Errorf("another target's job was found: %s", got)
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
		{"sweep:7#2", "", "only replay takes an attempt after the index", "sweep:7"},
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
