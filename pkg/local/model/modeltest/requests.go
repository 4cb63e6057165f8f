package modeltest

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/local/api/call"
)

// BaseRequest is a valid request of an operation. NAME stands for a new name in each request.
type BaseRequest struct {
	Operation string
	Body      string
	// Answer is how the error of the request begins, if it is an error; on a strict engine.
	Answer string
}

// The containers of the requests have every structure that a container can have.
const (
	someTaskContainer = `"image": "busybox", "command": ["true"], "user": "u", "readonlyRootFilesystem": false, "privileged": false,
		"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}],
		"environment": [{"name": "A", "value": "b"}], "repositoryCredentials": {"credentialsParameter": "arn:aws:secretsmanager:us-east-1:123456789012:secret:r"},
		"logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "g"}, "secretOptions": [{"name": "s", "valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/p"}]},
		"secrets": [{"name": "S", "valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/p"}], "ulimits": [{"name": "nofile", "softLimit": 9, "hardLimit": 9}],
		"mountPoints": [{"containerPath": "/a", "sourceVolume": "v", "readOnly": true}],
		"linuxParameters": {"initProcessEnabled": true, "sharedMemorySize": 64, "maxSwap": 64, "swappiness": 10,
			"devices": [{"hostPath": "/dev/null", "containerPath": "/dev/n", "permissions": ["READ"]}],
			"tmpfs": [{"containerPath": "/t", "size": 4, "mountOptions": ["ro"]}]}`
	someContainer = `"jobRoleArn": "arn:aws:iam::123456789012:role/r", "executionRoleArn": "arn:aws:iam::123456789012:role/r", ` + someTaskContainer
	someVolumes   = `"volumes": [{"name": "v", "host": {"sourcePath": "/srv"}}, {"name": "efs", "efsVolumeConfiguration": {"fileSystemId": "fs-12345678",
		"rootDirectory": "/", "transitEncryption": "ENABLED", "authorizationConfig": {"accessPointId": "fsap-12345678", "iam": "ENABLED"}}},
		{"name": "s3", "s3filesVolumeConfiguration": {"fileSystemArn": "arn:aws:s3files:us-east-1:123456789012:file-system/fs-1", "rootDirectory": "/"}}]`
	someRest = `"parameters": {"p": "q"}, "tags": {"t": "u"}, "timeout": {"attemptDurationSeconds": 60}, "propagateTags": true, "schedulingPriority": 1,
		"retryStrategy": {"attempts": 2, "evaluateOnExit": [{"action": "RETRY", "onExitCode": "1", "onReason": "r", "onStatusReason": "s"}]},
		"consumableResourceProperties": {"consumableResourceList": [{"consumableResource": "licence", "quantity": 1}]}`
	SomePod = `{"dnsPolicy": "Default", "serviceAccountName": "a", "imagePullSecrets": [{"name": "s"}], "metadata": {"labels": {"l": "m"}, "annotations": {"a": "b"}, "namespace": "n"},
		"initContainers": [{"name": "i", "image": "busybox", "resources": {"limits": {"cpu": "1", "memory": "64Mi"}}}],
		"containers": [{"name": "c", "image": "busybox", "args": ["a"], "command": ["true"], "imagePullPolicy": "Always", "env": [{"name": "A", "value": "b"}],
			"resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "1", "memory": "64Mi"}}, "securityContext": {"runAsUser": 1},
			"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "s"}]}],
		"volumes": [{"name": "v", "emptyDir": {"medium": "", "sizeLimit": "1Mi"}}, {"name": "h", "hostPath": {"path": "/srv"}}, {"name": "k", "secret": {"secretName": "k"}},
			{"name": "p", "persistentVolumeClaim": {"claimName": "c"}}]}`
	SomeResources = `"minvCpus": 0, "desiredvCpus": 0, "maxvCpus": 4, "instanceTypes": ["m5"], "instanceRole": "ecsInstanceRole", "subnets": ["subnet-12345678"],
		"securityGroupIds": ["sg-12345678"], "ec2KeyPair": "k", "placementGroup": "p", "tags": {"t": "u"}, "imageId": "ami-12345678", "scalingPolicy": {"minScaleDownDelayMinutes": 20},
		"ec2Configuration": [{"imageType": "ECS_AL2023", "imageIdOverride": "ami-12345678"}],
		"launchTemplate": {"launchTemplateId": "lt-12345678", "version": "1", "overrides": [{"launchTemplateId": "lt-23456789", "version": "1", "targetInstanceTypes": ["m5.large"]}]}`
	someShares  = `{"computeReservation": 1, "shareDecaySeconds": 60, "shareDistribution": [{"shareIdentifier": "s", "weightFactor": 1}]}`
	someFilters = `[{"name": "JOB_NAME", "values": ["a*"]}]`
	SomeQuery   = `{"logGroupName": "made", "startTime": 1, "endTime": 2, "queryString": "fields @message"}`
	someLimits  = `[{"state": "RUNNABLE", "action": "CANCEL", "maxTimeSeconds": 600, "reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"}]`
)

