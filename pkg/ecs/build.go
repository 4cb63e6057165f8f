package ecs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Container is the name of the only container of a job, as in AWS Batch.
const Container = "default"

// LogGroup is the default log group, as in AWS Batch. AWS Batch creates it with
// its first job; a task creates it if it does not exist.
const LogGroup = "/aws/batch/job"

// Launch types of RunTask.
const (
	EC2     = "EC2"
	Fargate = "FARGATE"
)

// Options say where a task runs.
type Options struct {
	Cluster string
	Region  string // of the logs
	// LaunchType is EC2 or Fargate. "" selects Fargate if the job's platformCapabilities name
	// it, or else EC2.
	LaunchType string
	// CapacityProvider replaces the launch type, unless it is "".
	CapacityProvider        string
	Subnets, SecurityGroups []string
	PublicIP                bool
}

// Task is a job as requests of ECS.
type Task struct {
	Name       string
	Definition awsecs.RegisterTaskDefinitionInput
	Run        awsecs.RunTaskInput // without its token; TaskDefinition is the family
	// Lost are sentences about settings of the job that have no effect on ECS, or another one.
	Lost []string
}

// Requests returns the requests of the task in the order in which they are sent.
// They have no token yet.
func (t *Task) Requests() ([]Request, error) {
	definition, err := body(&t.Definition)
	if err != nil {
		return nil, err
	}
	run, err := body(&t.Run)
	return []Request{
		{"RegisterTaskDefinition", "aws ecs register-task-definition --cli-input-json", definition},
		{"RunTask", "aws ecs run-task --cli-input-json", run},
	}, err
}

// Stamped returns the RunTask of a submission. The submission's id is its token,
// tag and startedBy, and a variable of a job with one container.
func (t *Task) Stamped(token string) *awsecs.RunTaskInput {
	run := t.Run
	run.ClientToken, run.StartedBy = &token, &token
	if len(run.Tags) < maxTags {
		run.Tags = append(slices.Clone(run.Tags), tag(client.SubmissionTag, token))
	}
	if aws.ToString(t.Definition.ContainerDefinitions[0].Name) != Container {
		return &run
	}
	over := &ecstypes.TaskOverride{}
	if run.Overrides != nil {
		*over = *run.Overrides
	}
	over.ContainerOverrides = slices.Clone(over.ContainerOverrides)
	if len(over.ContainerOverrides) == 0 {
		over.ContainerOverrides = []ecstypes.ContainerOverride{{Name: aws.String(Container)}}
	}
	o := &over.ContainerOverrides[0]
	o.Environment = append(slices.Clone(o.Environment),
		ecstypes.KeyValuePair{Name: aws.String(client.SubmissionVariable), Value: &token})
	run.Overrides = over
	return &run
}

// CannotError is a job that would have another result on ECS.
type CannotError struct {
	// Reasons are sentences, each with the next step.
	Reasons []string
}

// Error counts the reasons.
func (e *CannotError) Error() string {
	return fmt.Sprintf("ECS cannot run this job: %d reasons", len(e.Reasons))
}

// DefinitionIn returns the definition that a job of the plan runs, or nil if the
// plan does not contain it.
func DefinitionIn(planned *plan.Plan, job *plan.Job) *awsbatch.RegisterJobDefinitionInput {
	if job.Register != nil {
		return job.Register
	}
	for _, j := range planned.Jobs {
		if j.Register != nil &&
			aws.ToString(j.Register.JobDefinitionName) == batch.Name(aws.ToString(job.Submit.JobDefinition)) {
			return j.Register
		}
	}
	return nil
}

// Build returns the task of a plan's job. definition is the job definition that
// it runs: j.Register, or that of an earlier job of the plan. If ECS would change
// the result of the job, the error is a *CannotError.
func Build(j *plan.Job, definition *awsbatch.RegisterJobDefinitionInput, o Options) (*Task, error) {
	b := &builder{job: j, definition: definition, options: o, task: &Task{Name: j.Name}}
	b.cannot = refusals(j, definition)
	if len(b.cannot) > 0 {
		return nil, &CannotError{b.cannot}
	}
	b.task.Lost = losses(j, definition)
	b.fargate = b.onFargate()
	if definition.ContainerProperties != nil {
		b.single(definition.ContainerProperties)
	} else {
		b.several(&definition.EcsProperties.TaskProperties[0])
	}
	b.whole()
	b.run()
	if b.fargate {
		b.checkFargate()
	}
	if len(b.cannot) > 0 {
		return nil, &CannotError{b.cannot}
	}
	return b.task, nil
}

