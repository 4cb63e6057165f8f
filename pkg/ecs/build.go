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

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Container is the name of the container of a job that has one, as AWS Batch names it.
const Container = "default"

// LogGroup is where logs go unless the job says otherwise, as on AWS Batch. Batch makes it
// with its first job; a task makes it itself where that is not there.
const LogGroup = "/aws/batch/job"

// The launch types.
const (
	EC2     = "EC2"
	Fargate = "FARGATE"
)

// Options say where a task is to run.
type Options struct {
	Cluster string
	Region  string // of the logs
	// LaunchType is EC2, Fargate, or "" for that of the job: FARGATE where its
	// platformCapabilities say so.
	LaunchType string
	// CapacityProvider takes the place of a launch type, if given.
	CapacityProvider        string
	Subnets, SecurityGroups []string
	PublicIP                bool
}

// Task is a job as ECS takes it.
type Task struct {
	Name       string
	Definition TaskDefinition
	Run        RunTask // without its token; TaskDefinition is the family
	// Lost says what of the job does not hold on ECS, a sentence each.
	Lost []string
}

// Requests returns the requests of the task in their order, as they are before
// anything is sent.
func (t *Task) Requests() []Request {
	return []Request{
		{"RegisterTaskDefinition", "aws ecs register-task-definition --cli-input-json", t.Definition},
		{"RunTask", "aws ecs run-task --cli-input-json", t.Run},
	}
}

// Stamped is the RunTask of a submission: with its id as token, tag and mark of who
// started it, and in the environment of a job of one container.
func (t *Task) Stamped(token string) RunTask {
	run := t.Run
	run.ClientToken, run.StartedBy = token, token
	if len(run.Tags) < maxTags {
		run.Tags = append(slices.Clone(run.Tags), Tag{client.SubmissionTag, token})
	}
	if t.Definition.ContainerDefinitions[0].Name != Container {
		return run
	}
	over := &TaskOverride{}
	if run.Overrides != nil {
		*over = *run.Overrides
	}
	over.ContainerOverrides = slices.Clone(over.ContainerOverrides)
	if len(over.ContainerOverrides) == 0 {
		over.ContainerOverrides = []ContainerOverride{{Name: Container}}
	}
	o := &over.ContainerOverrides[0]
	o.Environment = append(slices.Clone(o.Environment), types.KeyValuePair{Name: aws.String(client.SubmissionVariable), Value: &token})
	run.Overrides = over
	return run
}

// CannotError is a job that would be another one on ECS.
type CannotError struct {
	// Reasons are sentences, each with the next step.
	Reasons []string
}

func (e *CannotError) Error() string {
	return fmt.Sprintf("ECS cannot hold this job: %d reasons", len(e.Reasons))
}

// Build makes the task of a plan's job. definition is the job definition that it runs:
// j.Register, or that of an earlier job of the plan. What would change the result is
// a *CannotError.
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

type builder struct {
	job        *plan.Job
	definition *awsbatch.RegisterJobDefinitionInput
	options    Options
	fargate    bool
	task       *Task
	cannot     []string
	// What of the definition RunTask takes.
	network *types.NetworkConfiguration
	execute *bool
	version *string
}

func (b *builder) refuse(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.cannot, text) {
		b.cannot = append(b.cannot, text)
	}
}

// onFargate reports whether the task runs on Fargate: a capacity provider or a launch
// type says so, or else the job.
func (b *builder) onFargate() bool {
	switch {
	case b.options.CapacityProvider != "":
		return b.options.CapacityProvider == "FARGATE" || b.options.CapacityProvider == "FARGATE_SPOT"
	case b.options.LaunchType != "":
		return b.options.LaunchType == Fargate
	}
	return slices.Contains(b.definition.PlatformCapabilities, types.PlatformCapabilityFargate)
}

// single lowers a job of one container.
func (b *builder) single(c *types.ContainerProperties) {
	d := &b.task.Definition
	d.TaskRoleArn, d.ExecutionRoleArn = c.JobRoleArn, c.ExecutionRoleArn
	d.Volumes, d.EphemeralStorage, d.RuntimePlatform = c.Volumes, c.EphemeralStorage, c.RuntimePlatform
	b.network, b.execute = c.NetworkConfiguration, c.EnableExecuteCommand
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
	b.add(types.TaskContainerProperties{Name: aws.String(Container), Essential: aws.Bool(true), Image: c.Image, Command: c.Command, Environment: c.Environment,
		LinuxParameters: c.LinuxParameters, LogConfiguration: c.LogConfiguration, MountPoints: c.MountPoints, Privileged: c.Privileged,
		ReadonlyRootFilesystem: c.ReadonlyRootFilesystem, RepositoryCredentials: c.RepositoryCredentials, Secrets: c.Secrets, Ulimits: c.Ulimits,
		User: c.User, ResourceRequirements: asked},
		types.TaskContainerOverrides{Command: over.Command, Environment: over.Environment, ResourceRequirements: overAsked})
}