// BaseRequests are requests of all operations, with everything that a request can have. The words JOB, ARRAY and others
// stand for ids.
var BaseRequests = []BaseRequest{
	{"RegisterJobDefinition", `{"jobDefinitionName": "NAME", "type": "container", "platformCapabilities": ["EC2"], ` + someRest + `,
		"containerProperties": {` + someContainer + `, ` + someVolumes + `}}`, ""},
	{"RegisterJobDefinition", `{"jobDefinitionName": "NAME", "type": "container", "platformCapabilities": ["FARGATE"], "containerProperties": {
		"image": "busybox", "executionRoleArn": "arn:aws:iam::123456789012:role/r", "networkConfiguration": {"assignPublicIp": "ENABLED"}, "ephemeralStorage": {"sizeInGiB": 21},
		"fargatePlatformConfiguration": {"platformVersion": "LATEST"}, "runtimePlatform": {"cpuArchitecture": "X86_64", "operatingSystemFamily": "LINUX"},
		"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "2048"}]}}`, ""},
	{"RegisterJobDefinition", `{"jobDefinitionName": "NAME", "type": "container", "ecsProperties": {"taskProperties": [{"ipcMode": "none", "pidMode": "task",
		"executionRoleArn": "arn:aws:iam::123456789012:role/r", "taskRoleArn": "arn:aws:iam::123456789012:role/r", ` + someVolumes + `, "containers": [
			{"name": "c", "essential": true, "dependsOn": [{"containerName": "f", "condition": "START"}], ` + someTaskContainer + `},
			{"name": "d", "image": "busybox", "logConfiguration": {"logDriver": "awsfirelens"},
				"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]},
			{"name": "f", "image": "fluent", "essential": false, "firelensConfiguration": {"type": "fluentbit", "options": {"enable-ecs-log-metadata": "true"}},
				"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}]}]}}`, ""},
	{"RegisterJobDefinition", `{"jobDefinitionName": "NAME", "type": "multinode", "nodeProperties": {"mainNode": 0, "numNodes": 2, "nodeRangeProperties": [
		{"targetNodes": "0:", "container": {` + someContainer + `, ` + someVolumes + `}}]}}`, ""},
	{"RegisterJobDefinition", `{"jobDefinitionName": "NAME", "type": "container", "eksProperties": {"podProperties": ` + SomePod + `}}`, ""},
	{"SubmitJob", `{"jobName": "j", "jobQueue": "fair", "jobDefinition": "work", "shareIdentifier": "s", "schedulingPriorityOverride": 1, "arrayProperties": {"size": 2},
		"dependsOn": [{"jobId": "JOB", "type": "SEQUENTIAL"}], "parameters": {"p": "q"}, "tags": {"t": "u"}, "timeout": {"attemptDurationSeconds": 60}, "propagateTags": true,
		"retryStrategy": {"attempts": 2, "evaluateOnExit": [{"action": "RETRY", "onExitCode": "1", "onReason": "r", "onStatusReason": "s"}]},
		"consumableResourcePropertiesOverride": {"consumableResourceList": [{"consumableResource": "licence", "quantity": 1}]},
		"containerOverrides": {"command": ["true"], "environment": [{"name": "A", "value": "b"}], "resourceRequirements": [{"type": "VCPU", "value": "1"}]}}`, ""},
	{"SubmitJob", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "work", "dependsOn": [{"jobId": "JOB", "type": "SEQUENTIAL"}]}`, ""},
	{"SubmitJob", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "task", "ecsPropertiesOverride": {"taskProperties": [{"containers": [
		{"name": "c", "command": ["true"], "environment": [{"name": "A", "value": "b"}], "resourceRequirements": [{"type": "VCPU", "value": "1"}]}]}]}}`, ""},
	{"SubmitJob", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "nodes", "nodeOverrides": {"numNodes": 2, "nodePropertyOverrides": [{"targetNodes": "0:", "instanceTypes": ["m5.large"],
		"containerOverrides": {"command": ["true"], "instanceType": "m5.large", "environment": [{"name": "A", "value": "b"}]}}]}}`, ""},
	{"SubmitJob", `{"jobName": "j", "jobQueue": "default", "jobDefinition": "pod", "eksPropertiesOverride": {"podProperties": {"metadata": {"labels": {"l": "m"}}, "initContainers": [{"name": "i"}],
		"containers": [{"name": "c", "args": ["a"], "command": ["true"], "image": "busybox", "env": [{"name": "A", "value": "b"}], "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]}}}`, ""},
	{"CreateComputeEnvironment", `{"computeEnvironmentName": "NAME", "type": "MANAGED", "state": "ENABLED", "serviceRole": "arn:aws:iam::123456789012:role/r", "tags": {"t": "u"}, "context": "c",
		"computeResources": {"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", ` + SomeResources + `}}`, ""},
	{"CreateComputeEnvironment", `{"computeEnvironmentName": "NAME", "type": "MANAGED", "computeResources": {"type": "SPOT", "bidPercentage": 50, "spotIamFleetRole": "arn:aws:iam::123456789012:role/r",
		"allocationStrategy": "SPOT_CAPACITY_OPTIMIZED", ` + SomeResources + `}}`, ""},
	{"CreateComputeEnvironment", `{"computeEnvironmentName": "NAME", "type": "MANAGED", "eksConfiguration": {"eksClusterArn": "arn:aws:eks:us-east-1:123456789012:cluster/c", "kubernetesNamespace": "n"},
		"computeResources": {"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": ["m5"], "instanceRole": "r", "subnets": ["subnet-12345678"],
		"securityGroupIds": ["sg-12345678"], "ec2Configuration": [{"imageType": "EKS_AL2023", "imageKubernetesVersion": "1.34"}]}}`, ""},
	{"CreateComputeEnvironment", `{"computeEnvironmentName": "NAME", "type": "UNMANAGED", "serviceRole": "arn:aws:iam::123456789012:role/r", "unmanagedvCpus": 4}`, ""},
	{"UpdateComputeEnvironment", `{"computeEnvironment": "spare", "state": "ENABLED", "serviceRole": "arn:aws:iam::123456789012:role/r", "context": "c",
		"updatePolicy": {"terminateJobsOnUpdate": true, "jobExecutionTimeoutMinutes": 30},
		"computeResources": {"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", ` + SomeResources + `}}`, ""},
	{"CreateJobQueue", `{"jobQueueName": "NAME", "priority": 1, "state": "ENABLED", "jobQueueType": "ECS", "schedulingPolicyArn": "arn:aws:batch:local:000000000000:scheduling-policy/even",
		"tags": {"t": "u"}, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}], "jobStateTimeLimitActions": ` + someLimits + `}`, ""},
	{"UpdateJobQueue", `{"jobQueue": "other", "priority": 1, "state": "ENABLED", "schedulingPolicyArn": "arn:aws:batch:local:000000000000:scheduling-policy/even",
		"computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}], "jobStateTimeLimitActions": ` + someLimits + `}`, ""},
	{"CreateSchedulingPolicy", `{"name": "NAME", "tags": {"t": "u"}, "fairsharePolicy": ` + someShares + `}`, ""},
	{"UpdateSchedulingPolicy", `{"arn": "arn:aws:batch:local:000000000000:scheduling-policy/spare", "fairsharePolicy": ` + someShares + `}`, ""},
	{"CreateConsumableResource", `{"consumableResourceName": "NAME", "resourceType": "REPLENISHABLE", "totalQuantity": 4, "tags": {"t": "u"}}`, ""},
	{"UpdateConsumableResource", `{"consumableResource": "licence", "operation": "SET", "quantity": 100, "clientToken": "NAME"}`, ""},
	{"DescribeComputeEnvironments", `{"computeEnvironments": ["local"]}`, ""},
	{"DescribeComputeEnvironments", `{"maxResults": 10}`, ""},
	{"DescribeJobQueues", `{"jobQueues": ["default"]}`, ""},
	{"DescribeJobQueues", `{"maxResults": 10}`, ""},
	{"DescribeJobDefinitions", `{"jobDefinitions": ["work:1"]}`, ""},
	{"DescribeJobDefinitions", `{"jobDefinitionName": "work", "status": "ACTIVE", "maxResults": 10}`, ""},
	{"ListConsumableResources", `{"filters": [{"name": "CONSUMABLE_RESOURCE_NAME", "values": ["a*"]}], "maxResults": 10}`, ""},
	{"ListJobs", `{"jobQueue": "default", "jobStatus": "FAILED", "maxResults": 10}`, ""},
	{"ListJobs", `{"jobQueue": "default", "filters": ` + someFilters + `}`, ""},
	{"ListJobs", `{"arrayJobId": "ARRAY", "jobStatus": "FAILED"}`, ""},
	{"ListJobs", `{"multiNodeJobId": "NODES", "jobStatus": "FAILED"}`, ""},
	{"ListJobsByConsumableResource", `{"consumableResource": "licence", "filters": ` + someFilters + `, "maxResults": 10}`, ""},
	{"ListSchedulingPolicies", `{"maxResults": 10}`, ""},
	{"GetLogEvents", `{"logGroupName": "/aws/batch/job", "logStreamName": "STREAM", "limit": 9, "startTime": 1, "endTime": 2, "startFromHead": true}`, ""},
	{"FilterLogEvents", `{"logGroupName": "/aws/batch/job", "logStreamNames": ["STREAM"], "filterPattern": "a", "limit": 9, "startTime": 1, "endTime": 2, "interleaved": true}`, ""},
	{"FilterLogEvents", `{"logGroupIdentifier": "/aws/batch/job", "logStreamNamePrefix": "work"}`, ""},
	{"DescribeLogStreams", `{"logGroupName": "/aws/batch/job", "logStreamNamePrefix": "work", "orderBy": "LogStreamName", "descending": true, "limit": 9}`, ""},
	{"DescribeLogGroups", `{"logGroupNamePrefix": "/aws", "limit": 9, "logGroupClass": "STANDARD", "accountIdentifiers": ["000000000000"]}`, ""},
	{"DescribeLogGroups", `{"logGroupIdentifiers": ["/aws/batch/job"]}`, ""},
	{"CreateLogGroup", `{"logGroupName": "NAME", "kmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/k", "logGroupClass": "STANDARD", "tags": {"t": "u"}, "deletionProtectionEnabled": true}`, ""},
	{"CreateLogStream", `{"logGroupName": "made", "logStreamName": "NAME"}`, ""},
	{"PutLogEvents", `{"logGroupName": "made", "logStreamName": "s", "sequenceToken": "1", "logEvents": [{"timestamp": 1, "message": "m"}],
		"entity": {"attributes": {"a": "b"}, "keyAttributes": {"Name": "n"}}}`, ""},
	{"PutRetentionPolicy", `{"logGroupName": "made", "retentionInDays": 7}`, ""},
	{"DeleteRetentionPolicy", `{"logGroupName": "made"}`, ""},
	{"DeleteLogGroup", `{"logGroupName": "NAME"}`, "The specified log group does not exist."},
	{"StartQuery", `{"logGroupName": "made", "startTime": 1, "endTime": 2, "queryString": "fields @message", "limit": 9, "queryLanguage": "CWLI"}`, ""},
	{"StartQuery", `{"logGroupNames": ["made"], "startTime": 1, "endTime": 2, "queryString": "fields @message"}`, ""},
	{"StartQuery", `{"logGroupIdentifiers": ["made"], "startTime": 1, "endTime": 2, "queryString": "fields @message"}`, ""},
	{"GetQueryResults", `{"queryId": "QUERY", "maxItems": 9}`, ""},
	{"DescribeQueries", `{"logGroupName": "made", "status": "Complete", "maxResults": 9, "queryLanguage": "CWLI"}`, ""},
	{"GetLogRecord", `{"logRecordPointer": "POINTER", "unmask": true}`, ""},
	{"GetLogGroupFields", `{"logGroupName": "made", "time": 1}`, ""},
	{"CreateServiceEnvironment", `{"serviceEnvironmentName": "NAME", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "state": "ENABLED", "tags": {"t": "u"},
		"capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 4}]}`, ""},
	{"UpdateServiceEnvironment", `{"serviceEnvironment": "training", "state": "ENABLED", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 4}]}`, ""},
	{"DescribeServiceEnvironments", `{"serviceEnvironments": ["training"], "maxResults": 10}`, ""},
	{"CreateJobQueue", `{"jobQueueName": "NAME", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "state": "ENABLED", "tags": {"t": "u"},
		"serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`, ""},
	{"UpdateJobQueue", `{"jobQueue": "sage", "priority": 1, "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`, ""},
	{"CreateSchedulingPolicy", `{"name": "NAME", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}`, ""},
	{"CreateQuotaShare", `{"quotaShareName": "NAME", "jobQueue": "quotas", "state": "ENABLED", "tags": {"t": "u"}, "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}],
		"resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW", "borrowLimit": 50}, "preemptionConfiguration": {"inSharePreemption": "ENABLED"}}`, ""},
	{"UpdateQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team", "state": "ENABLED", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 2}],
		"resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW", "borrowLimit": 50}, "preemptionConfiguration": {"inSharePreemption": "ENABLED"}}`, ""},
	{"ListQuotaShares", `{"jobQueue": "sage", "maxResults": 10}`, ""},
	{"SubmitServiceJob", `{"jobName": "j", "jobQueue": "sage", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}", "schedulingPriority": 1, "tags": {"t": "u"},
		"retryStrategy": {"attempts": 2, "evaluateOnExit": [{"action": "RETRY", "onStatusReason": "s"}]}, "timeoutConfig": {"attemptDurationSeconds": 60}, "clientToken": "NAME"}`, ""},
	{"SubmitServiceJob", `{"jobName": "j", "jobQueue": "quotas", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}", "quotaShareName": "team",
		"preemptionConfiguration": {"preemptionRetriesBeforeTermination": 1}}`, ""},
	{"DescribeServiceJob", `{"jobId": "SERVICE"}`, ""},
	{"DescribeQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team"}`, ""},
	{"ListServiceJobs", `{"jobQueue": "sage", "jobStatus": "FAILED", "maxResults": 10}`, ""},
	{"ListServiceJobs", `{"jobQueue": "sage", "filters": ` + someFilters + `}`, ""},
	{"ListClusters", `{"maxResults": 10}`, ""},
	{"DescribeClusters", `{"clusters": ["AWSBatch-local"], "include": ["TAGS"]}`, ""},
	{"ListContainerInstances", `{"cluster": "AWSBatch-local", "status": "ACTIVE", "maxResults": 10}`, ""},
	{"DescribeContainerInstances", `{"cluster": "AWSBatch-local", "containerInstances": ["local"], "include": ["TAGS", "CONTAINER_INSTANCE_HEALTH"]}`, ""},
	{"ListTasks", `{"cluster": "AWSBatch-local", "containerInstance": "local", "family": "work", "launchType": "EC2", "desiredStatus": "STOPPED", "maxResults": 10}`, ""},
	{"DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": ["TASK"], "include": ["TAGS"]}`, ""},
	{"DescribeTaskDefinition", `{"taskDefinition": "work:1", "include": ["TAGS"]}`, ""},
}

// CheckRules applies the rules of validate, as batchctl serve does.
func CheckRules(operation string, body []byte) error {
	root, problems := jsontree.Parse(diag.NewSource("request", string(body)))
	if len(problems) == 0 {
		problems = lint.CheckRequest(operation, root)
	}
	for _, d := range problems {
		if d.Severity == diag.Error {
			return &call.BrokenRules{Message: d.Message + " [" + d.Rule + "]", Rules: []string{d.Rule}}
		}
	}
	return nil
}
