package ecsapi

import (
	"cmp"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// describeTaskDefinitionInput is the request of ECS DescribeTaskDefinition.
type describeTaskDefinitionInput struct {
	// Include can be TAGS, of which task definitions have none here.
	Include []string
	// TaskDefinition is a family for its newest ACTIVE revision, family:revision, or an ARN.
	TaskDefinition *string
}

// describeTaskDefinitionOutput is its answer.
type describeTaskDefinitionOutput struct {
	Tags           []tag
	TaskDefinition *taskDefinition
}

// taskDefinition is a job definition as an ECS task definition. Batch's structures have the members
// of ECS's where they occur here.
type taskDefinition struct {
	Compatibilities         []string
	ContainerDefinitions    []containerDefinition
	Cpu                     *string
	EphemeralStorage        *types.EphemeralStorage
	ExecutionRoleArn        *string
	Family                  *string
	IpcMode                 *string
	Memory                  *string
	PidMode                 *string
	PlacementConstraints    []attachment
	RequiresCompatibilities []string
	Revision                *int32
	RuntimePlatform         *types.RuntimePlatform
	Status                  *string
	TaskDefinitionArn       *string
	TaskRoleArn             *string
	Volumes                 []types.Volume
}

// containerDefinition is a container of a task definition.
type containerDefinition struct {
	Command                []string
	Cpu                    *int32
	DependsOn              []types.TaskContainerDependency
	Environment            []types.KeyValuePair
	Essential              *bool
	FirelensConfiguration  *types.FirelensConfiguration
	Image                  *string
	LinuxParameters        *types.LinuxParameters
	LogConfiguration       *types.LogConfiguration
	Memory                 *int32
	MountPoints            []types.MountPoint
	Name                   *string
	PortMappings           []attachment
	Privileged             *bool
	ReadonlyRootFilesystem *bool
	RepositoryCredentials  *types.RepositoryCredentials
	ResourceRequirements   []types.ResourceRequirement
	Secrets                []types.Secret
	StartTimeout           *int32
	StopTimeout            *int32
	Ulimits                []types.Ulimit
	User                   *string
	VolumesFrom            []attachment
}

// describeTaskDefinition returns the task definition of a job definition. The error for any other is
// quoted from ECS.
func (a *API) describeTaskDefinition(_ *call.Call,
	in *describeTaskDefinitionInput) (*describeTaskDefinitionOutput, error) {
	if err := checkInclude(in.Include, "TAGS"); err != nil {
		return nil, err
	}
	m, done := a.state.View()
	defer done()
	id := model.ResourceName(aws.ToString(in.TaskDefinition), "task-definition")
	d := m.Definition(id)
	for _, revision := range m.Definitions[id] {
		if !revision.Inactive {
			d = revision
		}
	}
	if d == nil || taskDefinitionARN(d) == nil || d.Request.EksProperties != nil {
		return nil, wire.ClientException("Unable to describe task definition.")
	}
	return &describeTaskDefinitionOutput{Tags: []tag{}, TaskDefinition: taskDefinitionOf(d)}, nil
}

// taskDefinitionOf returns a job definition as a task definition.
func taskDefinitionOf(d *model.Definition) *taskDefinition {
	compatibility := []string{string(d.Platform())}
	out := &taskDefinition{Family: aws.String(d.Name()), Revision: &d.Revision, TaskDefinitionArn: taskDefinitionARN(d),
		Status:          aws.String(statusActive),
		Compatibilities: compatibility, RequiresCompatibilities: compatibility, PlacementConstraints: []attachment{},
		Volumes: []types.Volume{}}
	if d.Inactive {
		out.Status = aws.String(statusInactive)
	}
	if e := d.Request.EcsProperties; e != nil {
		t := e.TaskProperties[0]
		out.EphemeralStorage, out.ExecutionRoleArn, out.IpcMode, out.PidMode = t.EphemeralStorage, t.ExecutionRoleArn,
			t.IpcMode, t.PidMode
		out.RuntimePlatform, out.TaskRoleArn, out.Volumes = t.RuntimePlatform, t.TaskRoleArn,
			append(out.Volumes, t.Volumes...)
	} else {
		c := d.Request.ContainerProperties
		out.EphemeralStorage, out.ExecutionRoleArn, out.RuntimePlatform = c.EphemeralStorage, c.ExecutionRoleArn,
			c.RuntimePlatform
		out.TaskRoleArn, out.Volumes = c.JobRoleArn, append(out.Volumes, c.Volumes...)
	}
	var whole model.Amount
	parts := model.Parts(d.Request, nil)
	if len(parts) == 0 {
		parts = []model.Part{{Container: d.Request.ContainerProperties}}
	}
	for i := range parts {
		c, need := containerDefinitionOf(&parts[i])
		whole.MilliCPU, whole.MemoryMiB = whole.MilliCPU+need.MilliCPU, whole.MemoryMiB+need.MemoryMiB
		out.ContainerDefinitions = append(out.ContainerDefinitions, c)
	}
	out.Cpu, out.Memory = aws.String(strconv.FormatInt(cpuUnits(whole), 10)),
		aws.String(strconv.FormatInt(whole.MemoryMiB, 10))
	return out
}

// containerDefinitionOf returns a container with what it requests. In ECS, only GPUs are resource
// requirements.
func containerDefinitionOf(p *model.Part) (containerDefinition, model.Amount) {
	c := p.Container
	need, _ := model.Requested(c) // RegisterJobDefinition has checked it
	out := containerDefinition{
		Command:                append([]string{}, c.Command...),
		Cpu:                    aws.Int32(int32(cpuUnits(need))),
		DependsOn:              p.Declared.DependsOn,
		Environment:            append([]types.KeyValuePair{}, c.Environment...),
		Essential:              aws.Bool(p.Essential()),
		FirelensConfiguration:  p.Declared.FirelensConfiguration,
		Image:                  c.Image,
		LinuxParameters:        c.LinuxParameters,
		LogConfiguration:       c.LogConfiguration,
		Memory:                 aws.Int32(int32(need.MemoryMiB)),
		MountPoints:            append([]types.MountPoint{}, c.MountPoints...),
		Name:                   aws.String(cmp.Or(p.Name(), onlyContainer)),
		PortMappings:           []attachment{},
		Privileged:             c.Privileged,
		ReadonlyRootFilesystem: c.ReadonlyRootFilesystem,
		RepositoryCredentials:  c.RepositoryCredentials,
		Secrets:                c.Secrets,
		StartTimeout:           p.Declared.StartTimeout,
		StopTimeout:            p.Declared.StopTimeout,
		Ulimits:                c.Ulimits,
		User:                   c.User,
		VolumesFrom:            []attachment{},
	}
	for _, r := range c.ResourceRequirements {
		if r.Type == types.ResourceTypeGpu {
			out.ResourceRequirements = append(out.ResourceRequirements, r)
		}
	}
	return out, need
}