// requirements adds what the deprecated members vcpus and memory ask for.
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

func valueOf(list []types.ResourceRequirement, kind types.ResourceType) string {
	for _, r := range list {
		if r.Type == kind {
			return aws.ToString(r.Value)
		}
	}
	return ""
}

// several lowers a job of several containers, which has ECS's form already.
func (b *builder) several(t *types.EcsTaskProperties) {
	d := &b.task.Definition
	d.TaskRoleArn, d.ExecutionRoleArn = t.TaskRoleArn, t.ExecutionRoleArn
	d.Volumes, d.EphemeralStorage, d.RuntimePlatform = t.Volumes, t.EphemeralStorage, t.RuntimePlatform
	d.PidMode, d.IpcMode = t.PidMode, t.IpcMode
	b.network, b.execute, b.version = t.NetworkConfiguration, t.EnableExecuteCommand, t.PlatformVersion
	for _, c := range t.Containers {
		b.add(c, b.overrideOf(aws.ToString(c.Name)))
	}
}

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

// add lowers a container, and what of it holds for this task alone.
func (b *builder) add(c types.TaskContainerProperties, over types.TaskContainerOverrides) {
	name := aws.ToString(c.Name)
	cpu, memory, gpus := b.resources(c.ResourceRequirements)
	essential := c.Essential
	if essential == nil {
		essential = aws.Bool(true) // ECS's default, said so that a comparison finds it
	}
	d := ContainerDefinition{Name: name, Image: c.Image, RepositoryCredentials: c.RepositoryCredentials, Cpu: cpu, Memory: memory, Essential: essential,
		Command: substitute(c.Command, b.definition.Parameters), Environment: c.Environment, MountPoints: c.MountPoints, LinuxParameters: c.LinuxParameters,
		Secrets: c.Secrets, DependsOn: c.DependsOn, StartTimeout: c.StartTimeout, StopTimeout: c.StopTimeout, User: c.User, Privileged: c.Privileged,
		ReadonlyRootFilesystem: c.ReadonlyRootFilesystem, Ulimits: c.Ulimits, LogConfiguration: b.logs(c), ResourceRequirements: gpus,
		FirelensConfiguration: c.FirelensConfiguration}
	b.task.Definition.ContainerDefinitions = append(b.task.Definition.ContainerDefinitions, d)

	o := ContainerOverride{Name: name, Environment: over.Environment}
	o.Cpu, o.Memory, o.ResourceRequirements = b.resources(over.ResourceRequirements)
	if command := b.command(c, over); !slices.Equal(command, d.Command) {
		o.Command = command
	}
	if o.Cpu+o.Memory > 0 || len(o.Command)+len(o.Environment)+len(o.ResourceRequirements) > 0 {
		b.override(o)
	}
}

func (b *builder) override(o ContainerOverride) {
	if b.task.Run.Overrides == nil {
		b.task.Run.Overrides = &TaskOverride{}
	}
	list := &b.task.Run.Overrides.ContainerOverrides
	*list = append(*list, o)
}

// command is what the container of this task runs: AWS Batch puts the submission's
// parameters over the definition's.
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
	for _, word := range command {
		if name, isRef := reference(word); isRef {
			b.refuse("the command has Ref::%[1]s, and the job has no parameter %[1]s: ECS would hand the word on as it is; give it: --parameters %[1]s=VALUE", name)
		}
	}
	return command
}

// unitsPerCPU is what ECS calls a vCPU (API reference of ContainerDefinition.cpu).
const unitsPerCPU = 1024

// resources are requirements as ECS counts them: CPU in units and memory in MiB, both
// rounded up, and what is left, the GPUs.
func (b *builder) resources(list []types.ResourceRequirement) (cpu, memory int64, gpus []types.ResourceRequirement) {
	for _, r := range list {
		value, err := strconv.ParseFloat(aws.ToString(r.Value), 64)
		if err != nil || value < 0 || value > 1<<30 {
			b.refuse("%s %q is no amount; give a number", r.Type, aws.ToString(r.Value))
			continue
		}
		switch r.Type {
		case types.ResourceTypeVcpu:
			cpu = int64(math.Ceil(value * unitsPerCPU))
		case types.ResourceTypeMemory:
			memory = int64(math.Ceil(value))
		case types.ResourceTypeGpu:
			if value > 0 {
				gpus = append(gpus, r)
			}
		}
	}
	return cpu, memory, gpus
}

