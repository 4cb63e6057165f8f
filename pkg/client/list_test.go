package client

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

const (
	idA = clienttest.IDA
	idB = clienttest.IDB
	idC = clienttest.IDC
)

func listing(t *testing.T) (*clienttest.Fake, *Client) {
	f := clienttest.Listing(t)
	return f, New(f.Config())
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
	f.Faults["ListJobs"] = clienttest.Times(9, clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`))
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
		{"aaaa", "", "matches 2 jobs; write more digits:\n  " + idB + "  train  FAILED"},
		{"bbb", "", "no job or workflow has the id or name bbb"},
		{"trian", "", "did you mean Train?"},
		{"nothing-like-it", "", "no job or workflow has the id or name nothing-like-it"},
		{"arn:aws:batch:us-east-1:123456789012:job-queue/cpu", "", "no job or workflow has"},
		{"", "", "no job or workflow has"},
	} {
		_, client := listing(t)
		got, err := client.Resolve(t.Context(), c.word, nil)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Resolve(%q) = %q, %v, want %q %s", c.word, got, err, c.want, c.err)
		}
	}
}

// TestFindByTags checks that a workflow, its submissions and the submission ids of jobs are found at
// the service by the tags and names of jobs, without a memory.
func TestFindByTags(t *testing.T) {
	const sent = "7f3c1d2e-1111-4222-8333-444455556666"
	workflow := func(f *clienttest.Fake, name string, n, jobs int, run string) {
		for i := range jobs {
			id := clienttest.TestID(n + i)
			f.Listed = append(f.Listed, clienttest.Listed(id, fmt.Sprintf("step-%d", i), "cpu", "RUNNING", int64(1000*n+i)))
			f.Jobs[id] = func(time.Duration) *types.JobDetail {
				return &types.JobDetail{JobName: aws.String(fmt.Sprintf("step-%d", i)), CreatedAt: aws.Int64(int64(1000*n + i)), Status: "RUNNING",
					Tags: map[string]string{WorkflowTag: TagText(name), RunTag: run}}
			}
		}
	}
	ids := func(from, n int) (ids []string) {
		for i := range n {
			ids = append(ids, clienttest.TestID(from+i))
		}
		return ids
	}
	for _, c := range []struct {
		handle string
		want   []string // of Newest
		whole  []string // of Submission
		err    string
	}{
		{"recon", ids(200, 3), ids(200, 3), ""},
		{"other: v2", ids(300, 2), ids(300, 2), ""},
		{"beef0001", ids(100, 3), ids(100, 3), ""},
		{"beef", ids(200, 3), ids(200, 3), ""},
		{"step-2", ids(202, 1), ids(200, 3), ""},
		{clienttest.TestID(101), ids(101, 1), ids(100, 3), ""},
		{sent, []string{clienttest.TestID(400)}, []string{clienttest.TestID(400)}, ""},
		{"7f3c1d2e-9999-4222-8333-444455556666", []string{"7f3c1d2e-9999-4222-8333-444455556666"}, []string{"7f3c1d2e-9999-4222-8333-444455556666"}, ""},
		{"single", []string{clienttest.TestID(400)}, []string{clienttest.TestID(400)}, ""},
		{"recno", nil, nil, "did you mean recon?"},
		{"recon:1", nil, nil, "recon is a submission of 3 jobs: step-0 000000c8, step-1 000000c9, step-2 000000ca"},
	} {
		f := clienttest.New(t)
		f.Queues = []string{"cpu"}
		workflow(f, "recon", 100, 3, "beef0001")
		workflow(f, "recon", 200, 3, "beef0002")
		workflow(f, "other: v2", 300, 2, "cafe0003")
		// moto lists children beside their array.
		f.Listed = append(f.Listed, clienttest.Listed(clienttest.TestID(202)+":1", "step-2", "cpu", "RUNNING", 999_000))
		f.Listed = append(f.Listed, clienttest.Listed(clienttest.TestID(400), JobName("single", sent), "cpu", "RUNNING", 500))
		client := New(f.Config())
		m, err := client.Find(t.Context(), c.handle, nil)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Find(%q): %v, want %q", c.handle, err, c.err)
			}
			continue
		}
		jobs, _ := m.Newest()
		run, err := client.Submission(t.Context(), m, nil)
		if got := idsOf(jobs); !slices.Equal(got, c.want) {
			t.Errorf("Find(%q) = %q, want %q", c.handle, got, c.want)
		}
		if got := idsOf(run); !slices.Equal(got, c.whole) || err != nil {
			t.Errorf("the submission of %q is %q, %v, want %q", c.handle, got, err, c.whole)
		}
	}
}

func idsOf(jobs []Known) (ids []string) {
	for _, k := range jobs {
		ids = append(ids, k.ID)
	}
	return ids
}

// TestFindSaysWhatIsNotSearched checks that a miss among many jobs does not claim that no such
// workflow exists.
func TestFindSaysWhatIsNotSearched(t *testing.T) {
	f := clienttest.New(t)
	f.Queues = []string{"cpu"}
	for i := range mostTagged + 7 {
		f.Listed = append(f.Listed, clienttest.Listed(clienttest.TestID(i), "job", "cpu", "RUNNING", int64(i)))
	}
	_, err := New(f.Config()).Find(t.Context(), "recon", nil)
	if e, ok := errors.AsType[*NoSuchJobError](err); !ok || e.Unsearched != 7 || !strings.Contains(e.Error(), "not checked: whether one of the 7 oldest jobs") {
		t.Error(err)
	}
}

func TestTagText(t *testing.T) {
	for in, want := range map[string]string{"recon": "recon", "räume 2: v+1/@=.-_": "räume 2: v+1/@=.-_", "a\tb\n(c)*": "a_b__c__",
		strings.Repeat("ü", 300): strings.Repeat("ü", 256), "": ""} {
		if got := TagText(in); got != want {
			t.Errorf("TagText(%q) = %q, want %q", in, got, want)
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

// collect drains a sequence up to its first error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}
