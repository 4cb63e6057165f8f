package model

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// The account and Region of the engine. No AWS account has this number.
const (
	Region  = "local"
	Account = "000000000000"
)

const arnPrefix = "arn:aws:batch:" + Region + ":" + Account + ":"

// ARN returns the ARN of a resource.
func ARN(kind, name string) string { return ResourceOf(kind, name).ARN() }

// instancePrefix begins the ARN of the container instance of every attempt on a local
// engine, up to its cluster.
const instancePrefix = ECSPrefix + "container-instance/"

// RanBy returns the executor that ran an attempt on a local engine. here is false for an attempt
// that ran elsewhere; name is empty if the executor is unknown.
func RanBy(c *types.AttemptContainerDetail) (name string, here bool) {
	if c == nil {
		return "", false
	}
	_, instance, _ := strings.Cut(strings.TrimPrefix(aws.ToString(c.ContainerInstanceArn), instancePrefix), "/")
	if after, known := strings.CutPrefix(instance, ComputeEnvironment+"-"); known {
		name = after
	}
	return name, strings.HasPrefix(aws.ToString(c.TaskArn), ECSPrefix)
}

// ECSPrefix begins the ARNs of the ECS resources that AWS would have for the jobs.
const ECSPrefix = "arn:aws:ecs:" + Region + ":" + Account + ":"

// Cluster returns the name of the ECS cluster that Batch would create for the environment. A nil
// environment means the machine.
func (v *Environment) Cluster() string {
	switch {
	case v == nil:
		return "AWSBatch-" + ComputeEnvironment
	case v.UUID == "":
		return "AWSBatch-" + v.Name
	}
	return "AWSBatch-" + v.Name + "-" + v.UUID
}

// TaskARN returns the ARN of the attempt's ECS task. Its id is the last part of the log stream's
// name.
func (a *Attempt) TaskARN() string {
	return ECSPrefix + "task/" + a.Environment.Cluster() + "/" + a.Stream
}

// InstanceARN returns the ARN of the container instance that ran the attempt: the local machine,
// with the executor if known. It is nil on Fargate.
func (a *Attempt) InstanceARN() *string {
	if a.Environment != nil && a.Environment.Platform() == types.PlatformCapabilityFargate {
		return nil
	}
	instance := ComputeEnvironment
	if a.Executor != "" {
		instance += "-" + a.Executor
	}
	return aws.String(instancePrefix + a.Environment.Cluster() + "/" + instance)
}
