package model

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Parts returns the containers of a job's task, or its nodes; none for a job with one container.
// The request may be nil.
func Parts(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Part {
	var o *types.EcsPropertiesOverride
	switch {
	case d.NodeProperties != nil:
		return nodes(d, in)
	case d.EcsProperties == nil:
		return nil
	case in != nil:
		o = in.EcsPropertiesOverride
	}
	var all []Part
	for _, c := range d.EcsProperties.TaskProperties[0].Containers {
		p := Part{Declared: c, Container: &types.ContainerProperties{
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
			Volumes:                d.EcsProperties.TaskProperties[0].Volumes,
		}}
		p.Container = Override(p.Container, overrideOf(p.Name(), o))
		p.Declared.Command, p.Declared.Environment, p.Declared.ResourceRequirements =
			p.Container.Command, p.Container.Environment, p.Container.ResourceRequirements
		all = append(all, p)
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
				return &types.ContainerOverrides{Command: c.Command, Environment: c.Environment, ResourceRequirements: c.ResourceRequirements}
			}
		}
	}
	return nil
}