// builder converts one job.
type builder struct {
	job        *plan.Job
	definition *awsbatch.RegisterJobDefinitionInput
	options    Options
	fargate    bool
	task       *Task
	cannot     []string // reasons, see CannotError
	// Members of the definition that belong to RunTask.
	network *types.NetworkConfiguration
	execute bool
	version *string
}

// refuse adds a reason once.
func (b *builder) refuse(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.cannot, text) {
		b.cannot = append(b.cannot, text)
	}
}

// onFargate reports whether the task runs on Fargate, from the capacity provider, the launch
// type, or else the job.
func (b *builder) onFargate() bool {
	switch {
	case b.options.CapacityProvider != "":
		return b.options.CapacityProvider == "FARGATE" || b.options.CapacityProvider == "FARGATE_SPOT"
	case b.options.LaunchType != "":
		return b.options.LaunchType == Fargate
	}
	return slices.Contains(b.definition.PlatformCapabilities, types.PlatformCapabilityFargate)
}

// single converts a job with one container.
func (b *builder) single(c *types.ContainerProperties) {
	d := &b.task.Definition
	d.TaskRoleArn, d.ExecutionRoleArn = c.JobRoleArn, c.ExecutionRoleArn
	host := as[awsecs.RegisterTaskDefinitionInput](b, &types.ContainerProperties{Volumes: c.Volumes,
		EphemeralStorage: c.EphemeralStorage, RuntimePlatform: c.RuntimePlatform})
	d.Volumes, d.EphemeralStorage, d.RuntimePlatform = host.Volumes, host.EphemeralStorage, host.RuntimePlatform
	b.network, b.execute = c.NetworkConfiguration, aws.ToBool(c.EnableExecuteCommand)
	if c.FargatePlatformConfiguration != nil {
		b.version = c.FargatePlatformConfiguration.PlatformVersion
	}
	over := b.job.Submit.ContainerOverrides
	if over == nil {
		over = &types.ContainerOverrides{}
	}
	//lint:ignore SA1019 older definitions ask with vcpus and memory
	asked := requirements(c.ResourceRequirements, c.Vcpus, c.Memory)
	//lint:ignore SA1019 see above
	overAsked := requirements(over.ResourceRequirements, over.Vcpus, over.Memory)
	b.add(types.TaskContainerProperties{Name: aws.String(Container), Essential: aws.Bool(true), Image: c.Image,
		Command: c.Command, Environment: c.Environment,
		LinuxParameters: c.LinuxParameters, LogConfiguration: c.LogConfiguration, MountPoints: c.MountPoints,
		Privileged:             c.Privileged,
		ReadonlyRootFilesystem: c.ReadonlyRootFilesystem, RepositoryCredentials: c.RepositoryCredentials,
		Secrets: c.Secrets, Ulimits: c.Ulimits,
		User: c.User, ResourceRequirements: asked},
		types.TaskContainerOverrides{Command: over.Command, Environment: over.Environment,
			ResourceRequirements: overAsked})
}

// requirements adds the deprecated members vcpus and memory to a list of
// requirements. Members of the list take precedence.
func requirements(list []types.ResourceRequirement, vcpus, memory *int32) []types.ResourceRequirement {
	list = slices.Clone(list)
	add := func(kind types.ResourceType, value *int32) {
		if aws.ToInt32(value) > 0 && valueOf(list, kind) == "" {
			list = append(list, types.ResourceRequirement{Type: kind, Value: aws.String(strconv.Itoa(int(*value)))})
		}
	}
	add(types.ResourceTypeVcpu, vcpus)
	add(types.ResourceTypeMemory, memory)
	return list
}

// valueOf returns the value of a requirement; "" if the list has none.
func valueOf(list []types.ResourceRequirement, kind types.ResourceType) string {
	for _, r := range list {
		if r.Type == kind {
			return aws.ToString(r.Value)
		}
	}
	return ""
}

// several converts a job with several containers, which already has the form of
// ECS.
func (b *builder) several(t *types.EcsTaskProperties) {
	d := &b.task.Definition
	d.TaskRoleArn, d.ExecutionRoleArn = t.TaskRoleArn, t.ExecutionRoleArn
	host := as[awsecs.RegisterTaskDefinitionInput](b, &types.EcsTaskProperties{Volumes: t.Volumes,
		EphemeralStorage: t.EphemeralStorage, RuntimePlatform: t.RuntimePlatform,
		PidMode: t.PidMode, IpcMode: t.IpcMode})
	d.Volumes, d.EphemeralStorage, d.RuntimePlatform = host.Volumes, host.EphemeralStorage, host.RuntimePlatform
	d.PidMode, d.IpcMode = host.PidMode, host.IpcMode
	b.network, b.execute, b.version = t.NetworkConfiguration, aws.ToBool(t.EnableExecuteCommand), t.PlatformVersion
	for _, c := range t.Containers {
		b.add(c, b.overrideOf(aws.ToString(c.Name)))
	}
}

