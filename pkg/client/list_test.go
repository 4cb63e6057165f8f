package client

import (
	"errors"
	"strings"
	"testing"

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
		{"aaaa", "", "matches 2 jobs, write more digits:\n  " + idA + "  train  RUNNING\n  " + idB + "  train  FAILED"},
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

func TestShortID(t *testing.T) {
	for in, want := range map[string]string{idA: "aaaa1111", idA + ":3": "aaaa1111:3", idA + "#0": "aaaa1111#0", "x": "x", "": ""} {
		if got := batch.ShortID(in); got != want {
			t.Errorf("batch.ShortID(%q) = %q, want %q", in, got, want)
		}
	}
}
