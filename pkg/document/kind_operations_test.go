package document

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
)

// operationFiles are requests that operationTable recognizes, by their kind.
var operationFiles = map[Kind][]string{
	"UpdateComputeEnvironment": {
		`{"computeEnvironment": "gpu", "computeResources": {"maxvCpus": 64, "updateToLatestImageVersion": true}, "updatePolicy": {"terminateJobsOnUpdate": true}}`,
		`{"computeEnvironment": "gpu", "state": "DISABLED"}`,
		`{"computeEnvironment": "n17", "eksConfiguration": {"accessEntry": {"desiredState": "ENABLED"}}}`,
		`{"computeEnvironment": "n17", "eksConfiguration": {"accessEntry": {"desiredState": "ON"}}}`,
		`{"computeEnvironment": "gpu", "serviceRole": "arn:aws:iam::123456789012:role/r", "state": "ENABLED", "typo": 1}`,
	},
	"UpdateJobQueue": {
		`{"jobQueue": "night", "state": "DISABLED"}`,
		`{"jobQueue": "night", "priority": 3, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "gpu"}]}`,
		`{"jobQueue": "night", "jobStateTimeLimitActions": []}`,
		`{"JobQueue": "night", "State": "DISABLED"}`,
	},
	"UpdateSchedulingPolicy":   {`{"arn": "arn:aws:batch:eu-west-1:123456789012:scheduling-policy/p", "fairsharePolicy": {"shareDecaySeconds": 600}}`},
	"UpdateConsumableResource": {`{"consumableResource": "licence", "operation": "SET", "quantity": 5}`},
	"UpdateServiceEnvironment": {`{"serviceEnvironment": "training", "capacityLimits": [{"maxCapacity": 4, "capacityUnit": "NUM_INSTANCES"}]}`},
	"UpdateQuotaShare":         {`{"quotaShareArn": "arn:aws:batch:eu-west-1:123456789012:job-queue/q/quota-share/s", "state": "ENABLED"}`},
	"UpdateServiceJob":         {`{"jobId": "0f8fad5b-d9cb-469f-a165-70867728950e", "schedulingPriority": 7}`},
	"SubmitServiceJob": {
		`{"jobName": "x", "jobQueue": "q", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}"}`,
		`{"jobName": "x", "jobQueue": "q", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}", "quotaShareName": "team",
			"retryStrategy": {"attempts": 2}, "timeoutConfig": {"attemptDurationSeconds": 60}, "tags": {"a": "b"}, "shareIdentifier": "s"}`,
	},
}

// uncheckedFiles are documents of AWS Batch that are recognized and not checked.
var uncheckedFiles = map[string][]string{
	"CancelJob, TerminateJob or TerminateServiceJob":    {`{"jobId": "0f8fad5b-d9cb-469f-a165-70867728950e", "reason": "too slow"}`},
	"CancelJobs, TerminateJobs or TerminateServiceJobs": {`{"jobs": ["0f8fad5b-d9cb-469f-a165-70867728950e"], "reason": "too slow"}`},
	"ListJobs or ListServiceJobs":                       {`{"jobQueue": "q", "jobStatus": "RUNNING"}`},
	"ListJobs":                                          {`{"arrayJobId": "0f8fad5b-d9cb-469f-a165-70867728950e", "jobStatus": "FAILED"}`},
	"DescribeComputeEnvironments":                       {`{"computeEnvironments": ["gpu"], "maxResults": 5}`},
	"DescribeJobQueues":                                 {`{"jobQueues": ["night"], "maxResults": 5}`},
	"Step Functions state machine": {
		`{"StartAt": "Run", "States": {"Run": {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob.sync", "Parameters": {"JobName": "a", "JobQueue": "q", "JobDefinition": "d"}, "End": true}}}`,
		`{"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemProcessor": {"StartAt": "Run", "States": {"Run": {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:batch:submitJob", "Arguments": {}, "End": true}}}, "End": true}}}`,
	},
}

func TestUncheckedFiles(t *testing.T) {
	for want, texts := range uncheckedFiles {
		for _, text := range texts {
			src := diag.NewSource("dir/x.json", text)
			if got := Recognize(src); got != NotChecked {
				t.Errorf("recognized %v: %s", got, text)
			}
			for _, recognize := range []bool{false, true} {
				f, problems := Load(src, Options{Recognize: recognize})
				if f == nil || f.Unchecked != want || f.Kind != "" || len(problems) > 0 {
					t.Errorf("recognize %v: loaded %+v, %v, want %s: %s", recognize, f, problems, want, text)
				}
			}
		}
	}
}

