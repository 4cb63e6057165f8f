//lint:file-ignore SA1019 the deprecated member imageId is part of the API that is served

package local

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// described returns an environment as DescribeComputeEnvironments shows it.
func (w *testEngine) described(name string) types.ComputeEnvironmentDetail {
	w.t.Helper()
	out, err := w.DescribeComputeEnvironments(w.t.Context(), &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{name}})
	if err != nil || len(out.ComputeEnvironments) != 1 {
		w.t.Fatal(out, err)
	}
	return out.ComputeEnvironments[0]
}

// TestDesiredvCpus compares desiredvCpus with what the acceptance tests of Terraform's provider expect of AWS Batch.
func TestDesiredvCpus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.environment("ec2", types.CRTypeEc2, 4)
		w.environment("spot", types.CRTypeSpot, 16, func(r *types.ComputeResource) { r.MinvCpus = aws.Int32(2) })
		w.environment("asked", types.CRTypeEc2, 4, func(r *types.ComputeResource) { r.DesiredvCpus = aws.Int32(0) })
		w.environment("fargate", types.CRTypeFargate, 4)
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
				w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name,
					ComputeResources: &types.ComputeResourceUpdate{MinvCpus: &step.least, MaxvCpus: &step.most}})
				if got := *w.described(name).ComputeResources.DesiredvCpus; got != step.want {
					t.Errorf("%s: desiredvCpus %d with minvCpus %d and maxvCpus %d, want %d", name, got, step.least, step.most, step.want)
				}
			}
		}
		_, err := w.UpdateComputeEnvironment(t.Context(), &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("asked"),
			ComputeResources: &types.ComputeResourceUpdate{DesiredvCpus: aws.Int32(9)}})
		refused(t, err, "desiredvCpus should be between minvCpus and maxvCpus.")
	})
}

// TestUpdatePolicyIsKept sets the update policy, which no environment is created with, and restarts the engine.
func TestUpdatePolicyIsKept(t *testing.T) {
	dir := t.TempDir() + "/state"
	w := open(t, Options{Dir: dir})
	w.environment("e", types.CRTypeEc2, 4)
	if p := w.described("e").UpdatePolicy; p != nil {
		t.Errorf("a new environment has the update policy %v", p)
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"),
		UpdatePolicy: &types.UpdatePolicy{TerminateJobsOnUpdate: aws.Bool(true), JobExecutionTimeoutMinutes: aws.Int64(60)}})
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"), State: types.CEStateDisabled})
	_, err := w.UpdateComputeEnvironment(t.Context(), &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"),
		UpdatePolicy: &types.UpdatePolicy{JobExecutionTimeoutMinutes: aws.Int64(0)}})
	refused(t, err, "jobExecutionTimeoutMinutes should be between 1 and 7200.")
	w = w.restart(dir, Options{})
	if p := w.described("e").UpdatePolicy; p == nil || !*p.TerminateJobsOnUpdate || *p.JobExecutionTimeoutMinutes != 60 {
		t.Errorf("update policy %v", p)
	}
}

// TestEmptyTextsRemove updates members of an environment with empty texts, which remove them.
func TestEmptyTextsRemove(t *testing.T) {
	w := open(t, Options{})
	w.environment("e", types.CRTypeEc2, 4, func(r *types.ComputeResource) {
		r.Ec2KeyPair, r.ImageId = aws.String("key"), aws.String("ami-1")
		r.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-1"), Version: aws.String("1")}
		r.Ec2Configuration = []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023"), ImageIdOverride: aws.String("ami-2")}}
	})
	before := w.described("e").ComputeResources
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e"), ComputeResources: &types.ComputeResourceUpdate{
		Ec2KeyPair: aws.String(""), ImageId: aws.String(""),
		LaunchTemplate:   &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(""), Version: aws.String("")},
		Ec2Configuration: []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023"), ImageIdOverride: aws.String("")}}}})
	text, err := shapeText(&awsbatch.DescribeComputeEnvironmentsOutput{ComputeEnvironments: []types.ComputeEnvironmentDetail{w.described("e")}})
	if err != nil || before.LaunchTemplate == nil {
		t.Fatal(before, err)
	}
	for _, member := range []string{"launchTemplate", "ec2KeyPair", "imageId", "imageIdOverride", `""`} {
		if strings.Contains(text, member) {
			t.Errorf("%s is there after an empty text removed it: %s", member, text)
		}
	}
}

// TestContainersHaveLists describes each kind of definition and job. Clients read the lists of containers without
// checking that they are there: AWS Batch shows empty ones.
func TestContainersHaveLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := emptyEngine(t, Options{})
		lists := []string{"command", "environment", "mountPoints", "resourceRequirements", "secrets", "ulimits"}
		count := 0
		var check func(value any, path string)
		check = func(value any, path string) {
			switch v := value.(type) {
			case map[string]any:
				if v["image"] != nil && v["imagePullPolicy"] == nil && !strings.Contains(path, "eksProperties") {
					count++
					for _, name := range lists {
						if _, ok := v[name].([]any); !ok {
							t.Errorf("%s has no %s", path, name)
						}
					}
				}
				for name, member := range v {
					check(member, path+"."+name)
				}
			case []any:
				for _, e := range v {
					check(e, path)
				}
			}
		}
		task := w.submit("task")
		w.idle()
		for operation, body := range map[string]string{"DescribeJobDefinitions": `{}`, "DescribeJobs": w.fill(`{"jobs": ["JOB", "NODES", "` + task + `"]}`)} {
			status, text := w.send(operation, body)
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil || status != http.StatusOK {
				t.Fatal(status, text, err)
			}
			check(value, operation)
		}
		if count < 6 {
			t.Errorf("only %d containers were found", count)
		}
	})
}

// TestEmptyVariables runs a job whose definition has a variable with an empty value, and one whose override has it.
func TestEmptyVariables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		empty := []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("")}, {Name: aws.String("B"), Value: aws.String("b")}}
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Environment = slices.Clone(empty)
		})
		names := func(list []types.KeyValuePair) (text string) {
			for _, v := range list {
				text += *v.Name
			}
			return text
		}
		out, err := w.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("work")})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(out.JobDefinitions[0].ContainerProperties.Environment); got != "B" {
			t.Errorf("the definition has the variables %s, want B", got)
		}
		plain := w.submit("work")
		override := w.submit("work", func(in *awsbatch.SubmitJobInput) {
			in.ContainerOverrides = &types.ContainerOverrides{Environment: empty}
		})
		w.idle()
		if got := names(w.job(plain).Container.Environment); got != "B" {
			t.Errorf("the job has the variables %s, want B", got)
		}
		if got := names(w.job(override).Container.Environment); len(got) != 2 {
			t.Errorf("the job with overrides has the variables %s, want A and B", got)
		}
	})
}
