package local

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// describeTask is the job's containers with what the newest attempt says.
func (t *task) describeTask() *types.EcsPropertiesDetail {
	p := t.job.definition.request.EcsProperties.TaskProperties[0]
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
		Volumes:              p.Volumes,
	}
	a := t.last()
	if a != nil {
		d.TaskArn, d.ContainerInstanceArn = aws.String(a.taskARN()), a.instanceARN()
	}
	for i := range t.job.parts {
		c := t.job.parts[i].declared
		detail := types.TaskContainerDetails{
			Command:                append([]string{}, c.Command...),
			DependsOn:              append([]types.TaskContainerDependency{}, c.DependsOn...),
			Environment:            append([]types.KeyValuePair{}, c.Environment...),
			Essential:              aws.Bool(t.job.parts[i].essential()),
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
			detail.LogStreamName = aws.String(t.partLogStream(a, i))
			if i < len(a.containers) {
				detail.ExitCode, detail.Reason = a.containers[i].Exit, optional(a.containers[i].Reason)
			}
		}
		d.Containers = append(d.Containers, detail)
	}
	return &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{d}}
}

// describeTaskAttempt is an attempt of several containers.
func (t *task) describeTaskAttempt(a *attempt) []types.AttemptEcsTaskDetails {
	d := types.AttemptEcsTaskDetails{TaskArn: aws.String(a.taskARN()), ContainerInstanceArn: a.instanceARN()}
	for i := range t.job.parts {
		c := types.AttemptTaskContainerDetails{Name: t.job.parts[i].declared.Name, LogStreamName: aws.String(t.partLogStream(a, i)),
			NetworkInterfaces: []types.NetworkInterface{}}
		if i < len(a.containers) {
			c.ExitCode, c.Reason = a.containers[i].Exit, optional(a.containers[i].Reason)
		}
		d.Containers = append(d.Containers, c)
	}
	return []types.AttemptEcsTaskDetails{d}
}
