package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestMemberNames checks that the help of an unknown member names the right member, or the object in
// which it belongs. "#" is the place of the member.
func TestMemberNames(t *testing.T) {
	const (
		top  = `{"jobDefinitionName": "x", "type": "container", #, "containerProperties": {"image": "busybox:1", "resourceRequirements": [{"type": "VCPU", "value": "1"}]}}`
		box  = `{"jobDefinitionName": "x", "type": "container", "containerProperties": {"image": "busybox:1", #, "resourceRequirements": [{"type": "VCPU", "value": "1"}]}}`
		deep = `{"jobDefinitionName": "x", "type": "container", "containerProperties": {"image": "busybox:1", "linuxParameters": {#}}}`
		bare = `{#, "type": "container", "containerProperties": {"image": "busybox:1"}}`
		both = `{"jobDefinitionName": "x", "type": "container", "eksProperties": {}, #}`
		job  = `{"name": "x", "image": "busybox:1", "jobDefinition": {#}}`
		send = `{"jobName": "x", "jobQueue": "q", "jobDefinition": "d", #}`
		over = `{"jobName": "x", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": {#}}`
		host = `{"computeEnvironmentName": "x", "type": "MANAGED", "computeResources": {"type": "EC2"}, #}`
		pool = `{"computeEnvironmentName": "x", "type": "MANAGED", "computeResources": {"type": "EC2", #}}`
		line = `{"jobQueueName": "x", "priority": 1, #}`
	)
	for _, tt := range []struct{ text, member, hint, fix string }{
		{top, `"command": ["x"]`, `it belongs in "containerProperties"`, ""},
		{both, `"command": ["x"]`, `it belongs in "containerProperties"`, ""},
		{top, `"cmd": ["x"]`, `it belongs in "containerProperties", as "command"`, ""},
		{top, `"env": []`, `it belongs in "containerProperties", as "environment"`, ""},
		{top, `"sharedMemorySize": 64`, `it belongs in "containerProperties.linuxParameters"`, ""},
		{top, `"retries": 3`, `it belongs in "retryStrategy", as "attempts"`, ""},
		{top, `"max_attempts": 3`, `it belongs in "retryStrategy", as "attempts"`, ""},
		{top, `"retry_strategy": {}`, `write "retryStrategy"`, `write "retryStrategy"`},
		{top, `"timeout_seconds": 3`, `it belongs in "timeout", as "attemptDurationSeconds"`, ""},
		{top, `"gpus": 2`, `list it as { "type": "GPU", "value": "2" } in "containerProperties.resourceRequirements"`, ""},
		{top, `"jobQueue": "q"`, `it belongs in the request SubmitJob`, ""},
		{top, `"depends_on": ["a"]`, `it belongs in the request SubmitJob, as "dependsOn"`, ""},
		{top, `"name": "y"`, `did you mean "jobDefinitionName"? It exists already`, ""},
		{bare, `"name": "y"`, `write "jobDefinitionName"`, `write "jobDefinitionName"`},
		{top, `"_comment": "why"`, `remove it`, `remove _comment`},
		{top, `"frobnicate": 1`, `AWS Batch rejects a member that it does not have`, ""},
		{top, `"_note": 1`, `remove it`, `remove _note`},
		{box, `"cmd": ["x"]`, `did you mean "command"?`, ""},
		{box, `"env": []`, `write "environment"`, `write "environment"`},
		{box, `"cmd": "x"`, `did you mean "command"?`, ""},
		{box, `"comandd": ["x"]`, `write "command"`, `write "command"`},
		{box, `"job_role_arn": "r"`, `write "jobRoleArn"`, `write "jobRoleArn"`},
		{box, `"gpus": 2`, `list it as { "type": "GPU", "value": "2" } in "resourceRequirements"`, ""},
		{box, `"memory_mb": "2g"`, `list it as { "type": "MEMORY", "value": "..." } in "resourceRequirements"`, ""},
		{box, `"cpus": 2`, `change the VCPU in "resourceRequirements"`, ""},
		{box, `"shmSize": 64`, `it belongs in "linuxParameters", as "sharedMemorySize"`, ""},
		{box, `"environment": [{"name": "a", "valueFrom": "arn:x"}]`, `it belongs in "secrets"`, ""},
		{box, `"timeout": {}`, `it belongs one level up, beside "containerProperties"`, ""},
		{box, `"attempts": 3`, `it belongs in "retryStrategy"`, ""},
		{box, `"entryPoint": ["x"]`, `put it first in "command", or into the image: AWS Batch cannot change an entry point`, ""},
		{box, `"workdir": "/"`, `set WORKDIR in the image, or change the directory in "command"`, ""},
		{deep, `"user": "x"`, `it belongs one level up, beside "linuxParameters"`, ""},
		{deep, `"tags": {}`, `it belongs beside "containerProperties"`, ""},
		{job, `"command": ["x"]`, `it belongs in "containerProperties"`, ""},
		{send, `"cmd": ["x"]`, `write "command" in "containerOverrides"`, `write "command" in "containerOverrides"`},
		{send, `"gpus": 1`, `list it as { "type": "GPU", "value": ... } in "containerOverrides.resourceRequirements"`, ""},
		{send, `"image": "busybox:1"`, `it belongs in the job definition`, ""},
		{over, `"gpus": 1`, `list it as { "type": "GPU", "value": ... } in "resourceRequirements"`, ""},
		{over, `"image": "busybox:1"`, `it belongs in the job definition`, ""},
		{send, `"wall_time": 60`, `it belongs in "timeout", as "attemptDurationSeconds"`, ""},
		{send, `"needs": []`, `did you mean "dependsOn"?`, ""},
		{host, `"allocationStrategy": "BEST_FIT"`, `move it into "computeResources"`, `move it into "computeResources"`},
		{host, `"instances": ["m5"]`, `it belongs in "computeResources", as "instanceTypes"`, ""},
		{pool, `"serviceRole": "r"`, `move it one level up, beside "computeResources"`, `move it one level up, beside "computeResources"`},
		{pool, `"ami": "ami-01234567"`, `did you mean "imageId"?`, ""},
		{pool, `"keyPair": "k"`, `did you mean "ec2KeyPair"?`, ""},
		{pool, `"instanceProfile": "p"`, `did you mean "instanceRole"?`, ""},
		{line, `"computeEnvironments": []`, `did you mean "computeEnvironmentOrder"?`, ""},
		{line, `"timeLimits": []`, `did you mean "jobStateTimeLimitActions"?`, ""},
	} {
		c := checkText(strings.Replace(tt.text, "#", tt.member, 1), nil)
		var found *diag.Diagnostic
		for i, d := range c.problems {
			if d.Rule == "jobdef-unknown-member" || d.Rule == "unknown-member" {
				found = &c.problems[i]
			}
		}
		if found == nil {
			t.Errorf("%s is not unknown: %v", c.src.Text, c.problems)
			continue
		}
		fix := ""
		if found.Fix != nil {
			fix = found.Fix.Message
		}
		if found.Hint != tt.hint || fix != tt.fix {
			t.Errorf("%s: help %s, fix %q, want %s, %q", c.src.Text, found.Hint, fix, tt.hint, tt.fix)
		}
	}
}

