package local

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// part is one container of a job with ecsProperties, or one node of a multi-node
// job: then it is named by its index.
type part struct {
	node      bool
	declared  types.TaskContainerProperties // with the overrides of the job
	container *types.ContainerProperties    // the same, as an executor takes it
}

func (p *part) name() string { return aws.ToString(p.declared.Name) }

// essential: the end of the container is the end of the task. It is the default.
func (p *part) essential() bool { return p.declared.Essential == nil || *p.declared.Essential }

// Conditions of a dependency between containers.
const (
	onStart    = "START"
	onComplete = "COMPLETE"
	onSuccess  = "SUCCESS"
)

// parts are the containers of a job's task, or its nodes; none for a job of one
// container. The request may be nil.
func parts(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []part {
	var o *types.EcsPropertiesOverride
	switch {
	case d.NodeProperties != nil:
		return nodes(d, in)
	case d.EcsProperties == nil:
		return nil
	case in != nil:
		o = in.EcsPropertiesOverride
	}
	var all []part
	for _, c := range d.EcsProperties.TaskProperties[0].Containers {
		p := part{declared: c, container: &types.ContainerProperties{
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
		}}
		p.container = override(p.container, overrideOf(p.name(), o))
		p.declared.Command, p.declared.Environment, p.declared.ResourceRequirements =
			p.container.Command, p.container.Environment, p.container.ResourceRequirements
		all = append(all, p)
	}
	return all
}

// overrideOf is what a request says about the container of a name; nil: nothing.
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

// leading is the first essential container: it stands for the job where one
// container has to.
func leading(all []part) *part {
	at := slices.IndexFunc(all, func(p part) bool { return p.essential() })
	return &all[at]
}

// find is the place of the container of a name; -1: there is none.
func find(all []part, name string) int {
	return slices.IndexFunc(all, func(p part) bool { return p.name() == name })
}

// requests is what a job's containers are and need together.
func requests(d *definition, in *awsbatch.SubmitJobInput) (container *types.ContainerProperties, all []part, need amount, err error) {
	all = parts(d.request, in)
	if len(all) == 0 {
		container = override(d.request.ContainerProperties, in.ContainerOverrides)
		need, err = asked(container)
		return container, nil, need, err
	}
	for i := range all {
		one, err := asked(all[i].container)
		if err != nil {
			return nil, nil, need, err
		}
		need = need.plus(one)
	}
	return leading(all).container, all, need, nil
}
