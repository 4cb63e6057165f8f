package model

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Parts returns the containers of a job's task or of its nodes; none for a job with one container.
// The request may be nil.
func Parts(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Part {
	switch {
	case d.NodeProperties != nil:
		return nodes(d, in)
	case d.EcsProperties == nil:
		return nil
	case in == nil:
		return TaskParts(d.EcsProperties, nil)
	}
	return TaskParts(d.EcsProperties, in.EcsPropertiesOverride)
}

// TaskParts returns the containers of a task with its overrides, which may be nil; none for an invalid definition
// without one.
func TaskParts(e *types.EcsProperties, o *types.EcsPropertiesOverride) []Part {
	if len(e.TaskProperties) == 0 {
		return nil
	}
	task := &e.TaskProperties[0]
	var all []Part
	for _, c := range task.Containers {
		p := Part{Task: task, Declared: c, Container: &types.ContainerProperties{
			Command:                c.Command,
			Environment:            c.Environment,
			Image:                  c.Image,
			LinuxParameters:        c.LinuxParameters,
			LogConfiguration:       c.LogConfiguration,
			MountPoints:            c.MountPoints,
			Privileged:             c.Privileged,
			ReadonlyRootFilesystem: c.ReadonlyRootFilesystem,
			RepositoryCredentials:  c.RepositoryCredentials,
			ResourceRequirements:   c.ResourceRequirements,
			Secrets:                c.Secrets,
			Ulimits:                c.Ulimits,
			User:                   c.User,
			Volumes:                task.Volumes,
		}}
		p.Container = Override(p.Container, overrideOf(p.Name(), o))
		p.Declared.Command, p.Declared.Environment, p.Declared.ResourceRequirements =
			p.Container.Command, p.Container.Environment, p.Container.ResourceRequirements
		all = append(all, p)
	}
	for i := range all {
		for _, d := range all[i].Declared.DependsOn {
			all[i].After = append(all[i].After, Dependency{FindPart(all, aws.ToString(d.ContainerName)),
				aws.ToString(d.Condition)})
		}
	}
	return all
}

// overrideOf returns the request's overrides for a container; nil if none.
func overrideOf(name string, o *types.EcsPropertiesOverride) *types.ContainerOverrides {
	if o == nil {
		return nil
	}
	for _, task := range o.TaskProperties {
		for _, c := range task.Containers {
			if aws.ToString(c.Name) == name {
				return &types.ContainerOverrides{Command: c.Command, Environment: c.Environment,
					ResourceRequirements: c.ResourceRequirements}
			}
		}
	}
	return nil
}