// TestMemberNamesInTemplates checks the same in the spelling of CloudFormation. "#" is the place of the member.
func TestMemberNamesInTemplates(t *testing.T) {
	const (
		job   = "{Type: AWS::Batch::JobDefinition, Properties: {Type: container, ContainerProperties: {Image: busybox:1}, #}}"
		box   = "{Type: AWS::Batch::JobDefinition, Properties: {Type: container, ContainerProperties: {Image: busybox:1, ResourceRequirements: [{Type: VCPU, Value: 1}], #}}}"
		entry = "{Type: AWS::Batch::JobDefinition, Properties: {Type: container, ContainerProperties: {Image: busybox:1, Environment: [{Name: A, #}]}}}"
		pod   = "{Type: AWS::Batch::JobDefinition, Properties: {Type: container, EksProperties: {PodProperties: {Containers: [], #}}}}"
		host  = "{Type: AWS::Batch::ComputeEnvironment, Properties: {Type: MANAGED, ComputeResources: {Type: EC2}, #}}"
		pool  = "{Type: AWS::Batch::ComputeEnvironment, Properties: {Type: MANAGED, ComputeResources: {Type: EC2, #}}}"
		queue = "{Type: AWS::Batch::JobQueue, Properties: {Priority: 1, ComputeEnvironmentOrder: [{ComputeEnvironment: c, Order: 1, #}]}}"
	)
	const isNew = "CloudFormation rejects a member that it does not have"
	for _, tt := range []struct{ resource, member, hint string }{
		{job, "Environment: []", `it belongs in "ContainerProperties"`},
		{job, "Cmd: [x]", `it belongs in "ContainerProperties", as "Command"`},
		{job, "Retries: 3", `it belongs in "RetryStrategy", as "Attempts"`},
		{job, "Gpus: 2", `list it as { "Type": "GPU", "Value": "2" } in "ContainerProperties.ResourceRequirements"`},
		{job, "Name: x", `write "JobDefinitionName"`},
		{job, "retryStrategy: {Attempts: 1}", `write "RetryStrategy"`},
		{job, "JobQueue: q", "it belongs in the request SubmitJob"},
		{job, "_Comment: why", "move it to Metadata, beside Properties"},
		{job, "Frobnicate: 1", isNew},
		{box, "Timeout: {AttemptDurationSeconds: 60}", `it belongs one level up, beside "ContainerProperties"`},
		{box, "Comandd: [x]", `write "Command"`},
		{box, "Cpus: 2", `change the VCPU in "ResourceRequirements"`},
		{box, "ShmSize: 64", `it belongs in "LinuxParameters", as "SharedMemorySize"`},
		{box, "EntryPoint: [x]", `put it first in "Command", or into the image: AWS Batch cannot change an entry point`},
		{box, "InstanceType: m5.large", "remove it: the API has this member, but CloudFormation does not"},
		{pod, "ServiceAccount: x", `write "ServiceAccountName"`},
		{entry, "ValueFrom: x", `it belongs in "Secrets"`},
		{entry, "Val: x", `write "Value"`},
		{host, "AllocationStrategy: BEST_FIT", `it belongs in "ComputeResources"`},
		{host, "SecurityGroups: []", `it belongs in "ComputeResources", as "SecurityGroupIds"`},
		{pool, "ServiceRole: r", `it belongs one level up, beside "ComputeResources"`},
		{pool, "InstanceType: [m5]", `write "InstanceTypes"`},
		{pool, "KeyName: k", `did you mean "Ec2KeyPair"?`},
		{queue, "Priority: 2", `it belongs one level up, beside "ComputeEnvironmentOrder"`},
	} {
		text := "Resources:\n  R: " + strings.Replace(tt.resource, "#", tt.member, 1) + "\n"
		_, problems := loadText(t, "t.yaml", text)
		unknown := slices.DeleteFunc(problems, func(d diag.Diagnostic) bool { return d.Rule != "unknown-member" })
		if len(unknown) != 1 || unknown[0].Hint != tt.hint || (unknown[0].Severity == diag.Warning) != (tt.hint == isNew) {
			t.Errorf("%s: %v, want %s", text, unknown, tt.hint)
		}
	}
}
