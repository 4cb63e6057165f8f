package local

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// identifierCase is a request with one member that identifies a resource.
type identifierCase struct {
	// member is Operation.member, without the path to it.
	member string
	// body has ID for the identifier.
	body string
	// kind and name identify the resource.
	kind, name string
	// before is a request that creates what the case needs: operation and body.
	before string
	// after is a request whose answer shows the effect.
	after string
}

// identifierCases has each member of each operation that identifies a resource. Words as in base requests stand for
// ids.
var identifierCases = []identifierCase{
	{"DescribeJobs.jobs", `{"jobs": ["ID"]}`, model.KindJob, "JOB", "", ""},
	{"DescribeJobs.jobs", `{"jobs": ["ID"]}`, model.KindJob, "ARRAY:1", "", ""},
	{"DescribeJobs.jobs", `{"jobs": ["ID"]}`, model.KindJob, "NODES#1", "", ""},
	{"ListJobs.arrayJobId", `{"arrayJobId": "ID", "jobStatus": "SUCCEEDED"}`, model.KindJob, "ARRAY", "", ""},
	{"ListJobs.multiNodeJobId", `{"multiNodeJobId": "ID", "jobStatus": "SUCCEEDED"}`, model.KindJob, "NODES", "", ""},
	{"ListJobs.jobQueue", `{"jobQueue": "ID", "jobStatus": "SUCCEEDED"}`, model.KindQueue, "default", "", ""},
	{"SubmitJob.jobId", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "work", "dependsOn": [{"jobId": "ID"}]}`, model.KindJob, "JOB", "", newest},
	{"SubmitJob.jobId", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "work", "dependsOn": [{"jobId": "ID"}]}`, model.KindJob, "ARRAY:1", "", newest},
	{"SubmitJob.jobId", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "work", "arrayProperties": {"size": 2}, "dependsOn": [{"jobId": "ID", "type": "N_TO_N"}]}`, model.KindJob, "ARRAY", "", newest},
	{"SubmitJob.jobQueue", `{"jobName": "j", "jobQueue": "ID", "jobDefinition": "work"}`, model.KindQueue, "default", "", newest},
	{"SubmitJob.jobDefinition", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "ID"}`, model.KindDefinition, "work", "", newest},
	{"SubmitJob.jobDefinition", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "ID"}`, model.KindDefinition, "work:1", "", newest},
	{"SubmitJob.consumableResource", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "work", "consumableResourcePropertiesOverride": {
		"consumableResourceList": [{"consumableResource": "ID", "quantity": 1}]}}`, model.KindConsumable, "licence", "", newest},
	{"CancelJob.jobId", `{"jobId": "ID", "reason": "r"}`, model.KindJob, "WAITING:0", "", `DescribeJobs {"jobs": ["WAITING:0"]}`},
	{"CancelJob.jobId", `{"jobId": "ID", "reason": "r"}`, model.KindJob, "WAITING", "", `DescribeJobs {"jobs": ["WAITING"]}`},
	{"TerminateJob.jobId", `{"jobId": "ID", "reason": "r"}`, model.KindJob, "RUNNING:0", "", `DescribeJobs {"jobs": ["RUNNING:0"]}`},
	{"TerminateJob.jobId", `{"jobId": "ID", "reason": "r"}`, model.KindJob, "RUNNING", "", `DescribeJobs {"jobs": ["RUNNING"]}`},
	{"DescribeJobQueues.jobQueues", `{"jobQueues": ["ID"]}`, model.KindQueue, "fair", "", ""},
	{"GetJobQueueSnapshot.jobQueue", `{"jobQueue": "ID"}`, model.KindQueue, "default", "", ""},
	{"UpdateJobQueue.jobQueue", `{"jobQueue": "ID", "priority": 7}`, model.KindQueue, "other", "", `DescribeJobQueues {"jobQueues": ["other"]}`},
	{"UpdateJobQueue.computeEnvironment", `{"jobQueue": "other", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ID"}]}`, model.KindEnvironment, "spare", "",
		`DescribeJobQueues {"jobQueues": ["other"]}`},
	{"CreateJobQueue.computeEnvironment", `{"jobQueueName": "second", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ID"}]}`, model.KindEnvironment, "spare", "",
		`DescribeJobQueues {"jobQueues": ["second"]}`},
	{"DeleteJobQueue.jobQueue", `{"jobQueue": "ID"}`, model.KindQueue, "second", `UpdateJobQueue {"jobQueue": "second", "state": "DISABLED"}`, `DescribeJobQueues {}`},
	{"DescribeComputeEnvironments.computeEnvironments", `{"computeEnvironments": ["ID"]}`, model.KindEnvironment, "local", "", ""},
	{"UpdateComputeEnvironment.computeEnvironment", `{"computeEnvironment": "ID", "context": "c"}`, model.KindEnvironment, "spare", "", `DescribeComputeEnvironments {}`},
	{"DeleteComputeEnvironment.computeEnvironment", `{"computeEnvironment": "ID"}`, model.KindEnvironment, "gone", `CreateComputeEnvironment {"computeEnvironmentName": "gone",
		"type": "UNMANAGED", "serviceRole": "arn:aws:iam::123456789012:role/r"}; UpdateComputeEnvironment {"computeEnvironment": "gone", "state": "DISABLED"}`, `DescribeComputeEnvironments {}`},
	{"DescribeJobDefinitions.jobDefinitions", `{"jobDefinitions": ["ID"]}`, model.KindDefinition, "work:1", "", ""},
	{"DeregisterJobDefinition.jobDefinition", `{"jobDefinition": "ID"}`, model.KindDefinition, "pod:1", "", `DescribeJobDefinitions {"jobDefinitions": ["pod:1"]}`},
	{"RegisterJobDefinition.consumableResource", `{"jobDefinitionName": "asks", "type": "container", "consumableResourceProperties": {"consumableResourceList": [
		{"consumableResource": "ID", "quantity": 1}]}, "containerProperties": {"image": "busybox", "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}}`,
		model.KindConsumable, "licence", "", `SubmitJob {"jobName": "a", "jobQueue": "default", "jobDefinition": "asks"}; ` + newest},
	{"DescribeSchedulingPolicies.arns", `{"arns": ["ID"]}`, model.KindPolicy, "even", "", ""},
	{"UpdateSchedulingPolicy.arn", `{"arn": "ID", "fairsharePolicy": {"shareDecaySeconds": 60}}`, model.KindPolicy, "spare", "",
		`DescribeSchedulingPolicies {"arns": ["arn:aws:batch:local:000000000000:scheduling-policy/spare"]}`},
	{"DeleteSchedulingPolicy.arn", `{"arn": "ID"}`, model.KindPolicy, "spare", "", `ListSchedulingPolicies {}`},
	{"DescribeConsumableResource.consumableResource", `{"consumableResource": "ID"}`, model.KindConsumable, "licence", "", ""},
	{"ListJobsByConsumableResource.consumableResource", `{"consumableResource": "ID"}`, model.KindConsumable, "licence", "", ""},
	{"UpdateConsumableResource.consumableResource", `{"consumableResource": "ID", "operation": "SET", "quantity": 9}`, model.KindConsumable, "licence", "", `ListConsumableResources {}`},
	{"DeleteConsumableResource.consumableResource", `{"consumableResource": "ID"}`, model.KindConsumable, "licence", "", `ListConsumableResources {}`},
	{"DescribeClusters.clusters", `{"clusters": ["ID"]}`, kindCluster, "AWSBatch-local", "", ""},
	{"ListTasks.cluster", `{"cluster": "ID", "family": "work"}`, kindCluster, "AWSBatch-local", "", ""},
	{"ListTasks.containerInstance", `{"cluster": "AWSBatch-local", "containerInstance": "ID", "family": "work"}`, "container-instance", "local", "", ""},
	{"DescribeTasks.cluster", `{"cluster": "ID", "tasks": ["TASK"]}`, kindCluster, "AWSBatch-local", "", ""},
	{"DescribeTasks.tasks", `{"cluster": "AWSBatch-local", "tasks": ["ID"]}`, "task", "TASK", "", ""},
	{"ListContainerInstances.cluster", `{"cluster": "ID"}`, kindCluster, "AWSBatch-local", "", ""},
	{"DescribeContainerInstances.cluster", `{"cluster": "ID", "containerInstances": ["local"]}`, kindCluster, "AWSBatch-local", "", ""},
	{"DescribeContainerInstances.containerInstances", `{"cluster": "AWSBatch-local", "containerInstances": ["ID"]}`, "container-instance", "local", "", ""},
	{"DescribeTaskDefinition.taskDefinition", `{"taskDefinition": "ID"}`, kindTaskDefinition, "work:1", "", ""},
	{"SubmitServiceJob.jobQueue", `{"jobName": "j", "jobQueue": "ID", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}"}`, model.KindQueue, "sage", "",
		`ListServiceJobs {"jobQueue": "sage", "jobStatus": "FAILED"}`},
	{"ListServiceJobs.jobQueue", `{"jobQueue": "ID", "jobStatus": "RUNNABLE"}`, model.KindQueue, "sage", "", ""},
	{"DescribeServiceJob.jobId", `{"jobId": "ID"}`, model.KindServiceJob, "STUCK", "", ""},
	{"UpdateServiceJob.jobId", `{"jobId": "ID", "schedulingPriority": 7}`, model.KindServiceJob, "STUCK", "", `DescribeServiceJob {"jobId": "STUCK"}`},
	{"TerminateServiceJob.jobId", `{"jobId": "ID", "reason": "r"}`, model.KindServiceJob, "STUCK", "", `DescribeServiceJob {"jobId": "STUCK"}`},
	{"CreateQuotaShare.jobQueue", `{"quotaShareName": "second", "jobQueue": "ID", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}],
		"resourceSharingConfiguration": {"strategy": "LEND"}, "preemptionConfiguration": {"inSharePreemption": "DISABLED"}}`, model.KindQueue, "quotas", "", `ListQuotaShares {"jobQueue": "quotas"}`},
	{"ListQuotaShares.jobQueue", `{"jobQueue": "ID"}`, model.KindQueue, "quotas", "", ""},
	{"DescribeServiceEnvironments.serviceEnvironments", `{"serviceEnvironments": ["ID"]}`, model.KindServiceEnvironment, "training", "", ""},
	{"UpdateServiceEnvironment.serviceEnvironment", `{"serviceEnvironment": "ID", "state": "DISABLED"}`, model.KindServiceEnvironment, "training", "", `DescribeServiceEnvironments {}`},
	{"CreateJobQueue.serviceEnvironment", `{"jobQueueName": "third", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "ID"}]}`,
		model.KindServiceEnvironment, "training", "", `DescribeJobQueues {"jobQueues": ["third"]}`},
	{"UpdateJobQueue.serviceEnvironment", `{"jobQueue": "sage", "serviceEnvironmentOrder": [{"order": 3, "serviceEnvironment": "ID"}]}`, model.KindServiceEnvironment, "training", "",
		`DescribeJobQueues {"jobQueues": ["sage"]}`},
	{"DeleteServiceEnvironment.serviceEnvironment", `{"serviceEnvironment": "ID"}`, model.KindServiceEnvironment, "gone", `CreateServiceEnvironment {"serviceEnvironmentName": "gone",
		"serviceEnvironmentType": "SAGEMAKER_TRAINING", "state": "DISABLED", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]}`, `DescribeServiceEnvironments {}`},
}

