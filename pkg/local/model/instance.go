package model

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Instance is a container instance: the local machine in the cluster of an environment, with an
// executor. A nil environment means the machine.
type Instance struct {
	Environment *Environment
	Executor    string // "" if unknown
}

// instancePrefix begins the ARN of the container instance of every attempt on a local
// engine, up to its cluster.
const instancePrefix = ECSPrefix + "container-instance/"

// ID returns the last part of the instance's ARN.
func (i Instance) ID() string {
	if i.Executor == "" {
		return ComputeEnvironment
	}
	return ComputeEnvironment + "-" + i.Executor
}

// ARN returns the ARN of the instance.
func (i Instance) ARN() string { return instancePrefix + i.Environment.Cluster() + "/" + i.ID() }

// InstanceARN returns the ARN of the container instance that ran the attempt; nil on Fargate.
func (a *Attempt) InstanceARN() *string {
	if a.Environment.IsFargate() {
		return nil
	}
	return aws.String(Instance{a.Environment, a.Executor}.ARN())
}

// PodName returns the name of the pod of an attempt, or of one node of it, in the form that Batch gives it (user guide,
// "Amazon EKS jobs"). Its last part is that of the log streams.
func (t *Task) PodName(a *Attempt, node int) string { return batch.PodName(t.ecsID(a, node)) }

// NodeName returns the name of the node that ran the pod: the local machine.
func (a *Attempt) NodeName() string { return Instance{a.Environment, a.Executor}.ID() }

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