// overrideOf returns the submission's override of a container.
func (b *builder) overrideOf(container string) types.TaskContainerOverrides {
	if o := b.job.Submit.EcsPropertiesOverride; o != nil && len(o.TaskProperties) > 0 {
		for _, c := range o.TaskProperties[0].Containers {
			if aws.ToString(c.Name) == container {
				return c
			}
		}
	}
	return types.TaskContainerOverrides{}
}

// add converts a container to a definition, and its overrides to those of RunTask.
func (b *builder) add(c types.TaskContainerProperties, over types.TaskContainerOverrides) {
	command, amounts := b.command(c, over), b.resources(c.ResourceRequirements)
	if c.Essential == nil {
		c.Essential = aws.Bool(true) // ECS's default, explicit for comparisons
	}
	c.Command, c.LogConfiguration, c.ResourceRequirements = substitute(c.Command, b.definition.Parameters), b.logs(c),
		amounts.gpus
	d := as[ecstypes.ContainerDefinition](b, &c)
	d.Cpu, d.Memory = amounts.cpu, given(amounts.memory)
	b.task.Definition.ContainerDefinitions = append(b.task.Definition.ContainerDefinitions, d)

	amounts = b.resources(over.ResourceRequirements)
	over.Name, over.Command, over.ResourceRequirements = c.Name, nil, amounts.gpus
	if !slices.Equal(command, c.Command) {
		over.Command = command
	}
	o := as[ecstypes.ContainerOverride](b, &over)
	o.Cpu, o.Memory = given(amounts.cpu), given(amounts.memory)
	if amounts.cpu+amounts.memory > 0 || len(o.Command)+len(o.Environment)+len(o.ResourceRequirements) > 0 {
		b.override(o)
	}
}

// given returns nil for 0, for members that can be absent.
func given(amount int32) *int32 {
	if amount == 0 {
		return nil
	}
	return &amount
}

// override adds a container's override to RunTask.
func (b *builder) override(o ecstypes.ContainerOverride) {
	if b.task.Run.Overrides == nil {
		b.task.Run.Overrides = &ecstypes.TaskOverride{}
	}
	list := &b.task.Run.Overrides.ContainerOverrides
	*list = append(*list, o)
}

// command returns the command of the container. The parameters of the submission
// override those of the definition, as in AWS Batch.
func (b *builder) command(c types.TaskContainerProperties, over types.TaskContainerOverrides) []string {
	command := c.Command
	if len(over.Command) > 0 {
		command = over.Command
	}
	parameters := maps.Clone(b.definition.Parameters)
	if parameters == nil {
		parameters = map[string]string{}
	}
	maps.Copy(parameters, b.job.Submit.Parameters)
	command = substitute(command, parameters)
	for _, arg := range command {
		if name, isRef := reference(arg); isRef {
			b.refuse("the command contains Ref::%[1]s, but the job has no parameter %[1]s, so ECS would pass that text to the program; add --parameters %[1]s=VALUE", name)
		}
	}
	return command
}

// unitsPerCPU is the number of ECS's CPU units per vCPU (API reference of
// ContainerDefinition.cpu).
const unitsPerCPU = 1024

// amounts are requirements in ECS's units: CPU units and memory in MiB, both
// rounded up. GPUs stay requirements.
type amounts struct {
	cpu, memory int32
	gpus        []types.ResourceRequirement
}

// resources converts requirements. It refuses values that are no numbers.
func (b *builder) resources(list []types.ResourceRequirement) (sum amounts) {
	for _, r := range list {
		value, err := strconv.ParseFloat(aws.ToString(r.Value), 64)
		if err != nil || value < 0 || value > 1<<30 || r.Type == types.ResourceTypeVcpu && value > 1<<20 {
			b.refuse("%s %q is not a valid number; write a number", r.Type, aws.ToString(r.Value))
			continue
		}
		switch r.Type {
		case types.ResourceTypeVcpu:
			sum.cpu = int32(math.Ceil(value * unitsPerCPU))
		case types.ResourceTypeMemory:
			sum.memory = int32(math.Ceil(value))
		case types.ResourceTypeGpu:
			if value > 0 {
				sum.gpus = append(sum.gpus, r)
			}
		}
	}
	return sum
}

