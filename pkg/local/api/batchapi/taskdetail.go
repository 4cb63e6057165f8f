package batchapi

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// describeTask returns the containers of a node or job with ecsProperties, with the results of the newest
// attempt. The members of the task come from the definition: Batch allows no overrides of them.
func describeTask(t *model.Task, node int) *types.EcsPropertiesDetail {
	from, to := t.Job.PartsOf(node)
	p := t.Job.Parts[from].Task
	d := types.EcsTaskDetails{
		EnableExecuteCommand: p.EnableExecuteCommand,
		EphemeralStorage:     p.EphemeralStorage,
		ExecutionRoleArn:     p.ExecutionRoleArn,
		IpcMode:              p.IpcMode,
		NetworkConfiguration: p.NetworkConfiguration,
		PidMode:              p.PidMode,
		PlatformVersion:      p.PlatformVersion,
		RuntimePlatform:      p.RuntimePlatform,
		TaskRoleArn:          p.TaskRoleArn,
		Volumes:              append([]types.Volume{}, p.Volumes...),
	}
	a := t.Last()
	if a != nil {
		d.TaskArn, d.ContainerInstanceArn = aws.String(t.ECSTaskARN(a, node)), a.InstanceARN()
	}
	for i := from; i < to; i++ {
		c := t.Job.Parts[i].Declared
		detail := types.TaskContainerDetails{
			Command:                append([]string{}, c.Command...),
			DependsOn:              append([]types.TaskContainerDependency{}, c.DependsOn...),
			Environment:            append([]types.KeyValuePair{}, c.Environment...),
			Essential:              aws.Bool(t.Job.Parts[i].Essential()),
			FirelensConfiguration:  c.FirelensConfiguration,
			Image:                  c.Image,
			LinuxParameters:        c.LinuxParameters,
			LogConfiguration:       c.LogConfiguration,
			MountPoints:            append([]types.MountPoint{}, c.MountPoints...),
			Name:                   c.Name,
			NetworkInterfaces:      []types.NetworkInterface{},
			Privileged:             c.Privileged,
			ReadonlyRootFilesystem: c.ReadonlyRootFilesystem,
			RepositoryCredentials:  c.RepositoryCredentials,
			ResourceRequirements:   append([]types.ResourceRequirement{}, c.ResourceRequirements...),
			Secrets:                append([]types.Secret{}, c.Secrets...),
			StartTimeout:           c.StartTimeout,
			StopTimeout:            c.StopTimeout,
			Ulimits:                append([]types.Ulimit{}, c.Ulimits...),
			User:                   c.User,
		}
		if a != nil {
			detail.LogStreamName = aws.String(t.PartLogStream(a, i))
			detail.ExitCode, detail.Reason = partEnd(a, i)
		}
		d.Containers = append(d.Containers, detail)
	}
	return &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{d}}
}

// describeTaskAttempt returns the results of each container of a node or job in an attempt.
func describeTaskAttempt(t *model.Task, a *model.Attempt, node int) []types.AttemptEcsTaskDetails {
	d := types.AttemptEcsTaskDetails{TaskArn: aws.String(t.ECSTaskARN(a, node)), ContainerInstanceArn: a.InstanceARN()}
	from, to := t.Job.PartsOf(node)
	for i := from; i < to; i++ {
		c := types.AttemptTaskContainerDetails{Name: t.Job.Parts[i].Declared.Name,
			LogStreamName:     aws.String(t.PartLogStream(a, i)),
			NetworkInterfaces: []types.NetworkInterface{}}
		c.ExitCode, c.Reason = partEnd(a, i)
		d.Containers = append(d.Containers, c)
	}
	return []types.AttemptEcsTaskDetails{d}
}