// newest shows the latest job with its dependencies and its queue.
const newest = `DescribeJobs {"jobs": ["NEWEST"]}`

// onlyARN are the members that are documented as ARNs, so a name is not accepted there.
var onlyARN = []string{"CreateJobQueue.schedulingPolicyArn", "UpdateJobQueue.schedulingPolicyArn", "ListTagsForResource.resourceArn", "TagResource.resourceArn", "UntagResource.resourceArn",
	"DescribeQuotaShare.quotaShareArn", "UpdateQuotaShare.quotaShareArn", "DeleteQuotaShare.quotaShareArn"}

// identifiers are the names of members that identify a resource which exists.
var identifiers = []string{"arn", "arns", "arrayJobId", "cluster", "clusters", "computeEnvironment", "computeEnvironments", "consumableResource", "containerInstance",
	"containerInstances", "jobDefinition", "jobDefinitions", "jobId", "jobQueue", "jobQueues", "jobs", "multiNodeJobId", "resourceArn", "schedulingPolicyArn", "taskDefinition",
	"quotaShareArn", "serviceEnvironment", "serviceEnvironments", "tasks"}

// The kinds of resources in ECS whose ARNs do not have a cluster.
const (
	kindCluster        = "cluster"
	kindTaskDefinition = "task-definition"
)