// logs returns the container's log configuration with AWS Batch's defaults: the
// driver awslogs, the group, the Region, and the job definition's name as prefix.
// The stream is then <definition>/<container>/<task id>.
func (b *builder) logs(c types.TaskContainerProperties) *types.LogConfiguration {
	l := types.LogConfiguration{LogDriver: types.LogDriverAwslogs}
	if c.LogConfiguration != nil {
		l = *c.LogConfiguration
	}
	if l.LogDriver != types.LogDriverAwslogs {
		return &l
	}
	options := map[string]string{"awslogs-group": LogGroup, "awslogs-region": b.options.Region,
		"awslogs-stream-prefix": aws.ToString(b.definition.JobDefinitionName)}
	if _, own := l.Options["awslogs-group"]; !own {
		options["awslogs-create-group"] = "true"
	}
	maps.Copy(options, l.Options)
	l.Options = options
	return &l
}

// whole sets the members of the task itself: family, tags, network mode and, on
// Fargate, its size.
func (b *builder) whole() {
	d := &b.task.Definition
	d.Family = b.definition.JobDefinitionName
	d.Tags = tags(b.definition.Tags)
	// as AWS Batch runs jobs on EC2
	d.RequiresCompatibilities, d.NetworkMode = []ecstypes.Compatibility{EC2}, ecstypes.NetworkModeHost
	if b.fargate {
		d.RequiresCompatibilities = []ecstypes.Compatibility{Fargate}
		d.Cpu, d.Memory = b.size(false)
		if o := b.task.Run.Overrides; o != nil {
			if cpu, memory := b.size(true); *cpu != *d.Cpu || *memory != *d.Memory {
				o.Cpu, o.Memory = cpu, memory
			}
		}
	}
	if b.fargate || len(b.options.Subnets) > 0 {
		d.NetworkMode = ecstypes.NetworkModeAwsvpc
	}
}

// size returns the sum of the containers' CPU units and MiB, with the overrides
// of this task or without them.
func (b *builder) size(overridden bool) (cpu, memory *string) {
	var units, mib int64
	for _, c := range b.task.Definition.ContainerDefinitions {
		ownCPU, ownMemory := c.Cpu, aws.ToInt32(c.Memory)
		if o := b.task.Run.Overrides; overridden && o != nil {
			if at := slices.IndexFunc(o.ContainerOverrides,
				func(v ecstypes.ContainerOverride) bool { return *v.Name == *c.Name }); at >= 0 {
				ownCPU, ownMemory = cmp.Or(aws.ToInt32(o.ContainerOverrides[at].Cpu), ownCPU),
					cmp.Or(aws.ToInt32(o.ContainerOverrides[at].Memory), ownMemory)
			}
		}
		units, mib = units+int64(ownCPU), mib+int64(ownMemory)
	}
	return aws.String(strconv.FormatInt(units, 10)), aws.String(strconv.FormatInt(mib, 10))
}

func tag(key, value string) ecstypes.Tag { return ecstypes.Tag{Key: &key, Value: &value} }

// tags returns tags sorted by key.
func tags(m map[string]string) (list []ecstypes.Tag) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, tag(k, m[k]))
	}
	return list
}

// run sets the members of RunTask.
func (b *builder) run() {
	r, o := &b.task.Run, b.options
	r.Cluster, r.TaskDefinition = &o.Cluster, b.task.Definition.Family
	r.Tags, r.EnableExecuteCommand = tags(b.job.Submit.Tags), b.execute
	switch {
	case o.CapacityProvider != "":
		r.CapacityProviderStrategy = []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: &o.CapacityProvider}}
	case b.fargate:
		r.LaunchType = Fargate
	default:
		r.LaunchType = EC2
	}
	if b.fargate {
		r.PlatformVersion = b.version
	}
	if b.propagates() {
		r.PropagateTags = ecstypes.PropagateTagsTaskDefinition
	}
	if b.task.Definition.NetworkMode == ecstypes.NetworkModeAwsvpc {
		r.NetworkConfiguration = b.networkOf()
	}
}

// propagates reports whether the task gets the tags of its definition. The
// submission overrides the definition.
func (b *builder) propagates() bool {
	if b.job.Submit.PropagateTags != nil {
		return *b.job.Submit.PropagateTags
	}
	return aws.ToBool(b.definition.PropagateTags)
}

// networkOf returns the network of a task with its own interface.
func (b *builder) networkOf() *ecstypes.NetworkConfiguration {
	v := &ecstypes.AwsVpcConfiguration{Subnets: b.options.Subnets, SecurityGroups: b.options.SecurityGroups}
	if b.fargate { // a task on EC2 cannot have a public address (API reference of AwsVpcConfiguration)
		v.AssignPublicIp = ecstypes.AssignPublicIpDisabled
		if b.options.PublicIP || b.network != nil && b.network.AssignPublicIp == types.AssignPublicIpEnabled {
			v.AssignPublicIp = ecstypes.AssignPublicIpEnabled
		}
	}
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: v}
}
