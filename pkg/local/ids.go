package local

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Where the engine says it is. No AWS account has this number.
const (
	region  = "local"
	account = "000000000000"
)

const arnPrefix = "arn:aws:batch:" + region + ":" + account + ":"

// arn returns the ARN of a resource.
func arn(kind, name string) string { return resourceOf(kind, name).arn() }

// instancePrefix begins the ARN of the container instance of every attempt on a local
// engine, up to its cluster.
const instancePrefix = ecsPrefix + "container-instance/"

// RanBy is the executor that ran an attempt on a local engine. here is false for an attempt
// that ran elsewhere; name is empty where the executor is unknown.
func RanBy(c *types.AttemptContainerDetail) (name string, here bool) {
	if c == nil {
		return "", false
	}
	_, instance, _ := strings.Cut(strings.TrimPrefix(aws.ToString(c.ContainerInstanceArn), instancePrefix), "/")
	if after, known := strings.CutPrefix(instance, ComputeEnvironment+"-"); known {
		name = after
	}
	return name, strings.HasPrefix(aws.ToString(c.TaskArn), ecsPrefix)
}

// ecsPrefix begins the ARNs of the ECS resources that would be behind the jobs.
const ecsPrefix = "arn:aws:ecs:" + region + ":" + account + ":"

// cluster is the name of the ECS cluster that Batch would make for the environment.
func (v *environment) cluster() string {
	switch {
	case v == nil:
		return "AWSBatch-" + ComputeEnvironment
	case v.uuid == "":
		return "AWSBatch-" + v.name
	}
	return "AWSBatch-" + v.name + "-" + v.uuid
}

// taskARN is the ARN of the ECS task that the attempt would be: its id is the last
// part of the log stream's name.
func (a *attempt) taskARN() string { return ecsPrefix + "task/" + a.place.cluster() + "/" + a.stream }

// instanceARN is the ARN of the container instance that ran the attempt: this machine, with
// the executor where that is known. On Fargate there is none.
func (a *attempt) instanceARN() *string {
	if a.place != nil && a.place.platform() == types.PlatformCapabilityFargate {
		return nil
	}
	instance := ComputeEnvironment
	if a.executor != "" {
		instance += "-" + a.executor
	}
	return aws.String(instancePrefix + a.place.cluster() + "/" + instance)
}
