package wire

import (
	"strings"
	"sync"
)

// operations are the Batch operations with the route POST /v1/<name in lower case>.
var operations = [...]string{
	"CancelJob", "CreateComputeEnvironment", "CreateConsumableResource", "CreateJobQueue", "CreateQuotaShare",
	"CreateSchedulingPolicy", "CreateServiceEnvironment", "DeleteComputeEnvironment", "DeleteConsumableResource",
	"DeleteJobQueue", "DeleteQuotaShare", "DeleteSchedulingPolicy", "DeleteServiceEnvironment",
	"DeregisterJobDefinition", "DescribeComputeEnvironments", "DescribeConsumableResource", "DescribeJobDefinitions",
	"DescribeJobQueues", "DescribeJobs", "DescribeQuotaShare", "DescribeSchedulingPolicies",
	"DescribeServiceEnvironments", "DescribeServiceJob", "GetJobQueueSnapshot", "ListConsumableResources", "ListJobs",
	"ListJobsByConsumableResource", "ListQuotaShares", "ListSchedulingPolicies", "ListServiceJobs",
	"RegisterJobDefinition", "SubmitJob", "SubmitServiceJob", "TerminateJob", "TerminateServiceJob",
	"UpdateComputeEnvironment", "UpdateConsumableResource", "UpdateJobQueue", "UpdateQuotaShare",
	"UpdateSchedulingPolicy", "UpdateServiceEnvironment", "UpdateServiceJob",
}

// tagOperations share one path; the method distinguishes them.
var tagOperations = [...]struct{ method, name string }{
	{"GET", "ListTagsForResource"}, {"POST", "TagResource"}, {"DELETE", "UntagResource"},
}

const (
	// The prefixes of paths, and of X-Amz-Target in CloudWatch Logs and ECS (AWS service models).
	pathPrefix    = "/v1/"
	tagPrefix     = "/v1/tags/"
	logsPrefix    = "Logs_20140328."
	clusterPrefix = "AmazonEC2ContainerServiceV20141113."
)

// Operation returns the Batch operation that a method and a decoded URL path
// belong to.
func Operation(method, path string) (name string, ok bool) {
	if len(path) > len(tagPrefix) && strings.HasPrefix(path, tagPrefix) {
		for _, t := range tagOperations {
			if t.method == method {
				return t.name, true
			}
		}
	}
	if method != "POST" {
		return "", false
	}
	name, ok = byPath()[path]
	return name, ok
}

// byPath returns the operations by path.
var byPath = sync.OnceValue(func() map[string]string {
	paths := map[string]string{}
	for _, name := range operations {
		paths[pathPrefix+strings.ToLower(name)] = name
	}
	return paths
})

// Path returns the method and the path of a Batch operation. The path may contain the label
// {resourceArn}. Both are empty for an unknown operation.
func Path(operation string) (method, path string) {
	for _, t := range tagOperations {
		if t.name == operation {
			return t.method, tagPrefix + "{resourceArn}"
		}
	}
	for _, name := range operations {
		if name == operation {
			return "POST", pathPrefix + strings.ToLower(name)
		}
	}
	return "", ""
}

// LogsOperation returns the CloudWatch Logs operation named by the header
// X-Amz-Target of a POST to /.
func LogsOperation(target string) (name string, ok bool) {
	return strings.CutPrefix(target, logsPrefix)
}

// ClusterOperation does the same for ECS, which has the clusters of Batch.
func ClusterOperation(target string) (name string, ok bool) {
	return strings.CutPrefix(target, clusterPrefix)
}
