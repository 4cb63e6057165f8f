package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
)

func listed(id, name, queue string, status types.JobStatus, created int64) types.JobSummary {
	return types.JobSummary{JobId: &id, JobName: &name, JobArn: &queue, Status: status, CreatedAt: &created}
}

const (
	idA = "aaaa1111-0000-4000-8000-000000000001"
	idB = "aaaa2222-0000-4000-8000-000000000002"
	idC = "bbbb3333-0000-4000-8000-000000000003"
)

func listing(t *testing.T) (*fake, *Client) {
	f, c := newFake(t)
	f.queues = []string{"cpu", "gpu"}
	f.listed = []types.JobSummary{
		listed(idA, "train", "cpu", "RUNNING", 1),
		listed(idB, "train", "gpu", "FAILED", 2),
		listed(idC, "Train", "gpu", "RUNNABLE", 3),
		listed(idC+":0", "Train", "", "SUCCEEDED", 3),
		listed(idC+":1", "Train", "", "RUNNING", 3),
		listed(idA, "train", "cpu", "SUCCEEDED", 1), // it ended while we listed
	}
	return f, c
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all", Filter{}, []string{idA, idC, idB}},
		{"one queue", Filter{Queues: []string{"gpu"}}, []string{idC, idB}},
		{"some statuses", Filter{Statuses: []types.JobStatus{"FAILED", "RUNNABLE"}}, []string{idB, idC}},
		{"name", Filter{Name: "train"}, []string{idA, idB, idC}},
		{"name and status", Filter{Name: "train", Statuses: []types.JobStatus{"FAILED"}}, []string{idB}},
		{"children", Filter{ArrayOf: idC, Queues: []string{"x"}}, []string{idC + ":1", idC + ":0"}},
	} {
		_, client := listing(t)
		jobs, err := collect(client.List(t.Context(), c.filter))
		var got []string
		for _, job := range jobs {
			got = append(got, *job.JobId)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", c.name, diff, err)
		}
	}
}

func TestQueues(t *testing.T) {
	_, c := listing(t)
	got, err := c.Queues(t.Context())
	if err != nil || len(got) != 2 || *got[1].JobQueueName != "gpu" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestListRefused(t *testing.T) {
	f, c := listing(t)
	f.faults["ListJobs"] = times(9, says(403, "AccessDeniedException", `{"message":"no"}`))
	_, err := collect(c.List(t.Context(), Filter{}))
	if e, ok := errors.AsType[*RefusedError](err); !ok || e.Code() != "AccessDeniedException" {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ word, want, err string }{
		{idA, idA, ""},
		{idA + ":17", idA + ":17", ""},
		{idA + "#0", idA + "#0", ""},
		{"arn:aws:batch:us-east-1:123456789012:job/" + idB + ":2", idB + ":2", ""},
		{"bbbb", idC, ""},
		{"bbbb3333:1", idC + ":1", ""},
		{"aaaa1111-0000", idA, ""},
		{"train", idB, ""},
		{"train:0", idB + ":0", ""},
		{"Train", idC, ""},
		{"aaaa", "", "fits 2 jobs, write more of it:\n  " + idA + "  train  RUNNING\n  " + idB + "  train  FAILED"},
		{"bbb", "", "no job has the id or the name bbb"},
		{"trian", "", "did you mean Train?"},
		{"nothing-like-it", "", "no job has the id or the name nothing-like-it"},
		{"arn:aws:batch:us-east-1:123456789012:job-queue/cpu", "", "no job has"},
		{"", "", "no job has"},
	} {
		_, client := listing(t)
		got, err := client.Resolve(t.Context(), c.word, nil)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Resolve(%q) = %q, %v, want %q %s", c.word, got, err, c.want, c.err)
		}
	}
}

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
	if len(f.calls) > 0 {
		t.Errorf("the service was asked: %v", f.calls)
	}
	f.jobs[ledger[1].ID] = life("prepare", stage{0, "RUNNING", ""})
	_, err := c.Resolve(t.Context(), "cccc", nil)
	if e, ok := errors.AsType[*AmbiguousIDError](err); !ok || e.Jobs[1].Status != "RUNNING" {
		t.Error(err)
	}
	if got, err := c.Resolve(t.Context(), "bbbb", nil); got != idC || err != nil {
		t.Errorf("not in the ledger: %s, %v", got, err)
	}
	if got, err := c.Resolve(t.Context(), "dddd", nil); err == nil {
		t.Errorf("another target's job was found: %s", got)
	}
}

// TestResolvePart: a child or node that the job does not have is not one that the service has
// forgotten, whether the ledger or the service knows how many there are.
func TestResolvePart(t *testing.T) {
	const array, single, nodes, old = "cccc1111-0000-4000-8000-000000000001", "cccc2222-0000-4000-8000-000000000002", "cccc3333-0000-4000-8000-000000000003", "cccc4444-0000-4000-8000-000000000004"
	f, c := listing(t)
	f.jobs[single] = life("train", stage{0, "RUNNING", ""})
	f.jobs[nodes] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("mpi"), Status: types.JobStatusRunning, NodeProperties: &types.NodeProperties{NumNodes: aws.Int32(2)}}
	}
	f.jobs[idA] = func(time.Duration) *types.JobDetail {
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
		{"old:3", old + ":3", "", ""}, // the service has forgotten it: nothing says that it has no children
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
		{"sweep#1", "", "sweep is an array, and its children are named with a colon", "sweep:0"},
		{"sweep:7#2", "", "only replay takes an attempt after the index", "sweep:7"},
		{"sweep:70#2", "", "no job sweep:70: sweep has children 0 to 9", "sweep:9"},
		{"train:3", "", "no job train:3: train is not an array", "train"},
		{"train:x", "", "no job train:x: train is not an array", "train"},
		{"train#1", "", "no job train#1: train does not have several nodes", "train"},
		{"mpi#2", "", "no job mpi#2: mpi has nodes 0 to 1", "mpi#1"},
		{"mpi:0", "", "mpi has nodes, which are named with #", "mpi#0"},
		{"old:x", "", "\"x\" is not an index", "old:0"},
	} {
		got, err := c.Resolve(t.Context(), w.word, nil)
		part, _ := errors.AsType[*NoSuchPartError](err)
		switch {
		case w.err == "" && (err != nil || got != w.want):
			t.Errorf("Resolve(%q) = %q, %v, want %q", w.word, got, err, w.want)
		case w.err != "" && (part == nil || !strings.Contains(part.Error(), w.err) || part.Use != w.use):
			t.Errorf("Resolve(%q): %v %+v, want %s, %s", w.word, err, part, w.err, w.use)
		}
	}
}

func TestShortID(t *testing.T) {
	for in, want := range map[string]string{idA: "aaaa1111", idA + ":3": "aaaa1111:3", idA + "#0": "aaaa1111#0", "x": "x", "": ""} {
		if got := batch.ShortID(in); got != want {
			t.Errorf("batch.ShortID(%q) = %q, want %q", in, got, want)
		}
	}
}