// ecsKinds are the kinds of resources in ECS, with the beginning of the part after the kind in their ARNs.
var ecsKinds = map[string]string{kindCluster: "", kindTaskDefinition: "", "task": "AWSBatch-local/", "container-instance": "AWSBatch-local/"}

// TestIDsAndARNs sends each request twice, to two engines: with the id or name of a resource, and with its ARN. All
// answers and effects are the same.
func TestIDsAndARNs(t *testing.T) {
	byID, byARN := identifierAnswers(t, false), identifierAnswers(t, true)
	tried := map[string]bool{}
	for i, c := range identifierCases {
		tried[c.member] = true
		if byID[i] != byARN[i] {
			t.Errorf("%s %s:\nby id:  %s\nby ARN: %s", c.member, c.name, byID[i], byARN[i])
		}
	}
	w := open(t, Options{})
	for operation, input := range inputs() {
		if _, message := w.call(operation, "{}"); strings.Contains(message, "does not implement this operation") {
			continue
		}
		names := map[string]bool{}
		memberNames(input, names)
		for _, name := range identifiers {
			member := operation + "." + name
			if names[name] && !tried[member] && !slices.Contains(onlyARN, member) && !strings.Contains(notIdentifiers, member+" ") {
				t.Errorf("no case has %s", member)
			}
		}
	}
}

