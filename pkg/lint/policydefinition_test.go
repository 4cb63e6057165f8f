//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API

package lint

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// A required value that no reader can see, or an empty timeout, does not satisfy the policy. A placeholder elsewhere in
// the job does not hide that.
func TestPolicyNeedsContent(t *testing.T) {
	platform := &document.Platform{Policy: document.Policy{RequiredTags: []string{"Team"}, MaxTimeout: 3600}}
	const tag, timeout = "policy-required-tags", "policy-max-timeout"
	for name, c := range map[string]struct {
		job  string
		want []string
	}{
		"a value":            {`"name": "a", "tags": { "Team": "x" }, "timeout": "1h"`, nil},
		"empty":              {`"name": "a", "tags": { "Team": "" }, "timeout": "1h"`, []string{tag}},
		"blanks":             {`"name": "a", "tags": { "Team": " \t" }, "timeout": "1h"`, []string{tag}},
		"no-break space":     {`"name": "a", "tags": { "Team": "\u00a0" }, "timeout": "1h"`, []string{tag}},
		"zero width":         {`"name": "a", "tags": { "Team": "\u200b" }, "timeout": "1h"`, []string{tag}},
		"placeholder in it":  {`"name": "a", "tags": { "Team": "<team>" }, "timeout": "1h"`, nil},
		"placeholder: name":  {`"name": "a<b>"`, []string{tag, timeout}},
		"placeholder: image": {`"name": "a", "jobRoleArn": "<role>"`, []string{tag, timeout}},
	} {
		var rules []string
		for _, d := range Settle(foundOf(t, `{ `+c.job+`, "image": "registry.example.com/a:1", "command": ["a"], "resources": { "vcpus": 1, "memory": "1 GiB" } }`, platform)) {
			if d.Rule == tag || d.Rule == timeout {
				rules = append(rules, d.Rule)
			}
		}
		if d := cmp.Diff(c.want, rules); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	empty := `{ "jobDefinitionName": "a", "type": "container", "tags": { "Team": "x" }, "timeout": {},
		"containerProperties": { "image": "registry.example.com/a:1", "command": ["a"], "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "64" }] } }`
	if found := byRule(foundOf(t, empty, platform), timeout); len(found) != 1 {
		t.Errorf("an empty timeout: %v", found)
	}
}

// The policy holds for what runs: the definition of the target with the overrides of the submission.
func TestDefinitionPolicy(t *testing.T) {
	gpus := 0
	all := document.Policy{AllowedImages: []string{"good.example/*"}, DenyLatestTag: true, MaxMemoryMiB: 1024, MaxvCpus: 2, MaxGPUs: &gpus, MaxTimeout: 3600, MaxAttempts: 2,
		AllowedJobRoles: []string{"batch-*"}, AllowedExecutionRoles: []string{"exec"}}
	evil := types.JobDefinition{JobDefinitionName: aws.String("d"), Revision: aws.Int32(3), Type: aws.String("container"),
		ContainerProperties: &types.ContainerProperties{Image: aws.String("evil.example/x"), Vcpus: aws.Int32(4), Memory: aws.Int32(2048), JobRoleArn: aws.String("arn:aws:iam::123456789012:role/admin"),
			ExecutionRoleArn: aws.String("arn:aws:iam::123456789012:role/other"), ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeGpu, Value: aws.String("1")}}},
		Timeout: &types.JobTimeout{AttemptDurationSeconds: aws.Int32(7200)}, RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(5)}}
	pod := types.JobDefinition{JobDefinitionName: aws.String("p"), Revision: aws.Int32(1), Type: aws.String("container"), Timeout: &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)},
		EksProperties: &types.EksProperties{PodProperties: &types.EksPodProperties{Containers: []types.EksContainer{{Name: aws.String("c"), Image: aws.String("evil.example/x:1"),
			Resources: &types.EksContainerResourceRequirements{Limits: map[string]string{"cpu": "1", "memory": "64Mi"}}}}}}}
	registered := map[string]plan.Registered{"d:3": {Named: &evil}, "d": {Named: &evil}, "p:1": {Named: &pod}, "denied": {Err: "access denied"}, "gone": {}}
	for name, c := range map[string]struct {
		policy   document.Policy
		submit   string
		problems []string
		unknown  []string
	}{
		"every rule": {all, `"jobDefinition": "d:3"`, []string{"policy-allowed-execution-roles", "policy-allowed-images", "policy-allowed-job-roles", "policy-latest-tag", "policy-max-attempts",
			"policy-max-gpus", "policy-max-memory", "policy-max-timeout", "policy-max-vcpus"}, nil},
		"overrides that help": {document.Policy{MaxMemoryMiB: 1024, MaxTimeout: 3600, MaxAttempts: 2}, `"jobDefinition": "d:3", "timeout": { "attemptDurationSeconds": 60 }, "retryStrategy": { "attempts": 1 },
			"containerOverrides": { "resourceRequirements": [{ "type": "MEMORY", "value": "512" }] }`, nil, nil},
		"an image that the submission replaces": {document.Policy{AllowedImages: []string{"good.example/*"}}, `"jobDefinition": "p:1",
			"eksPropertiesOverride": { "podProperties": { "containers": [{ "name": "c", "image": "good.example/x:1" }] } }`, nil, nil},
		"an image that it keeps": {document.Policy{AllowedImages: []string{"good.example/*"}}, `"jobDefinition": "p:1"`, []string{"policy-allowed-images"}, nil},
		"a name without revision": {document.Policy{MaxMemoryMiB: 4096}, `"jobDefinition": "d"`, nil,
			[]string{`memory of later revisions of the job definition d, which may run; revision 3 is checked: to run no other, write "d:3"`}},
		"an ARN":               {document.Policy{MaxGPUs: &gpus}, `"jobDefinition": "arn:aws:batch:us-east-1:123456789012:job-definition/d:3"`, []string{"policy-max-gpus"}, nil},
		"no permission":        {document.Policy{MaxMemoryMiB: 1}, `"jobDefinition": "denied"`, nil, []string{"memory of the job definition denied: access denied"}},
		"none":                 {document.Policy{MaxMemoryMiB: 1}, `"jobDefinition": "gone"`, nil, []string{"memory of the job definition gone: no such definition"}},
		"no rule for it":       {document.Policy{RequiredTags: []string{"Team"}, MaxTimeout: 9}, `"jobDefinition": "gone", "timeout": { "attemptDurationSeconds": 60 }`, nil, nil},
		"a rule and its parts": {all, `"jobDefinition": "gone", "timeout": { "attemptDurationSeconds": 60 }`, nil, []string{"image, vCPUs, memory, GPUs, job role, execution role and attempts of the job definition gone: no such definition"}},
	} {
		platform := &document.Platform{Policy: c.policy}
		f, _ := document.Load(diag.NewSource("job.json", `{ "jobName": "j", "jobQueue": "q", `+c.submit+` }`), document.Options{Kind: document.KindSubmitJob, Platform: platform})
		found, left := DefinitionPolicy([]*document.File{f}, platform, registered, "")
		var rules, unknown []string
		found.Sort()
		for _, d := range found {
			rules = append(rules, d.Rule)
		}
		for _, u := range left {
			unknown = append(unknown, u.String())
		}
		if d := cmp.Diff(c.problems, sortedUnique(rules)); d != "" {
			t.Errorf("%s: problems %s", name, d)
		}
		if d := cmp.Diff(c.unknown, unknown); d != "" {
			t.Errorf("%s: unknown %s", name, d)
		}
	}
}

// sortedUnique returns each of the texts once, in order; nil for none.
func sortedUnique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
