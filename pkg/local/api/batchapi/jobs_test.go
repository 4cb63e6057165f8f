package batchapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestStopOfNothing checks that Batch answers 200 for any text that names no job, and so does the engine, with
// a notice.
func TestStopOfNothing(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	missing := call.NewID()
	for _, id := range []string{missing, "work", missing + ":", missing + ":01", missing + "#x", "arn:aws:batch:local:000000000000:job/work"} {
		_, notice, err := w.send("CancelJob", `{"jobId": "`+id+`", "reason": "x"}`)
		want := "AWS Batch accepts this silently; no such job exists: " + strings.TrimPrefix(id, "arn:aws:batch:local:000000000000:job/")
		if err != nil || notice != want {
			t.Errorf("%s: %v, notice %q, want %q", id, err, notice, want)
		}
	}
}

// TestDescriptionsAreComplete checks the members that Batch always shows, even if the request had
// none.
func TestDescriptionsAreComplete(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Register("plain", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = nil
		in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(1), EvaluateOnExit: []types.EvaluateOnExit{{Action: "Exit", OnReason: aws.String("x")}}}
	})
	d := must(t, w.describeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("plain")}).JobDefinitions[0]
	c := d.ContainerProperties
	if d.Parameters == nil || d.Tags == nil || c.Command == nil || c.Environment == nil || c.Secrets == nil || c.Volumes == nil ||
		d.RetryStrategy.EvaluateOnExit[0].Action != "exit" || c.FargatePlatformConfiguration != nil {
		t.Errorf("definition %+v, container %+v", d, c)
	}
	w.Register("work", "1", "64")
	id := w.Submit("work")
	w.Idle()
	cluster := "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local"
	if j := w.job(id); aws.ToString(j.Container.ContainerInstanceArn) != cluster || aws.ToString(j.Attempts[0].Container.ContainerInstanceArn) != cluster {
		t.Errorf("container instance %v", aws.ToString(j.Container.ContainerInstanceArn))
	}
	policy := must(t, w.createSchedulingPolicy, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("even")})
	described := must(t, w.describeSchedulingPolicies, &awsbatch.DescribeSchedulingPoliciesInput{Arns: []string{*policy.Arn}})
	if s := described.SchedulingPolicies[0].FairsharePolicy; s == nil || *s.ComputeReservation != 0 || *s.ShareDecaySeconds != 0 || s.ShareDistribution == nil {
		t.Errorf("policy %+v", described.SchedulingPolicies[0])
	}
}

func TestDefinitions(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	for range 3 {
		w.Register("b", "1", "64")
	}
	w.Register("a", "1", "64")
	must(t, w.deregisterJobDefinition, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("b:3")})
	find := func(in *awsbatch.DescribeJobDefinitionsInput) string {
		t.Helper()
		var found []string
		if len(in.JobDefinitions) == 0 { // AWS Batch rejects both
			in.MaxResults = aws.Int32(2)
		}
		for more := true; more; more = in.NextToken != nil {
			out := must(t, w.describeJobDefinitions, in)
			in.NextToken = out.NextToken
			for _, d := range out.JobDefinitions {
				found = append(found, fmt.Sprintf("%s:%d %s", *d.JobDefinitionName, *d.Revision, *d.Status))
			}
		}
		return strings.Join(found, ", ")
	}
	for _, c := range []struct {
		in   awsbatch.DescribeJobDefinitionsInput
		want string
	}{
		{awsbatch.DescribeJobDefinitionsInput{}, "a:1 ACTIVE, b:3 INACTIVE, b:2 ACTIVE, b:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("b"), Status: aws.String("ACTIVE")}, "b:2 ACTIVE, b:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{Status: aws.String("INACTIVE")}, "b:3 INACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"b:1", model.ARN("job-definition", "a:1"), "c:1"}}, "b:1 ACTIVE, a:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"b:2", "b:3"}, Status: aws.String("ACTIVE")}, "b:2 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("c")}, ""},
	} {
		if got := find(&c.in); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	used := func(definition string) string {
		return *w.job(w.submit(definition)).JobDefinition
	}
	for definition, want := range map[string]string{
		"b": "b:2", "b:1": "b:1", model.ARN("job-definition", "b"): "b:2", model.ARN("job-definition", "b:1"): "b:1"} {
		if got := used(definition); got != model.ARN("job-definition", want) {
			t.Errorf("%s means %s, want %s", definition, got, want)
		}
	}
	_, err := do(w.submitJob, modeltest.Request("b:3"))
	refused(t, err, "JobDefinition name b:3 does not exist or is not in ACTIVE status.")
	w.Register("b", "1", "64")
	if got := used("b"); got != model.ARN("job-definition", "b:4") {
		t.Errorf("after another registration b means %s, want b:4: revisions are not used again", got)
	}
	w.Idle()
}

func TestOverrides(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Register("work", "1", "64", func(r *awsbatch.RegisterJobDefinitionInput) {
		r.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("A", "1"), attempt.Variable("B", "2")}
		r.Parameters = map[string]string{"x": "1", "y": "2"}
	})
	d := w.job(w.Submit("work", func(r *awsbatch.SubmitJobInput) {
		r.Parameters = map[string]string{"y": "3"}
		r.Tags = map[string]string{"team": "a"}
		r.ContainerOverrides = &types.ContainerOverrides{
			Environment:          []types.KeyValuePair{attempt.Variable("B", "3"), attempt.Variable("C", "4")},
			ResourceRequirements: []types.ResourceRequirement{{Type: "MEMORY", Value: aws.String("128")}},
			//lint:ignore SA1019 it has no effect beside a resourceRequirement
			Vcpus: aws.Int32(64), // without effect, as at AWS: the definition has a resourceRequirement
		}
	}))
	var env, need []string
	for _, v := range d.Container.Environment {
		env = append(env, *v.Name+"="+*v.Value)
	}
	for _, r := range d.Container.ResourceRequirements {
		need = append(need, string(r.Type)+"="+*r.Value)
	}
	if got := fmt.Sprint(env, need, d.Parameters, d.Tags, *d.Container.Image); got != "[A=1 B=3 C=4] [VCPU=1 MEMORY=128] map[x:1 y:3] map[team:a]busybox:1" {
		t.Errorf("got %s", got)
	}
	w.Idle()
}
