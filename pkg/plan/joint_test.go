package plan

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/wire"
)

// A step can be placed and started where the job after it runs, and does none of its work.
func TestJoinDefinition(t *testing.T) {
	const end = `,"retryStrategy":{"attempts":3},"timeout":{"attemptDurationSeconds":3600}}`
	const small = `"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"128"}]`
	for _, tt := range []struct{ name, definition, want string }{
		{"a container", `{ "type": "container", "containerProperties": { "image": "a:1", "command": ["train"], "jobRoleArn": "arn:aws:iam::123456789012:role/job",
			"executionRoleArn": "arn:aws:iam::123456789012:role/exec", "privileged": true, "environment": [{ "name": "A", "value": "b" }],
			"logConfiguration": { "logDriver": "awslogs" }, "resourceRequirements": [{ "type": "GPU", "value": "8" }] },
			"tags": { "Team": "r" }, "propagateTags": true, "schedulingPriority": 5, "retryStrategy": { "attempts": 9 }, "timeout": { "attemptDurationSeconds": 60 } }`,
			`{"jobDefinitionName":"x","type":"container","containerProperties":{"command":["true"],"executionRoleArn":"arn:aws:iam::123456789012:role/exec",` +
				`"image":"a:1","logConfiguration":{"logDriver":"awslogs"},` + small + `},"propagateTags":true,"retryStrategy":{"attempts":3},"schedulingPriority":5,"tags":{"Team":"r"},"timeout":{"attemptDurationSeconds":3600}}`},
		{"on Fargate", `{ "type": "container", "platformCapabilities": ["FARGATE"], "containerProperties": { "image": "a:1", "networkConfiguration": { "assignPublicIp": "ENABLED" },
			"fargatePlatformConfiguration": { "platformVersion": "1.4.0" }, "runtimePlatform": { "cpuArchitecture": "ARM64" } } }`,
			`{"jobDefinitionName":"x","type":"container","containerProperties":{"command":["true"],"fargatePlatformConfiguration":{"platformVersion":"1.4.0"},"image":"a:1",` +
				`"networkConfiguration":{"assignPublicIp":"ENABLED"},"resourceRequirements":[{"type":"VCPU","value":"0.25"},{"type":"MEMORY","value":"512"}],` +
				`"runtimePlatform":{"cpuArchitecture":"ARM64"}},"platformCapabilities":["FARGATE"]` + end},
		{"for Windows", `{ "type": "container", "platformCapabilities": ["FARGATE"], "containerProperties": { "image": "a:1", "runtimePlatform": { "operatingSystemFamily": "WINDOWS_SERVER_2022_CORE" } } }`,
			`{"jobDefinitionName":"x","type":"container","containerProperties":{"command":["cmd","/c","exit 0"],"image":"a:1",` +
				`"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"2048"}],"runtimePlatform":{"operatingSystemFamily":"WINDOWS_SERVER_2022_CORE"}},` +
				`"platformCapabilities":["FARGATE"]` + end},
		{"a task", `{ "type": "container", "ecsProperties": { "taskProperties": [{ "platformVersion": "1.4.0", "executionRoleArn": "arn:aws:iam::123456789012:role/exec",
			"containers": [{ "name": "main", "image": "a:1" }, { "name": "side", "image": "b:1" }] }] } }`,
			`{"jobDefinitionName":"x","type":"container","containerProperties":{"command":["true"],"executionRoleArn":"arn:aws:iam::123456789012:role/exec",` +
				`"fargatePlatformConfiguration":{"platformVersion":"1.4.0"},"image":"a:1",` + small + `}` + end},
		{"nodes", `{ "type": "multinode", "nodeProperties": { "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{ "targetNodes": "0:", "container": { "image": "a:1", "instanceType": "p4d.24xlarge" } }] } }`,
			`{"jobDefinitionName":"x","type":"container","containerProperties":{"command":["true"],"image":"a:1",` + small + `}` + end},
		{"a pod", `{ "type": "container", "eksProperties": { "podProperties": { "hostNetwork": false, "serviceAccountName": "s", "imagePullSecrets": [{ "name": "pull" }],
			"containers": [{ "image": "a:1", "args": ["x"], "resources": { "limits": { "cpu": "8", "memory": "1024Mi" } } }], "initContainers": [{ "image": "b:1" }] } } }`,
			`{"jobDefinitionName":"x","type":"container","eksProperties":{"podProperties":{"containers":[{"image":"a:1","command":["true"],` +
				`"resources":{"limits":{"cpu":"1","memory":"128Mi"},"requests":{"cpu":"1","memory":"128Mi"}}}],"hostNetwork":false,"imagePullSecrets":[{"name":"pull"}]}}` + end},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in awsbatch.RegisterJobDefinitionInput
			if err := wire.Unmarshal([]byte(strings.Replace(tt.definition, "{", `{ "jobDefinitionName": "d",`, 1)), &in); err != nil {
				t.Fatal(err)
			}
			out := joinDefinition(&in)
			out.JobDefinitionName = aws.String("x")
			text, err := wire.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(text)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, diags := document.Load(diag.NewSource("t.json", string(text)), document.Options{Kind: document.KindJobDefinition}); len(diags) > 0 {
				t.Error(diags)
			}
		})
	}
}

// A step goes where it fits best, on the architecture that the image has been built
// for as far as that is known; a share of a queue keeps it there.
func TestJoinQueue(t *testing.T) {
	big := queue("big", ec2("m5.24xlarge"))
	jobs, names := many("part", 25)
	for _, tt := range []struct {
		name, queue, more string
		queues            []document.Queue
		want, reason      string
	}{
		{"the tightest", "big", "", []document.Queue{big, cpuQueue}, "cpu-job-queue", "tightest fit of 2 queues for 1 vCPU, 128 MiB: c5.large (2 vCPU, 3682 MiB for jobs)"},
		{"of the same architecture", "arm", "", []document.Queue{cpuQueue, armQueue}, "arm-job-queue", "only queue that fits 1 vCPU, 128 MiB, arm64: c6g.medium (1 vCPU, 1713 MiB for jobs)"},
		{"with the share", "big", `"shareIdentifier": "a", `, []document.Queue{big, cpuQueue}, "big-job-queue", "the queue of report, which comes after it"},
		{"not known", "open", "", []document.Queue{openQueue}, "open-job-queue", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(work(append(jobs, strings.Replace(waiting("report", names), "{", "{"+tt.more, 1))...), `"queue": "q"`, `"queue": "`+tt.queue+`"`, 1)
			text = strings.Replace(text, `"memory": "30 GiB"`, `"memory": "1 GiB"`, 1)
			p := planned{text: text, platform: &document.Platform{Queues: tt.queues}}.mustBuild(t)
			step := p.Jobs[25]
			if !step.Join || *step.Submit.JobQueue != tt.want || tt.reason != "" && step.Queue.Reason != tt.reason {
				t.Errorf("%s: %s", *step.Submit.JobQueue, step.Queue.Reason)
			}
		})
	}
}
