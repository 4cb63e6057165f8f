package batchapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// described returns an environment as DescribeComputeEnvironments shows it.
func (w *testAPI) described(name string) types.ComputeEnvironmentDetail {
	w.t.Helper()
	out := must(w.t, w.describeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{name}})
	if len(out.ComputeEnvironments) != 1 {
		w.t.Fatal(out)
	}
	return out.ComputeEnvironments[0]
}

// TestDesiredvCpus compares desiredvCpus with what the acceptance tests of Terraform's provider expect of AWS Batch.
func TestDesiredvCpus(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Environment("ec2", types.CRTypeEc2, 4)
	w.Environment("spot", types.CRTypeSpot, 16, func(r *types.ComputeResource) { r.MinvCpus = aws.Int32(2) })
	w.Environment("asked", types.CRTypeEc2, 4, func(r *types.ComputeResource) { r.DesiredvCpus = aws.Int32(0) })
	w.Environment("fargate", types.CRTypeFargate, 4)
	for name, want := range map[string]int32{"ec2": 0, "spot": 2, "asked": 0} {
		if got := w.described(name).ComputeResources.DesiredvCpus; got == nil || *got != want {
			t.Errorf("%s: desiredvCpus %v, want %d", name, got, want)
		}
	}
	if got := w.described("fargate").ComputeResources.DesiredvCpus; got != nil {
		t.Errorf("on Fargate: desiredvCpus %d", *got)
	}
	// An update of the limits moves desiredvCpus into them, and no further.
	for _, step := range []struct{ least, most, want int32 }{{4, 4, 4}, {2, 4, 4}, {0, 2, 2}, {0, 8, 2}} {
		for _, name := range []string{"ec2", "asked"} {
			must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name,
				ComputeResources: &types.ComputeResourceUpdate{MinvCpus: &step.least, MaxvCpus: &step.most}})
			if got := *w.described(name).ComputeResources.DesiredvCpus; got != step.want {
				t.Errorf("%s: desiredvCpus %d with minvCpus %d and maxvCpus %d, want %d", name, got, step.least, step.most, step.want)
			}
		}
	}
	_, err := do(w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("asked"),
		ComputeResources: &types.ComputeResourceUpdate{DesiredvCpus: aws.Int32(9)}})
	refused(t, err, "desiredvCpus should be between minvCpus and maxvCpus.")
}

// TestUpdatePolicyIsKept sets the update policy, which no environment is created with, and restarts the engine.
func TestUpdatePolicyIsKept(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Environment("e", types.CRTypeEc2, 4)
	if p := w.described("e").UpdatePolicy; p != nil {
		t.Errorf("a new environment has the update policy %v", p)
	}
	must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"),
		UpdatePolicy: &types.UpdatePolicy{TerminateJobsOnUpdate: aws.Bool(true), JobExecutionTimeoutMinutes: aws.Int64(60)}})
	must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"), State: types.CEStateDisabled})
	_, err := do(w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"),
		UpdatePolicy: &types.UpdatePolicy{JobExecutionTimeoutMinutes: aws.Int64(0)}})
	refused(t, err, "jobExecutionTimeoutMinutes should be between 1 and 7200.")
	w = w.restart(modeltest.Options{})
	if p := w.described("e").UpdatePolicy; p == nil || !*p.TerminateJobsOnUpdate || *p.JobExecutionTimeoutMinutes != 60 {
		t.Errorf("update policy %v", p)
	}
}

// TestEmptyTextsRemove updates members of an environment with empty texts, which remove them.
func TestEmptyTextsRemove(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Environment("e", types.CRTypeEc2, 4, func(r *types.ComputeResource) {
		//lint:ignore SA1019 clients still send it
		r.Ec2KeyPair, r.ImageId = aws.String("key"), aws.String("ami-1")
		r.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-1"), Version: aws.String("1")}
		r.Ec2Configuration = []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023"), ImageIdOverride: aws.String("ami-2")}}
	})
	before := w.described("e").ComputeResources
	must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"), ComputeResources: &types.ComputeResourceUpdate{
		Ec2KeyPair: aws.String(""), ImageId: aws.String(""),
		LaunchTemplate:   &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(""), Version: aws.String("")},
		Ec2Configuration: []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023"), ImageIdOverride: aws.String("")}}}})
	text, err := wire.Marshal(&awsbatch.DescribeComputeEnvironmentsOutput{ComputeEnvironments: []types.ComputeEnvironmentDetail{w.described("e")}})
	if err != nil || before.LaunchTemplate == nil {
		t.Fatal(before, err)
	}
	for _, member := range []string{"launchTemplate", "ec2KeyPair", "imageId", "imageIdOverride", `""`} {
		if strings.Contains(string(text), member) {
			t.Errorf("%s is there after an empty text removed it: %s", member, text)
		}
	}
}

// TestEmptyVariables runs a job whose definition has a variable with an empty value, and one whose override has it.
func TestEmptyVariables(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	empty := []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("")}, {Name: aws.String("B"), Value: aws.String("b")}}
	must(t, w.registerJobDefinition, modeltest.Definition("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Environment = slices.Clone(empty)
	}))
	names := func(list []types.KeyValuePair) (text string) {
		for _, v := range list {
			text += *v.Name
		}
		return text
	}
	out := must(t, w.describeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("work")})
	if got := names(out.JobDefinitions[0].ContainerProperties.Environment); got != "B" {
		t.Errorf("the definition has the variables %s, want B", got)
	}
	plain := w.Submit("work")
	override := w.submit("work", func(in *awsbatch.SubmitJobInput) {
		in.ContainerOverrides = &types.ContainerOverrides{Environment: empty}
	})
	w.Idle()
	if got := names(w.job(plain).Container.Environment); got != "B" {
		t.Errorf("the job has the variables %s, want B", got)
	}
	if got := names(w.job(override).Container.Environment); len(got) != 2 {
		t.Errorf("the job with overrides has the variables %s, want A and B", got)
	}
}
