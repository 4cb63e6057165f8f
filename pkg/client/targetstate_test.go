package client

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/plan"
)

// twoJobs returns a plan that registers one definition and submits a job of it, and a job of a
// revision of another definition.
func twoJobs() *plan.Plan {
	return &plan.Plan{Jobs: []*plan.Job{
		{Name: "a", Register: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("train")},
			Submit: &awsbatch.SubmitJobInput{JobQueue: aws.String("cpu"), JobDefinition: aws.String("train"), JobName: aws.String("a")}},
		{Name: "b", Submit: &awsbatch.SubmitJobInput{JobQueue: aws.String("cpu"), JobDefinition: aws.String("old:1"), JobName: aws.String("b")}},
	}}
}

func TestWorld(t *testing.T) {
	f, c := newFake(t)
	f.Queues = []string{"cpu", "gpu"}
	p := twoJobs()
	for _, in := range []*awsbatch.RegisterJobDefinitionInput{
		{JobDefinitionName: aws.String("old")}, {JobDefinitionName: aws.String("old"), Type: "container"},
		{JobDefinitionName: aws.String("train"), Type: "container"},
	} {
		if _, err := f.Register(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	w := c.TargetState(t.Context(), p)
	train, old := w.Definitions["train"], w.Definitions["old:1"]
	switch {
	case w.Unreached != "" || w.QueuesErr != "" || w.EnvironmentsErr != "":
		t.Errorf("not read: %+v", w)
	case w.Region != "us-east-1":
		t.Errorf("Region %q", w.Region)
	case train.Newest == nil || *train.Newest.Revision != 1 || train.Same != nil:
		t.Errorf("train: %+v", train)
	case old.Named == nil || *old.Named.Revision != 1 || *old.Newest.Revision != 2:
		t.Errorf("old: %+v", old)
	}
	hash, err := ContentHash(p.Jobs[0].Register)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Register(t.Context(), WithHash(p.Jobs[0].Register, hash)); err != nil {
		t.Fatal(err)
	}
	if same := c.TargetState(t.Context(), p).Definitions["train"].Same; same == nil || *same.Revision != 2 {
		t.Errorf("the revision with this content: %+v", same)
	}
	for _, call := range f.Calls {
		if !strings.HasPrefix(call, "Describe") {
			t.Errorf("%s is no reading", call)
		}
	}
}

// TestTargetStateDenied checks that parts that the account is not allowed to read are reported,
// and that the others are read.
func TestTargetStateDenied(t *testing.T) {
	f, c := newFake(t)
	f.Queues = []string{"cpu"}
	f.Faults["DescribeJobDefinitions"] = []clienttest.Fault{clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`), clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`)}
	w := c.TargetState(t.Context(), twoJobs())
	if w.Unreached != "" || len(w.Queues) != 1 || w.QueuesErr != "" {
		t.Errorf("%+v", w)
	}
	for name, d := range w.Definitions {
		if !strings.Contains(d.Err, "refused: AccessDeniedException: no") {
			t.Errorf("%s: %q", name, d.Err)
		}
	}
}

// TestTargetStateInTime checks that a target that never answers takes no more than the given
// time, and is reported with a single reason.
func TestTargetStateInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := httpFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c := New(aws.Config{Region: "us-east-1", HTTPClient: silent, Credentials: aws.AnonymousCredentials{}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		w := c.TargetState(ctx, twoJobs())
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if w.Unreached != "describe job queues: no answer in time" {
			t.Errorf("not reached: %q", w.Unreached)
		}
	})
}

// httpFunc is an HTTP client.
type httpFunc func(*http.Request) (*http.Response, error)

func (f httpFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