// Documents of other services are kinds of their own with Hosts. In a directory, a state machine without AWS Batch is
// not recognised.
func TestOtherServices(t *testing.T) {
	const states = `{"StartAt": "Run", "States": {"Run": {"Type": "Task", "Resource": %q, "End": true}}}`
	for _, tt := range []struct {
		name, text   string
		named, found Kind
	}{
		{"x.json", fmt.Sprintf(states, "arn:aws:states:::batch:submitJob.sync"), KindStateMachine, KindStateMachine},
		{"x.asl", fmt.Sprintf(states, "arn:aws:states:::aws-sdk:batch:submitJob"), KindStateMachine, KindStateMachine},
		{"x.json", fmt.Sprintf(states, "arn:aws:states:::lambda:invoke"), KindStateMachine, ""},
		{"x.asl.yaml", "StartAt: Run\nStates: { Run: { Type: Task, Resource: 'arn:aws:states:::batch:submitJob' } }\n", KindStateMachine, KindStateMachine},
		{"x.asl.yaml", "StartAt: Run\nStates: { Run: { Type: Pass } }\n", KindStateMachine, ""},
		{"x.json", `[{"Arn": "q", "BatchParameters": {"JobName": "a", "JobDefinition": "d"}}]`, KindEventBridge, KindEventBridge},
		{"x.json", `{"Name": "p", "Target": "q", "TargetParameters": {"BatchJobParameters": {"JobName": "a"}}}`, KindEventBridge, KindEventBridge},
		{"t.yaml", "Resources: { M: { Type: 'AWS::StepFunctions::StateMachine', Properties: { DefinitionString: ':states:::batch:submitJob' } } }", KindTemplate, KindTemplate},
		{"t.yaml", "Resources: { M: { Type: 'AWS::StepFunctions::StateMachine', Properties: { DefinitionString: '{}' } } }", KindTemplate, ""},
		{"t.json", `{"Resources": {"M": {"Type": "AWS::Events::Rule", "Properties": {"Targets": []}}}}`, KindTemplate, ""},
		{"setup.sh", "#!/bin/sh\naws batch submit-job --job-name a\n", KindUserData, KindUserData},
		{"setup.sh", "#!/bin/sh\nmake\n", KindUserData, ""},
		{"setup.txt", "#!/bin/sh\naws batch submit-job --job-name a\n", KindUserData, ""},
	} {
		for _, recognize := range []bool{false, true} {
			var got Kind
			f, problems := Load(diag.NewSource(tt.name, tt.text), Options{Hosts: true, Recognize: recognize})
			if f != nil {
				got = f.Kind
			}
			want := map[bool]Kind{false: tt.named, true: tt.found}[recognize]
			if got != want || len(problems) > 0 {
				t.Errorf("recognize %v: kind %q, want %q, problems %v: %s", recognize, got, want, problems, tt.text)
			}
		}
	}
}

func TestOperationFiles(t *testing.T) {
	for want, texts := range operationFiles {
		for _, text := range texts {
			src := diag.NewSource("dir/x.json", text)
			if got := Recognize(src); got != Ours {
				t.Errorf("recognized %v: %s", got, text)
			}
			for _, recognize := range []bool{false, true} {
				f, _ := Load(src, Options{Recognize: recognize, Hosts: true})
				if f == nil || f.Kind != want || f.Unchecked != "" || len(f.Jobs)+len(f.Requests) > 0 {
					t.Errorf("recognize %v: loaded %+v, want %s: %s", recognize, f, want, text)
				}
			}
		}
	}
}

// TestCheckedRequests checks that requests with a slip or few members are still checked.
func TestCheckedRequests(t *testing.T) {
	for text, want := range map[string]Kind{
		`{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": []}`:                                        KindServiceEnvironment,
		`{"serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": []}`:                                                                              KindServiceEnvironment,
		`{"quotaShareName": "team", "jobQueue": "shared", "capacityLimits": [], "resourceSharingConfiguration": {"strategy": "RESERVE"}, "state": "ENABLED"}`: KindQuotaShare,
		`{"computeEnvironments": [{"computeEnvironmentName": "cpu", "type": "MANAGED"}], "jobQueues": [{"jobQueueName": "cpu", "priority": 1}]}`:              KindResources,
		`{"jobQueues": [{"jobQueueName": "cpu", "priority": 1}], "schedulingPolicies": []}`:                                                                   KindResources,
		`{"jobName": "a", "jobQueue": "q", "schedulingPriority": 1, "tags": {}}`:                                                                              KindSubmitJob,
		`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "timeoutConfig": {"attemptDurationSeconds": 60}}`:                                            KindSubmitJob,
		`{"computeEnvironment": "gpu", "type": "MANAGED", "state": "ENABLED", "computeResources": {"type": "EC2", "maxvCpus": 4}}`:                            KindComputeEnvironment,
		`{"jobQueueName": "night", "jobQueue": "night", "priority": 1, "state": "ENABLED", "computeEnvironmentOrder": []}`:                                    KindJobQueue,
		`{"name": "p", "arn": "a", "fairsharePolicy": {}}`:                                                                                                    KindSchedulingPolicy,
		`{"$schema": "native.schema.json#/$defs/CreateComputeEnvironment", "computeEnvironment": "gpu", "computeResources": {}, "state": "ENABLED"}`:          KindComputeEnvironment,
	} {
		f, _ := Load(diag.NewSource("x.json", text), Options{})
		if f.Kind != want || f.Unchecked != "" {
			t.Errorf("%s: kind %q %q, want %s", text, f.Kind, f.Unchecked, want)
		}
	}
}

