package batchapi

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// validRequests are requests that the API accepts after accountOf.
var validRequests = map[string]string{
	"RegisterJobDefinition": `{"jobDefinitionName": "new", "type": "container", "containerProperties": {"image": "busybox", ` + amounts("1", "64") + `}}`,
	"SubmitJob":             `{"jobName": "job", "jobQueue": "default", "jobDefinition": "work"}`,
	"CreateComputeEnvironment": `{"computeEnvironmentName": "new", "type": "MANAGED", "computeResources": {"type": "EC2", "minvCpus": 0, "maxvCpus": 2,
		"instanceTypes": ["optimal"], "instanceRole": "ecsInstanceRole", "subnets": ["subnet-1"]}}`,
	"CreateJobQueue":         `{"jobQueueName": "new", "priority": 1, "computeEnvironmentOrder": [{"order": 0, "computeEnvironment": "ec2"}]}`,
	"CreateSchedulingPolicy": `{"name": "new"}`,
}

// amounts returns the member resourceRequirements.
func amounts(vcpus, memory string) string {
	return `"resourceRequirements": [{"type": "VCPU", "value": "` + vcpus + `"}, {"type": "MEMORY", "value": "` + memory + `"}]`
}

// patched returns a JSON object with the members of another one (RFC 7386).
func patched(t *testing.T, text, patch string) string {
	t.Helper()
	var tree, change any
	for text, v := range map[string]*any{text: &tree, patch: &change} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	var merge func(tree, change any) any
	merge = func(tree, change any) any {
		members, ok := change.(map[string]any)
		if !ok {
			return change
		}
		all, _ := tree.(map[string]any)
		all = maps.Clone(all)
		if all == nil {
			all = map[string]any{}
		}
		for name, v := range members {
			if v == nil {
				delete(all, name)
			} else {
				all[name] = merge(all[name], v)
			}
		}
		return all
	}
	out, err := json.Marshal(merge(tree, change))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// accountOf returns an API with what the requests name, and the ids of a job and an array that have ended.
func accountOf(t *testing.T) (w *testAPI, one, pair string) {
	w = newAPI(t, modeltest.Options{})
	w.Register("work", "1", "64")
	for _, name := range []string{"ec2", "b", "c", "d"} {
		w.Environment(name, types.CRTypeEc2, 4)
	}
	w.Environment("graviton", types.CRTypeEc2, 1, func(r *types.ComputeResource) { r.InstanceTypes = []string{"m6g.large"} })
	w.Environment("fargate", types.CRTypeFargate, 4)
	w.Queue("main", []string{"ec2"})
	for operation, body := range map[string]string{
		"RegisterJobDefinition":    `{"jobDefinitionName": "refers", "type": "container", "containerProperties": {"image": "busybox", "command": ["echo", "Ref::who"], ` + amounts("1", "64") + `}}`,
		"CreateComputeEnvironment": `{"computeEnvironmentName": "ours", "type": "UNMANAGED", "serviceRole": "arn:aws:iam::000000000000:role/batch", "unmanagedvCpus": 2}`,
		"CreateConsumableResource": `{"consumableResourceName": "credit"}`,
	} {
		w.must(operation, body)
	}
	w.must("RegisterJobDefinition", `{"jobDefinitionName": "nodes", "type": "multinode", "nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [
		{"targetNodes": "0:", "container": {"image": "busybox", "command": ["true"], "vcpus": 1, "memory": 64}}]}}`)
	one, pair = w.Submit("work"), w.Submit("work", modeltest.Array(2))
	return w, one, pair
}

// TestRefusals changes a valid request, so that AWS Batch rejects it. A request of an operation without a valid one is
// sent unchanged.
func TestRefusals(t *testing.T) {
	w, one, pair := accountOf(t)
	const framed = "Error executing request, Exception : "
	const register, submit, environment, queue, policy = "RegisterJobDefinition", "SubmitJob", "CreateComputeEnvironment", "CreateJobQueue", "CreateSchedulingPolicy"
	container := func(members string) string { return `{"containerProperties": {` + members + `}}` }
	exit := func(members string) string {
		return `{"retryStrategy": {"attempts": 2, "evaluateOnExit": [{` + members + `}]}}`
	}
	resources := func(members string) string { return `{"computeResources": {` + members + `}}` }
	order := func(names ...string) string {
		text, err := json.Marshal(modeltest.Order(names...))
		if err != nil {
			t.Fatal(err)
		}
		return `{"computeEnvironmentOrder": ` + strings.NewReplacer("ComputeEnvironment", "computeEnvironment", "Order", "order").Replace(string(text)) + `}`
	}
	limit := `{"action": "CANCEL", "maxTimeSeconds": 600, "reason": "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE", "state": "RUNNABLE"}`
	limits := func(list ...string) string { return `{"jobStateTimeLimitActions": [` + strings.Join(list, ", ") + `]}` }
	depends := func(members string) string { return `{"dependsOn": [{` + members + `}]}` }
	share := func(id, weight string) string {
		return `{"shareIdentifier": "` + id + `", "weightFactor": ` + weight + `}`
	}
	fair := func(members string) string { return `{"fairsharePolicy": {` + members + `}}` }
	none := model.ARN(model.KindPolicy, "none")
	missing, long := call.NewID(), strings.Repeat("x", 31<<10)
	for _, c := range [][3]string{
		{register, `{"jobDefinitionName": "a b"}`, framed + "Job definition name should match a valid pattern"},
		{register, `{"jobDefinitionName": "` + strings.Repeat("a", 129) + `"}`, framed + "Job definition name should match a valid pattern"},
		{register, `{"type": "task"}`, `Job definition type "task" is not valid. Valid types: [container, multinode]`},
		{register, `{"type": "multinode"}`, framed + "Node properties of multinode job is required"},
		{register, `{"type": "multinode", "containerProperties": null, "platformCapabilities": ["FARGATE"], "nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [
			{"targetNodes": "0:", "container": {"image": "busybox", ` + amounts("1", "64") + `}}]}}`, framed + "Fargate does not support MNP jobs"},
		{register, `{"eksProperties": {"podProperties": {"hostNetwork": true}}}`, "Cannot use both ECS containerProperties and eksProperties"},
		{register, `{"containerProperties": null, "eksProperties": {"podProperties": {"hostNetwork": true}}}`, "Containers must be provided for Batch on EKS jobs."},
		{register, `{"ecsProperties": {"taskProperties": []}}`, framed + "Cannot use both ECS containerProperties and ecsProperties"},
		{register, `{"consumableResourceProperties": {"consumableResourceList": [{"consumableResource": "licence", "quantity": 0}]}}`,
			"quantity of consumable resource licence should be at least 1."},
		{register, `{"consumableResourceProperties": {"consumableResourceList": [{"consumableResource": "licence", "quantity": 1}, {"consumableResource": "licence", "quantity": 1}]}}`,
			"Cannot have duplicate consumableResource in consumableResourceProperties"},
		{register, `{"tags": {"aws:x": ""}}`, "Tag aws:x: keys must not start with aws:."},
		{register, `{"containerProperties": null}`, "ECS Container Image must be provided."},
		{register, container(`"image": null`), "ECS Container Image must be provided."},
		{register, container(`"instanceType": "p4d"`), "instanceType is only for multi-node jobs."},
		{register, `{"platformCapabilities": ["EC2", "FARGATE"]}`, "Exactly 1 capability must be provided."},
		{register, `{"schedulingPriority": 10000}`, "Scheduling priority must be between 0 and 9999."},
		{register, container(`"resourceRequirements": [{"type": "MEMORY", "value": "64"}]`), framed + "vCPU is not provided"},
		{register, container(amounts("0.5", "64")), "vCPU must be at least 1, got 0.5."},
		{register, container(amounts("two", "64")), "Value two for type VCPU in resourceRequirement is not valid. Please provide a numeric value."},
		{register, container(amounts("NaN", "64")), "Value NaN for type VCPU in resourceRequirement is not valid. Please provide a numeric value."},
		{register, container(`"resourceRequirements": [{"type": "VCPU", "value": "1"}]`), "Memory is required."},
		{register, container(amounts("1", "3")), "Memory must be at least 4 Mib, got 3 Mib."},
		{register, container(amounts("1", "2GB")), "Value 2GB for type MEMORY in resourceRequirement is not valid. Please provide a numeric value."},
		{register, container(strings.TrimSuffix(amounts("1", "64"), "]") + `, {"type": "GPU", "value": "0.5"}]`),
			"Value 0.5 for type GPU in resourceRequirement is not valid. Please provide a numeric value."},
		{register, container(strings.TrimSuffix(amounts("1", "64"), "]") + `, {"type": "DISK", "value": "1"}]`), "ResourceRequirement type DISK is not valid. Valid types: [GPU, MEMORY, VCPU]"},
		{register, container(strings.TrimSuffix(amounts("1", "64"), "]") + `, {"type": "VCPU", "value": "1"}]`), "Cannot provide duplicates in resourceRequirements."},
		{register, container(`"vcpus": 1`), "Cannot use both ECS containerProperties Vcpus and resourceRequirement VCPU."},
		{register, container(`"memory": 64`), "Cannot use both ECS containerProperties Memory and resourceRequirement MEMORY."},
		{register, container(`"environment": [{"name": "", "value": "x"}]`), "Environment variable name is required."},
		{register, container(`"environment": [{"name": "AWS_BATCH_X", "value": "x"}, {"name": "A", "value": "b"}]`),
			"Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{register, `{"timeout": {"attemptDurationSeconds": 59}}`, "AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		{register, `{"retryStrategy": {}}`, "RetryAttempts must be provided with retry strategy."},
		{register, `{"retryStrategy": {"attempts": 11}}`, "RetryAttempts must be between 1 and 10."},
		{register, exit(`"action": "RETRY"`), "EvaluateOnExit should contain at least one of onExitCode, onReason or onStatusReason."},
		{register, exit(`"action": "STOP", "onReason": "*"`), `EvaluateOnExit action "STOP" is not valid. Valid actions: [RETRY, EXIT]`},
		{register, exit(`"action": "EXIT", "onExitCode": "1?"`), "Evaluate on exit condition contains restricted characters."},
		{register, exit(`"action": "RETRY", "onReason": "a?"`), "Evaluate on exit condition contains restricted characters."},
		{register, exit(`"action": "EXIT", "onReason": "` + strings.Repeat("a", 513) + `"`), "Evaluate on exit condition cannot exceed 512 characters."},
		{register, `{"parameters": {"long": "` + long + `"}}`, "Job definition size must be at most 24 KiB, got 31 KiB"},

		{submit, `{"jobName": "-a"}`, framed + "Job name should match valid pattern"},
		{submit, `{"jobQueue": "other"}`, "JobQueue other not found."},
		{submit, `{"jobDefinition": "other"}`, "JobDefinition name other does not exist or is not in ACTIVE status."},
		{submit, `{"jobDefinition": "work:2"}`, "JobDefinition name work:2 does not exist or is not in ACTIVE status."},
		{submit, `{"jobDefinition": "work:latest"}`, "JobDefinition name work:latest does not exist or is not in ACTIVE status."},
		{submit, `{"jobDefinition": "refers"}`, "Unable to substitute value. No parameter found for reference who"},
		{submit, `{"arrayProperties": {"size": 1}}`, "Array size must be between 2 and 10000, got 1."},
		{submit, `{"arrayProperties": {"size": 10001}}`, "Array size must be between 2 and 10000, got 10001."},
		{submit, `{"dependsOn": [` + strings.TrimSuffix(strings.Repeat(`{"jobId": "`+one+`"}, `, 21), ", ") + `]}`, "Job cannot have more than 20 dependencies"},
		{submit, depends(`"jobId": "` + missing + `"`), "Job " + missing + " in dependsOn does not exist."},
		{submit, depends(`"jobId": "` + one + `", "type": "AFTER"`), "Dependency type AFTER is not valid. Valid types: [N_TO_N, SEQUENTIAL]"},
		{submit, depends(""), "A dependency needs a jobId."},
		{submit, depends(`"type": "SEQUENTIAL"`), "A dependency needs a jobId."},
		{submit, depends(`"jobId": "` + pair + `", "type": "N_TO_N"`), "A dependency of type N_TO_N is only for array jobs."},
		{submit, `{"arrayProperties": {"size": 2}, "dependsOn": [{"jobId": "` + one + `", "type": "N_TO_N"}]}`,
			"A dependency of type N_TO_N needs an array job; " + one + " is not an array."},
		{submit, `{"arrayProperties": {"size": 3}, "dependsOn": [{"jobId": "` + pair + `", "type": "N_TO_N"}]}`,
			"A dependency of type N_TO_N needs an array of the same size; " + pair + " has 2 children."},
		{submit, `{"shareIdentifier": "team"}`, "Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy."},
		{submit, `{"consumableResourcePropertiesOverride": {"consumableResourceList": [{"consumableResource": "licence", "quantity": 1}]}}`,
			"Consumable resource licence does not exist."},
		{submit, `{"nodeOverrides": {"numNodes": 2}}`, "nodeOverrides need a job definition of type multinode."},
		{submit, `{"ecsPropertiesOverride": {"taskProperties": [{}]}}`, "ecsPropertiesOverride needs a job definition that has ecsProperties."},
		{submit, `{"eksPropertiesOverride": {"podProperties": {"metadata": {"labels": {"a": "b"}}}}}`, "eksPropertiesOverride needs a job definition that has eksProperties."},
		{submit, `{"timeout": {"attemptDurationSeconds": 30}}`, "AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		{submit, `{"retryStrategy": {"attempts": 0}}`, "RetryAttempts must be between 1 and 10."},
		{submit, `{"containerOverrides": {"environment": [{"name": "AWS_BATCH_JOB_ID", "value": "x"}]}}`,
			"Environment variable AWS_BATCH_JOB_ID is not valid: names must not start with AWS_BATCH."},
		{submit, `{"jobDefinition": "nodes", "nodeOverrides": {"nodePropertyOverrides": [{"targetNodes": "0:", "containerOverrides": {"environment": [{"name": "AWS_BATCH_X", "value": "x"}]}}]}}`,
			"Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{submit, `{"containerOverrides": {"resourceRequirements": [{"type": "MEMORY", "value": "1"}]}}`, "Memory must be at least 4 Mib, got 1 Mib."},
		{submit, `{"parameters": {"long": "` + long + `"}}`, "Job size must be less than 30 KiB, got 31 KiB"},

		{environment, `{"computeEnvironmentName": "a b"}`, "Compute Environment name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores."},
		{environment, `{"computeEnvironmentName": "ec2"}`, "Object already exists: compute environment ec2."},
		{environment, `{"computeEnvironmentName": "local"}`, "Object already exists: compute environment local."},
		{environment, `{"computeResources": null}`, "computeResources must be provided for a MANAGED compute environment"},
		{environment, `{"type": "OURS", "serviceRole": "role"}`, `Compute environment type "OURS" is not valid. Valid types: [MANAGED, UNMANAGED]`},
		{environment, `{"state": "DISABLED"}`, "Compute Environment must be created in ENABLED state."},
		{environment, `{"unmanagedvCpus": 1}`, "unmanagedvCpus is not applicable for managed Compute Environments"},
		{environment, `{"type": "UNMANAGED"}`, framed + "ServiceRole is required"},
		{environment, resources(`"instanceRole": null`), framed + "Instance role is required"},
		{environment, resources(`"minvCpus": null`), framed + "Resource minvCpus is required"},
		{environment, resources(`"maxvCpus": null`), "Resource maxvCpus is required."},
		{environment, resources(`"instanceTypes": ["t2", "unknown"]`), "Instance type unknown does not exist."},
		{environment, `{"eksConfiguration": {"eksClusterArn": "a", "kubernetesNamespace": "n"}}`, "eksClusterArn must be an EKS cluster ARN."},
		{environment, resources(`"minvCpus": 5`), "maxvCpus should be greater than or equal to minvCpus."},
		{environment, resources(`"desiredvCpus": 5`), "desiredvCpus should be between minvCpus and maxvCpus."},
		{environment, `{"tags": {"` + strings.Repeat("k", 129) + `": ""}}`, "Tag keys have 1 to 128 characters."},
		{"UpdateComputeEnvironment", `{"computeEnvironment": "ours", "unmanagedvCpus": -1}`, "unmanagedvCpus should be greater than or equal to 0."},
		{"DeleteComputeEnvironment", `{"computeEnvironment": "fargate"}`, "Cannot delete, compute environment fargate must be DISABLED first."},

		{queue, `{"jobQueueName": "a b"}`, "Job Queue name should match a valid pattern."},
		{queue, `{"jobQueueName": "default"}`, "Object already exists: job queue default."},
		{queue, `{"computeEnvironmentOrder": null}`, "computeEnvironmentOrder is required."},
		{queue, order("other"), "Compute environment other does not exist. Compute Environments must be created and valid before attaching them to a job queue"},
		{queue, order("ec2", "fargate"), "Fargate and EC2 compute environments can not be mixed."},
		{queue, order("fargate", model.ComputeEnvironment), "Fargate and EC2 compute environments can not be mixed."},
		{queue, order("ec2", "graviton"), "All compute environments of a job queue must have the same architecture: ec2 is x86_64, and graviton is arm64."},
		{queue, order("ec2", "ec2"), "Duplicate ComputeEnvironments within order list."},
		{queue, order("ec2", "b", "c", "d"), "Only 3 environments are allowed in job queue request."},
		{queue, `{"priority": 1001}`, "priority is required, between 0 and 1000."},
		{queue, `{"schedulingPolicyArn": "` + none + `"}`, "SchedulingPolicy " + none + " not found."},
		{queue, `{"schedulingPolicyArn": "policy_arn"}`, `"policy_arn" is not the ARN of a scheduling policy.`},
		{queue, `{"schedulingPolicyArn": "` + model.ARN(model.KindQueue, "default") + `"}`, "Only scheduling policy Arn can be allowed."},
		{queue, limits(strings.Replace(limit, "CANCEL", "TERMINATE", 1)), "Invalid job action. Valid job actions: [CANCEL]"},
		{queue, limits(limit, limit), "Duplicate job state limit actions are not allowed."},
		{queue, limits(strings.Replace(limit, "600", "1", 1)), "maxTimeSeconds must be between 600 and 86400."},
		{queue, `{"jobQueueType": "SAGEMAKER_TRAINING"}`, "Job queues of type SAGEMAKER_TRAINING must have serviceEnvironmentOrder."},
		{"DeleteJobQueue", `{"jobQueue": "main"}`, "Cannot delete, job queue main must be DISABLED first."},
		{"DeleteJobQueue", `{"jobQueue": "default"}`, "Job Queue default comes from the options of the local engine: restart the engine to change it."},
		{"DeleteJobQueue", `{"jobQueue": "none"}`, "Job Queue none does not exist."},

		{policy, fair(`"computeReservation": 100`), "computeReservation should be between 0 and 99."},
		{policy, fair(`"shareDecaySeconds": 604801`), "shareDecaySeconds should be between 0 and 604800."},
		{policy, fair(`"shareDistribution": [` + share("a", "0") + `]`), "Weight factor should be between 0.0001 and 999.9999."},
		{policy, fair(`"shareDistribution": [` + share("a b", "1") + `]`), "ShareIdentifier name should match a valid pattern."},
		{policy, fair(`"shareDistribution": [` + share("a*", "1") + `, ` + share("ab", "1") + `]`), "Share identifier ab matches another share identifier a*."},

		{"CancelJob", `{"jobId": "none", "reason": "` + strings.Repeat("x", 1025) + `"}`, "reason can have at most 1024 characters."},
		{"TerminateJob", `{"jobId": "` + missing + `", "reason": "` + strings.Repeat("x", 1025) + `"}`, "reason can have at most 1024 characters."},
		{"TerminateJob", `{"jobId": "", "reason": "x"}`, "jobId is required."},
		{"DeregisterJobDefinition", `{"jobDefinition": "work"}`, "JobDefinition work: name and revision (name:revision) are needed."},
		{"DescribeJobDefinitions", `{"jobDefinitions": ["work:1"], "jobDefinitionName": "work"}`, "Only one of jobDefinitions and jobDefinitionName can be given."},
		{"ListJobsByConsumableResource", `{"consumableResource": "credit", "filters": [{"name": "JOB_STATUS", "values": ["LOST"]}]}`,
			"Job status LOST is not valid. Valid statuses: [SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED]"},
		{"ListJobsByConsumableResource", `{"consumableResource": "credit", "filters": [{"name": "JOB_STATUS", "values": ["RUN*"]}]}`,
			"Job status RUN* is not valid. Valid statuses: [SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED]"},
	} {
		body := c[1]
		if valid := validRequests[c[0]]; valid != "" {
			body = patched(t, valid, body)
		}
		if _, _, err := w.send(c[0], body); err == nil {
			t.Errorf("%s %.300s is accepted, want %s", c[0], body, c[2])
		} else {
			refused(t, err, c[2])
		}
	}
	for operation, body := range validRequests {
		w.must(operation, body)
	}
	if m := w.Model(); len(m.Definitions) != 4 || len(m.BySubmission) != 3 {
		t.Errorf("%d definitions and %d jobs exist, want the valid ones", len(m.Definitions), len(m.BySubmission))
	}
}
