package batchapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// maxParts is how many containers a task may have (API reference of EcsTaskProperties).
const maxParts = 10

// checkParts rejects ecsProperties that Batch rejects.
func checkParts(in *awsbatch.RegisterJobDefinitionInput) error {
	if in.EcsProperties == nil || in.Type != types.JobDefinitionTypeContainer {
		return nil // checkNodes rejects ecsProperties together with nodes
	}
	if in.ContainerProperties != nil {
		return failed("Cannot use both ECS containerProperties and ecsProperties")
	}
	return checkTask(in.EcsProperties)
}

// checkTask rejects the task of a job or of a node range that Batch rejects.
func checkTask(e *types.EcsProperties) error {
	tasks := e.TaskProperties
	switch {
	case len(tasks) != 1:
		return wire.ClientException("ecsProperties must have exactly one element in taskProperties.")
	case len(tasks[0].Containers) == 0 || len(tasks[0].Containers) > maxParts:
		return failed(fmt.Sprintf("Number of containers must be between 1 and %d", maxParts))
	}
	all := model.TaskParts(e, nil)
	if !slices.ContainsFunc(all, func(p model.Part) bool { return p.Essential() }) {
		return failed("At least one container must be set as essential")
	}
	seen := map[string]bool{}
	for i := range all {
		p := &all[i]
		switch {
		case aws.ToString(p.Declared.Image) == "":
			return wire.ClientException("ECS Container Image must be provided.")
		case len(all) > 1 && !definitionName().MatchString(p.Name()):
			return wire.ClientException("Container name %q is not valid: 1 to 128 letters, digits, hyphens and underscores.", p.Name())
		case seen[p.Name()]:
			return failed("Container names must be unique")
		}
		seen[p.Name()] = true
		if err := checkVariables(p.Declared.Environment); err != nil {
			return err
		}
	}
	return checkPartDependencies(all)
}

// checkPartDependencies rejects dependencies on unknown containers, and cycles. A container may
// wait for an essential one only to start, not to end: its end ends the job.
func checkPartDependencies(all []model.Part) error {
	for i := range all {
		for _, d := range all[i].Declared.DependsOn {
			on, condition := model.FindPart(all, aws.ToString(d.ContainerName)), aws.ToString(d.Condition)
			switch {
			case on < 0 || on == i:
				return wire.ClientException("Container %s cannot depend on %s.", all[i].Name(),
					aws.ToString(d.ContainerName))
			case condition != model.OnStart && condition != model.OnComplete && condition != model.OnSuccess:
				return failed("TaskContainer dependency " + condition +
					" is not valid. Valid values are: [START, COMPLETE, SUCCESS]")
			case condition != model.OnStart && all[on].Essential():
				return failed("The container target of a dependency can not have condition " + condition +
					" if the target container " + all[on].Name() + " is essential.")
			}
		}
	}
	// Mark containers whose dependencies are all done. Containers that are left form a cycle.
	done := map[int]bool{}
	for range all {
		for i := range all {
			done[i] = done[i] || !slices.ContainsFunc(all[i].Declared.DependsOn,
				func(d types.TaskContainerDependency) bool {
					return !done[model.FindPart(all, *d.ContainerName)]
				})
		}
	}
	for i := range all {
		if !done[i] {
			return wire.ClientException("The dependencies of container %s form a cycle.", all[i].Name())
		}
	}
	return nil
}

// checkPartOverrides rejects overrides of unknown containers, and overrides that do not match the
// kind of definition. checkNodeOverrides does the same for nodes.
func checkPartOverrides(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) error {
	o := in.EcsPropertiesOverride
	switch {
	case d.EcsProperties != nil && in.ContainerOverrides != nil:
		return wire.ClientException("containerOverrides cannot be used with a job definition that has ecsProperties.")
	case o == nil:
		return nil
	case d.EcsProperties == nil:
		return wire.ClientException("ecsPropertiesOverride needs a job definition that has ecsProperties.")
	}
	return checkTaskOverride(d.EcsProperties, o)
}

// checkTaskOverride rejects overrides of containers that the task does not have.
func checkTaskOverride(e *types.EcsProperties, o *types.EcsPropertiesOverride) error {
	if len(o.TaskProperties) > 1 {
		return wire.ClientException("ecsPropertiesOverride can have at most one element in taskProperties.")
	}
	all := model.TaskParts(e, nil)
	for _, task := range o.TaskProperties {
		for _, c := range task.Containers {
			if model.FindPart(all, aws.ToString(c.Name)) < 0 {
				return wire.ClientException("Container %s in ecsPropertiesOverride does not exist.",
					aws.ToString(c.Name))
			}
			if err := checkVariables(c.Environment); err != nil {
				return err
			}
		}
	}
	return nil
}

// unhonouredParts returns the members of ecsProperties and nodeProperties that have no effect
// with executor x. Members of one container are listed with its name.
func unhonouredParts(x attempt.Executor, d *awsbatch.RegisterJobDefinitionInput, all []model.Part) []attempt.Member {
	var members []attempt.Member
	for _, task := range model.Tasks(all) {
		for _, m := range attempt.UnhonouredTask(task, attempt.Contained(x)) {
			if !slices.Contains(members, m) { // several node ranges may have it
				members = append(members, m)
			}
		}
	}
	for _, p := range all {
		what := "container " + p.Name()
		switch {
		case d.NodeProperties != nil && p.Task == nil:
			what = "node " + p.Name()
		case d.NodeProperties != nil:
			what = fmt.Sprintf("container %s of node %d", p.Name(), p.Node)
		}
		var own []string
		for _, m := range append(x.Unhonoured(p.Container), unhonouredOfPart(p.Declared)...) {
			if m.Effect == attempt.Prevents {
				m.Why = what + ": " + m.Why
				members = append(members, m)
			} else {
				own = append(own, m.Name)
			}
		}
		slices.Sort(own)
		if len(own) > 0 {
			members = append(members, attempt.Member{Name: what + " " + strings.Join(own, ", ")})
		}
	}
	if p := d.NodeProperties; p != nil && slices.ContainsFunc(p.NodeRangeProperties,
		func(r types.NodeRangeProperty) bool { return len(r.InstanceTypes) > 0 }) {
		members = append(members, attempt.Member{Name: "instanceTypes"}) // as runtimePlatform
	}
	return members
}

// unhonouredOfPart returns the members that no executor applies and that only containers of a task
// have.
func unhonouredOfPart(p types.TaskContainerProperties) []attempt.Member {
	return attempt.Given(map[attempt.Member]bool{
		// Where logs go says nothing about the result: the engine keeps them.
		{Name: "firelensConfiguration"}: p.FirelensConfiguration != nil,
		// How long other containers wait for this one. Here they wait until it has started or ended.
		{Name: "startTimeout"}: p.StartTimeout != nil,
		// Between SIGTERM and SIGKILL there are 30 s here, AWS's default.
		{Name: "stopTimeout"}: p.StopTimeout != nil,
	})
}