// notIdentifiers are members that have the name of an identifier, in structures that the operation rejects.
const notIdentifiers = "SubmitJob.computeEnvironment "

// memberNames adds the names of all members of a shape.
func memberNames(t reflect.Type, names map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "ResultMetadata" {
			names[strings.ToLower(f.Name[:1])+f.Name[1:]] = true
			memberNames(f.Type, names)
		}
	}
}

// identifierAnswers returns the answers to the cases and to the requests that show their effects.
func identifierAnswers(t *testing.T, byARN bool) (answers []string) {
	synctest.Test(t, func(t *testing.T) {
		w := emptyEngine(t, Options{})
		w.names["STUCK"] = w.serve("sage", `{"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 100}}`)
		w.names["RUNNING"] = w.submit("work", modeltest.Words("1h"), modeltest.Array(4))
		w.names["WAITING"] = w.submit("work", modeltest.Words("1h"), modeltest.Array(3))
		synctest.Wait()
		w.want(w.names["RUNNING"]+":1", types.JobStatusRunning, "")
		w.want(w.names["WAITING"]+":1", types.JobStatusRunnable, "")
		run := func(requests string) (text string) {
			for request := range strings.SplitSeq(requests, "; ") {
				operation, body, _ := strings.Cut(request, " ")
				status, answer := w.send(operation, w.ids(body))
				if status != http.StatusOK {
					t.Errorf("%s %s: %d %s", operation, w.ids(body), status, answer)
				}
				text += fmt.Sprintln(status, varying.ReplaceAllString(answer, "UUID"))
				if operation == "SubmitJob" {
					w.names["NEWEST"] = varying.FindString(answer)
				}
				synctest.Wait()
			}
			return text
		}
		for _, c := range identifierCases {
			if c.before != "" {
				run(c.before)
			}
			id := c.name
			if of, inECS := ecsKinds[c.kind]; byARN && inECS {
				id = model.ECSPrefix + c.kind + "/" + of + c.name
			} else if byARN {
				id = model.ARN(c.kind, c.name)
			}
			operation, _, _ := strings.Cut(c.member, ".")
			answer := run(operation + " " + strings.ReplaceAll(c.body, `"ID"`, `"`+id+`"`))
			if c.after != "" {
				answer += run(c.after)
			}
			answers = append(answers, answer)
		}
	})
	return answers
}

// ids replaces the words for jobs in a request, also within ids of children and ARNs.
func (w *baseEngine) ids(body string) string {
	for _, word := range slices.Sorted(maps.Keys(w.names)) {
		body = strings.ReplaceAll(body, word, w.names[word])
	}
	return body
}
