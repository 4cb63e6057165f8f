package model

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Part is one container of a job with ecsProperties or of a pod, or one node of a multi-node job, named
// by its index.
type Part struct {
	Node      bool
	Pod       *PodPart                      // nil for a container that is not in a pod
	Declared  types.TaskContainerProperties // with the overrides of the job
	Container *types.ContainerProperties    // the same, as an executor takes it
}

// Commands returns the texts that may have parameters: the command, and for a pod also its entrypoint.
func (p *Part) Commands() [][]string {
	if p.Pod == nil {
		return [][]string{p.Container.Command}
	}
	return [][]string{p.Pod.Entrypoint, p.Container.Command}
}

// Name returns the container's name, or the node's index.
func (p *Part) Name() string { return aws.ToString(p.Declared.Name) }

// Essential reports whether the task ends with the container. That is the default.
func (p *Part) Essential() bool { return p.Declared.Essential == nil || *p.Declared.Essential }

// Conditions of a dependency between containers.
const (
	OnStart    = "START"
	OnComplete = "COMPLETE"
	OnSuccess  = "SUCCESS"
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

// leading returns the first essential container, which represents the job where a single container
// is needed.
func leading(all []Part) *Part {
	at := slices.IndexFunc(all, func(p Part) bool { return p.Essential() })
	return &all[at]
}

// FindPart returns the index of the container with a name; -1 if it does not exist.
func FindPart(all []Part, name string) int {
	return slices.IndexFunc(all, func(p Part) bool { return p.Name() == name })
}

// requests returns what the containers of a job are and request together.
func requests(d *Definition, in *awsbatch.SubmitJobInput) (container *types.ContainerProperties, all []Part, need Amount, err error) {
	all = Parts(d.Request, in)
	if len(all) == 0 {
		container = Override(d.Request.ContainerProperties, in.ContainerOverrides)
		need, err = Requested(container)
		return container, nil, need, err
	}
	for i := range all {
		one, err := Requested(all[i].Container)
		if err != nil {
			return nil, nil, need, err
		}
		need = need.plus(one)
	}
	return leading(all).Container, all, need, nil
}
