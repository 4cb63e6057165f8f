package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTerraformArguments checks that the export has what Terraform's AWS provider reads, with defaults, and no more.
func TestTerraformArguments(t *testing.T) {
	a, _ := engine(t)
	network := object{"scalingPolicy": object{"minScaleDownDelayMinutes": 30}, "tags": object{"team": "a"}, "launchTemplate": object{"launchTemplateName": "x", "version": "$Default",
		"overrides": []object{{"launchTemplateName": "y", "targetInstanceTypes": []string{"c5.large"}}}}, "ec2Configuration": []object{{"imageType": "ECS_AL2023"}}}
	applied(t, a, Options{Owner: "me"}, resources([]string{environment("gpu", network)}, []string{strings.TrimSuffix(queue("gpu", 1, "gpu"), "}") +
		`, "jobStateTimeLimitActions": [{"reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", "state": "RUNNABLE", "maxTimeSeconds": 600, "action": "CANCEL"}]}`},
		`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDecaySeconds": 0, "shareDistribution": [{"shareIdentifier": "a", "weightFactor": 1}]}},
			{"name": "quota", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}]`,
		`"serviceEnvironments": [{"serviceEnvironmentName": "sage", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"maxCapacity": 2, "capacityUnit": "NUM_INSTANCES"}]}]`))
	applied(t, a, Options{}, `{"jobQueues": [{"jobQueueName": "training", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "sage"}]}]}`)
	state, err := a.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := state.Terraform()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"scheduling policy quota: quotaSharePolicy", "service environment sage", "compute environment gpu: computeResources.launchTemplate.overrides",
		"compute environment gpu: computeResources.scalingPolicy", "job queue training"}
	if !slices.Equal(c.Left, want) {
		t.Errorf("left %q", c.Left)
	}
	var config struct{ Resource map[string]map[string]object }
	if err := json.Unmarshal(c.Text, &config); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"aws_batch_compute_environment.gpu": `map[compute_resources:map[ec2_configuration:[map[image_type:ECS_AL2023]] instance_role:ecsInstanceRole instance_type:[c5.large] ` +
			`launch_template:map[launch_template_name:x version:$Default] max_vcpus:4 min_vcpus:0 subnets:[subnet-1] tags:map[team:a] type:EC2] name:gpu state:ENABLED tags:map[batchctl:owner:me] type:MANAGED]`,
		"aws_batch_job_queue.gpu": `map[compute_environment_order:[map[compute_environment:${aws_batch_compute_environment.gpu.arn} order:1]] job_state_time_limit_action:[map[action:CANCEL max_time_seconds:600 ` +
			`reason:CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY state:RUNNABLE]] name:gpu priority:1 state:ENABLED tags:map[batchctl:owner:me]]`,
		"aws_batch_scheduling_policy.fair":  `map[fair_share_policy:map[compute_reservation:0 share_decay_seconds:0 share_distribution:[map[share_identifier:a weight_factor:1]]] name:fair tags:map[batchctl:owner:me]]`,
		"aws_batch_scheduling_policy.quota": `map[name:quota tags:map[batchctl:owner:me]]`,
	} {
		typ, name, _ := strings.Cut(path, ".")
		if got := fmt.Sprint(config.Resource[typ][name]); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestTemplates exports names that are hard in other tools.
func TestTemplates(t *testing.T) {
	a, _ := engine(t)
	applied(t, a, Options{}, resources([]string{environment("gpu", nil), environment("2-old", nil), environment("a-b", nil), environment("a_b", nil)}, []string{queue("gpu", 1, "gpu", "2-old")},
		`"schedulingPolicies": [{"name": "fair", "tags": {"note": "${x} %{y}"}}]`, `"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3}]`))
	state, err := a.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := state.Terraform()
	if err != nil || !slices.Equal(c.Left, []string{"consumable resource licences"}) || c.Resources != 7 {
		t.Errorf("%d resources, left %q, %v", c.Resources, c.Left, err)
	}
	var config struct {
		Resource map[string]map[string]object
		Import   []struct{ To, ID string }
	}
	if err := json.Unmarshal(c.Text, &config); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(config.Resource["aws_batch_compute_environment"]))
	if !slices.Equal(names, []string{"_2_old", "a_b", "a_b_2", "gpu"}) || len(config.Import) != c.Resources {
		t.Errorf("%q, %v", names, config.Import)
	}
	order := fmt.Sprint(config.Resource["aws_batch_job_queue"]["gpu"]["compute_environment_order"])
	if !strings.Contains(order, "${aws_batch_compute_environment.gpu.arn}") || !strings.Contains(order, "${aws_batch_compute_environment._2_old.arn}") {
		t.Error(order)
	}
	if note := fmt.Sprint(config.Resource["aws_batch_scheduling_policy"]["fair"]["tags"]); note != "map[note:$${x} %%{y}]" {
		t.Error(note)
	}
	text, err := state.Template()
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Resources map[string]object }
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	names = slices.Sorted(maps.Keys(template.Resources))
	if want := []string{"2OldComputeEnvironment", "ABComputeEnvironment", "ABComputeEnvironmentX2", "DefaultJobQueue", "FairSchedulingPolicy", "GpuComputeEnvironment", "GpuJobQueue", "LicencesConsumableResource"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
