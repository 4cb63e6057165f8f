package modeltest

import (
	"encoding/json"
)

// ServiceResources calls must with the requests that create service environments, queues and a quota share.
func ServiceResources(must func(operation, body string)) {
	for _, r := range [][2]string{
		{"CreateServiceEnvironment", `{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 4}]}`},
		{"CreateServiceEnvironment", `{"serviceEnvironmentName": "typed", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 4}]}`},
		{"CreateJobQueue", `{"jobQueueName": "sage", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`},
		{"CreateSchedulingPolicy", `{"name": "quota", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}`},
		{"CreateJobQueue", `{"jobQueueName": "quotas", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "schedulingPolicyArn": "arn:aws:batch:local:000000000000:scheduling-policy/quota",
			"serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "typed"}]}`},
		{"CreateQuotaShare", `{"quotaShareName": "team", "jobQueue": "quotas", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 2}],
			"resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW"}, "preemptionConfiguration": {"inSharePreemption": "DISABLED"}}`},
	} {
		must(r[0], r[1])
	}
}

// Training returns a payload for instances of ml.m5.large whose container gets the arguments.
func Training(count int, arguments ...string) string {
	text, err := json.Marshal(map[string]any{"TrainingJobName": "mnist", "RoleArn": "arn:aws:iam::123456789012:role/r",
		"AlgorithmSpecification": map[string]any{"TrainingImage": "train:1", "TrainingInputMode": "File",
			"ContainerArguments": arguments},
		"OutputDataConfig": map[string]any{"S3OutputPath": "s3://b/o"},
		"HyperParameters":  map[string]string{"eta": "0.1"},
		"Environment":      map[string]string{"A": "b"}, "ResourceConfig": map[string]any{"InstanceType": "ml.m5.large",
			"InstanceCount": count, "VolumeSizeInGB": 1}})
	if err != nil {
		panic(err)
	}
	return string(text)
}