// logs is the container's log configuration with what AWS Batch would fill in: the
// driver awslogs, the group, the Region, and the job definition's name as prefix, so
// that a stream is <definition>/<container>/<task id>.
func (b *builder) logs(c types.TaskContainerProperties) *types.LogConfiguration {
	l := types.LogConfiguration{LogDriver: types.LogDriverAwslogs}
	if c.LogConfiguration != nil {
		l = *c.LogConfiguration
	}
	if l.LogDriver != types.LogDriverAwslogs {
		return &l
	}
	options := map[string]string{"awslogs-group": LogGroup, "awslogs-region": b.options.Region, "awslogs-stream-prefix": aws.ToString(b.definition.JobDefinitionName)}
	if _, own := l.Options["awslogs-group"]; !own {
		options["awslogs-create-group"] = "true"
	}
	maps.Copy(options, l.Options)
	l.Options = options
	return &l
}

// whole lowers what is of the task and not of a container.
func (b *builder) whole() {
	d := &b.task.Definition
	d.Family = aws.ToString(b.definition.JobDefinitionName)
	d.Tags = tags(b.definition.Tags)
	d.RequiresCompatibilities, d.NetworkMode = []string{EC2}, "host" // as AWS Batch runs jobs on EC2
	if b.fargate {
		d.RequiresCompatibilities = []string{Fargate}
		d.Cpu, d.Memory = b.size(false)
		if o := b.task.Run.Overrides; o != nil {
			if cpu, memory := b.size(true); cpu != d.Cpu || memory != d.Memory {
				o.Cpu, o.Memory = cpu, memory
			}
		}
	}
	if b.fargate || len(b.options.Subnets) > 0 {
		d.NetworkMode = "awsvpc"
	}
}

// size is what the containers ask for together, with or without what holds for this
// task alone.
func (b *builder) size(overridden bool) (cpu, memory string) {
	var units, mib int64
	for _, c := range b.task.Definition.ContainerDefinitions {
		if o := b.task.Run.Overrides; overridden && o != nil {
			if at := slices.IndexFunc(o.ContainerOverrides, func(v ContainerOverride) bool { return v.Name == c.Name }); at >= 0 {
				c.Cpu, c.Memory = cmp.Or(o.ContainerOverrides[at].Cpu, c.Cpu), cmp.Or(o.ContainerOverrides[at].Memory, c.Memory)
			}
		}
		units, mib = units+c.Cpu, mib+c.Memory
	}
	return strconv.FormatInt(units, 10), strconv.FormatInt(mib, 10)
}

// tags are tags in the order of their names.
func tags(m map[string]string) (list []Tag) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, Tag{k, m[k]})
	}
	return list
}

func (b *builder) run() {
	r, o := &b.task.Run, b.options
	r.Cluster, r.TaskDefinition = o.Cluster, b.task.Definition.Family
	r.Tags, r.EnableExecuteCommand = tags(b.job.Submit.Tags), b.execute
	switch {
	case o.CapacityProvider != "":
		r.CapacityProviderStrategy = []CapacityProvider{{o.CapacityProvider}}
	case b.fargate:
		r.LaunchType = Fargate
	default:
		r.LaunchType = EC2
	}
	if b.fargate {
		r.PlatformVersion = b.version
	}
	if b.propagates() {
		r.PropagateTags = "TASK_DEFINITION"
	}
	if b.task.Definition.NetworkMode == "awsvpc" {
		r.NetworkConfiguration = b.networkOf()
	}
}

func (b *builder) propagates() bool {
	if b.job.Submit.PropagateTags != nil {
		return *b.job.Submit.PropagateTags
	}
	return aws.ToBool(b.definition.PropagateTags)
}

func (b *builder) networkOf() *NetworkConfiguration {
	v := &AwsVpcConfiguration{Subnets: b.options.Subnets, SecurityGroups: b.options.SecurityGroups}
	if b.fargate { // a task on EC2 cannot have a public address (API reference of AwsVpcConfiguration)
		v.AssignPublicIp = "DISABLED"
		if b.options.PublicIP || b.network != nil && b.network.AssignPublicIp == types.AssignPublicIpEnabled {
			v.AssignPublicIp = "ENABLED"
		}
	}
	return &NetworkConfiguration{v}
}
