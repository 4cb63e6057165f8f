//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package batchapi

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// containerDetail returns the job's container with the results of its latest attempt, also of a
// running one.
func containerDetail(t *model.Task) *types.ContainerDetail {
	d := describeContainer(t.Job.Container)
	if a := t.Last(); a != nil {
		d.ExitCode, d.Reason, d.LogStreamName, d.TaskArn = a.Exit, call.Optional(a.Reason), aws.String(t.LogStream(a)),
			aws.String(t.ECSTaskARN(a, 0))
		d.ContainerInstanceArn = a.InstanceARN()
	}
	return d
}

// nodeContainer returns part i, the only container of a node, with the results of the newest attempt. While
// the node runs, it has no exit code.
func nodeContainer(t *model.Task, i int) *types.ContainerDetail {
	d := describeContainer(t.Job.Parts[i].Container)
	if a := t.Last(); a != nil {
		d.LogStreamName, d.TaskArn = aws.String(t.PartLogStream(a, i)), aws.String(t.ECSTaskARN(a, t.Job.Parts[i].Node))
		d.ContainerInstanceArn = a.InstanceARN()
		d.ExitCode, d.Reason = partEnd(a, i)
	}
	return d
}

// describeContainer returns a container without the results of an attempt.
func describeContainer(c *types.ContainerProperties) *types.ContainerDetail {
	return &types.ContainerDetail{
		Command:                      append([]string{}, c.Command...),
		EnableExecuteCommand:         c.EnableExecuteCommand,
		Environment:                  append([]types.KeyValuePair{}, c.Environment...),
		EphemeralStorage:             c.EphemeralStorage,
		ExecutionRoleArn:             c.ExecutionRoleArn,
		FargatePlatformConfiguration: c.FargatePlatformConfiguration,
		Image:                        c.Image,
		JobRoleArn:                   c.JobRoleArn,
		LinuxParameters:              c.LinuxParameters,
		LogConfiguration:             c.LogConfiguration,
		Memory:                       c.Memory,
		MountPoints:                  append([]types.MountPoint{}, c.MountPoints...),
		NetworkConfiguration:         c.NetworkConfiguration,
		NetworkInterfaces:            []types.NetworkInterface{},
		Privileged:                   c.Privileged,
		ReadonlyRootFilesystem:       c.ReadonlyRootFilesystem,
		RepositoryCredentials:        c.RepositoryCredentials,
		ResourceRequirements:         append([]types.ResourceRequirement{}, c.ResourceRequirements...),
		RuntimePlatform:              c.RuntimePlatform,
		Secrets:                      append([]types.Secret{}, c.Secrets...),
		Ulimits:                      append([]types.Ulimit{}, c.Ulimits...),
		User:                         c.User,
		Vcpus:                        c.Vcpus,
		Volumes:                      append([]types.Volume{}, c.Volumes...),
	}
}

// partEnd returns the exit code and the reason of container i in an attempt. A running attempt has none, and
// a container that never started need not have one.
func partEnd(a *model.Attempt, i int) (exit *int32, reason *string) {
	if i >= len(a.Containers) {
		return nil, nil
	}
	return a.Containers[i].Exit, call.Optional(a.Containers[i].Reason)
}

// nodeProperties returns the job's nodes as DescribeJobs shows them, with the number of nodes
// after overrides.
func nodeProperties(j *model.Job) *types.NodeProperties {
	p := describedNodes(j.Definition.Request.NodeProperties)
	p.NumNodes = aws.Int32(int32(j.Nodes()))
	return p
}