// TestOtherTools checks the sentence about a file that the user names.
func TestOtherTools(t *testing.T) {
	for text, want := range map[string]string{
		`{"family": "web", "containerDefinitions": [{"name": "a", "image": "b:1", "memory": 512}], "volumes": [{"name": "data"}], "cpu": "256"}`:                                                       "an ECS task definition",
		`{"taskDefinition": {"family": "web", "containerDefinitions": []}}`:                                                                                                                            "an ECS task definition",
		`{"Family": "web", "ContainerDefinitions": [], "Volumes": []}`:                                                                                                                                 "an ECS task definition",
		`{"cluster": "c", "taskDefinition": "web:3", "launchType": "FARGATE", "tags": []}`:                                                                                                             "an ECS RunTask request",
		`{"containerOverrides": [{"name": "web", "command": ["echo", "hi"]}]}`:                                                                                                                         "an override of an ECS RunTask request",
		`{"containerOverrides": [{"name": "web"}], "cpu": "256", "taskRoleArn": "r", "ephemeralStorage": {"sizeInGiB": 30}}`:                                                                           "an override of an ECS RunTask request",
		`[{"name": "web", "image": "nginx:1", "essential": true}]`:                                                                                                                                     "a list of ECS container definitions",
		`{"version": "0", "id": "1", "detail-type": "Batch Job State Change", "source": "aws.batch", "time": "2026-01-01T00:00:00Z", "resources": ["r"], "detail": {"jobName": "a", "jobQueue": "q"}}`: "an EventBridge event",
		`{"source": ["aws.batch"], "detail-type": ["Batch Job State Change"]}`:                                                                                                                         "an EventBridge event",
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}`:                                                                                                             "a Kubernetes object",
		`{"name": "stack", "services": {"web": {"image": "nginx:1"}}, "volumes": {}}`:                                                                                                                  "a Compose file",
	} {
		f, problems := Load(diag.NewSource("x.json", text), Options{Hosts: true})
		if f == nil || len(problems) != 1 || problems[0].Message != "this is "+want+", not a document of AWS Batch" {
			t.Errorf("%s: %v", text, problems)
		}
		if got := Recognize(diag.NewSource("x.json", text)); got != Foreign {
			t.Errorf("%s: recognized %v", text, got)
		}
	}
}

// TestOperationTable compares the table with the API: every operation whose request has two members is checked or in
// the table, with all members. The others are requests that AWS has for all services, or have only common members.
func TestOperationTable(t *testing.T) {
	want := map[string][]string{}
	client := reflect.TypeFor[*batch.Client]()
	for i := range client.NumMethod() {
		m := client.Method(i)
		if m.Type.NumIn() < 3 || m.Type.In(2).Name() != "" && m.Type.In(2).Kind() != reflect.Pointer {
			continue
		}
		for f := range fieldsOf(m.Type.In(2).Elem()) {
			want[m.Name] = append(want[m.Name], plain(f))
		}
	}
	for structure, members := range apimodel.Get().Structures {
		if name, ok := strings.CutSuffix(structure, "Input"); ok {
			for m := range members {
				want[name] = append(want[name], plain(m))
			}
		}
	}
	for _, name := range []string{"TagResource", "UntagResource", "ListConsumableResources", "ListSchedulingPolicies"} {
		delete(want, name)
	}
	got := map[string][]string{}
	for _, ops := range operations() {
		for _, op := range ops {
			got[op.name] = op.members
		}
	}
	for name, members := range want {
		if compiled[Kind(name)] != nil && operationKinds[Kind(name)] == "" || len(members) < 2 {
			continue
		}
		slices.Sort(members)
		listed := slices.Sorted(slices.Values(got[name]))
		if !slices.Equal(members, listed) {
			t.Errorf("%s has %q, and the table %q", name, members, listed)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("the API has no %s", name)
		}
	}
}

// fieldsOf yields the members of a request of the SDK.
func fieldsOf(t reflect.Type) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(f.Name) {
				return
			}
		}
	}
}

func TestMayHavePlaceholder(t *testing.T) {
	for text, want := range map[string]bool{"replace": true, "REPLACE_ME": true, "xChangeme": true, "change": true, "rePlaCe": true, "chang": false, "eplace": false,
		"c": false, "": false, "accchange": true, "${x}": true, "{{": true, "<a>": true, "TODO": true, "plain": false,
		"subnet-yyyyyyyy": true, "sg-ZZZ": true, "xxxxxxxx": true, "arn:aws:iam::ACCOUNT:role/r": true, "account.dkr.ecr.us-east-1.amazonaws.com": true,
		"arn:aws:iam::123456789012:role/r": false, "123456789012.dkr.ecr.us-east-1.amazonaws.com": false, "your-queue": true,
		`{"$schema": "x"}`: false, "$(a.b)": true, "#{a}": true, "((a))": true, "YOUR_ID": true, `"[a_b]"`: true,
		`"$CE"`: true, `{"$schema": "x", "image": "$image"}`: true, `{"$comment": "x", "version": "$Latest"}`: false, `"^a$", "$5"`: false} {
		if mayHavePlaceholder(text) != want {
			t.Errorf("mayHavePlaceholder(%q) is %v", text, !want)
		}
	}
}
