package local

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
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

// maxParts is how many containers a task may have (API reference of EcsTaskProperties).
const maxParts = 10

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

// checkParts refuses what Batch refuses about ecsProperties.
func checkParts(in *awsbatch.RegisterJobDefinitionInput) error {
	if in.EcsProperties == nil || in.Type != types.JobDefinitionTypeContainer {
		return nil // checkNodes refuses them beside nodes, before anything counts those
	}
	tasks := in.EcsProperties.TaskProperties
	switch {
	case in.ContainerProperties != nil:
		return wire.ClientException("Only one of containerProperties and ecsProperties can be given.")
	case len(tasks) != 1:
		return wire.ClientException("ecsProperties must have exactly one element in taskProperties.")
	case len(tasks[0].Containers) == 0 || len(tasks[0].Containers) > maxParts:
		return wire.ClientException("taskProperties must have between 1 and %d containers.", maxParts)
	}
	all := parts(in, nil)
	if !slices.ContainsFunc(all, func(p part) bool { return p.essential() }) {
		return wire.ClientException("At least one container must be essential.")
	}
	var refused error
	seen := map[string]bool{}
	for i := range all {
		p := &all[i]
		switch {
		case aws.ToString(p.declared.Image) == "":
			return wire.ClientException("ECS Container Image must be provided.")
		case len(all) > 1 && !definitionName().MatchString(p.name()):
			return wire.ClientException("Container name %q is not valid: 1 to 128 letters, digits, hyphens and underscores.", p.name())
		case seen[p.name()]:
			return wire.ClientException("Container name %s is given twice.", p.name())
		}
		seen[p.name()] = true
		refused = gravest(refused, checkEnvironment(p.declared.Environment))
	}
	return gravest(checkPartDependencies(all), refused)
}

func checkPartDependencies(all []part) error {
	for i := range all {
		for _, d := range all[i].declared.DependsOn {
			on, condition := find(all, aws.ToString(d.ContainerName)), aws.ToString(d.Condition)
			switch {
			case on < 0 || on == i:
				return wire.ClientException("Container %s cannot depend on %s.", all[i].name(), aws.ToString(d.ContainerName))
			case condition != onStart && condition != onComplete && condition != onSuccess:
				return wire.ClientException("Condition %q of a dependency is not valid. Valid conditions: [START, COMPLETE, SUCCESS]", condition)
			case condition != onStart && all[on].essential():
				return wire.ClientException("Condition %s cannot be set on the essential container %s.", condition, all[on].name())
			}
		}
	}
	// What depends only on what is done is done; a circle is what is left.
	done := map[int]bool{}
	for range all {
		for i := range all {
			done[i] = done[i] || !slices.ContainsFunc(all[i].declared.DependsOn, func(d types.TaskContainerDependency) bool {
				return !done[find(all, *d.ContainerName)]
			})
		}
	}
	for i := range all {
		if !done[i] {
			return wire.ClientException("The dependencies of container %s run in a circle.", all[i].name())
		}
	}
	return nil
}

// find is the place of the container of a name; -1: there is none.
func find(all []part, name string) int {
	return slices.IndexFunc(all, func(p part) bool { return p.name() == name })
}

// checkPartOverrides refuses overrides of containers that are not there.
func checkPartOverrides(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) error {
	o := in.EcsPropertiesOverride
	switch {
	case d.EcsProperties != nil && in.ContainerOverrides != nil:
		return wire.ClientException("containerOverrides cannot be used with a job definition that has ecsProperties.")
	case o == nil:
		return nil
	case d.EcsProperties == nil:
		return wire.ClientException("ecsPropertiesOverride needs a job definition that has ecsProperties.")
	case len(o.TaskProperties) > 1:
		return wire.ClientException("ecsPropertiesOverride can have at most one element in taskProperties.")
	}
	all := parts(d, nil)
	var refused error
	for _, task := range o.TaskProperties {
		for _, c := range task.Containers {
			if find(all, aws.ToString(c.Name)) < 0 {
				return wire.ClientException("Container %s, which is to be overridden, does not exist.", aws.ToString(c.Name))
			}
			refused = gravest(refused, checkEnvironment(c.Environment))
		}
	}
	return refused
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

// check refuses what Batch refuses of what the containers ask for.
func (w *work) check(fargate bool) error {
	if w.pod != nil {
		return nil
	}
	refused := w.need.check(fargate)
	for i := range w.parts {
		if w.parts[i].node {
			one, err := asked(w.parts[i].container)
			refused = gravest(refused, err, one.check(false))
		}
	}
	return refused
}

// unhonouredParts names the members of ecsProperties that are without effect here.
func unhonouredParts(x Executor, d *awsbatch.RegisterJobDefinitionInput, all []part) []string {
	if len(all) == 0 {
		return nil
	}
	var names []string
	t := types.EcsTaskProperties{}
	if d.EcsProperties != nil {
		t = d.EcsProperties.TaskProperties[0]
	}
	for _, m := range []struct {
		name  string
		given bool
	}{
		{"enableExecuteCommand", aws.ToBool(t.EnableExecuteCommand)},
		{"ephemeralStorage", t.EphemeralStorage != nil},
		{"executionRoleArn", t.ExecutionRoleArn != nil},
		{"ipcMode", t.IpcMode != nil},
		{"networkConfiguration", t.NetworkConfiguration != nil},
		{"pidMode", t.PidMode != nil},
		{"platformVersion", t.PlatformVersion != nil},
		{"runtimePlatform", t.RuntimePlatform != nil},
		{"taskRoleArn", t.TaskRoleArn != nil},
		{"volumes", len(t.Volumes) > 0},
	} {
		if m.given {
			names = append(names, m.name)
		}
	}
	for _, p := range all {
		own := x.Unhonoured(p.container)
		for name, given := range map[string]bool{"firelensConfiguration": p.declared.FirelensConfiguration != nil,
			"startTimeout": p.declared.StartTimeout != nil, "stopTimeout": p.declared.StopTimeout != nil} {
			if given {
				own = append(own, name)
			}
		}
		slices.Sort(own)
		what := "container " + p.name()
		if p.node {
			what = "node " + p.name()
		}
		if len(own) > 0 {
			names = append(names, what+" "+strings.Join(own, ", "))
		}
	}
	if p := d.NodeProperties; p != nil && slices.ContainsFunc(p.NodeRangeProperties, func(r types.NodeRangeProperty) bool { return len(r.InstanceTypes) > 0 }) {
		names = append(names, "instanceTypes")
	}
	return names
}
