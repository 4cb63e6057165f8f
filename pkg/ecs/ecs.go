// Package ecs runs a job file on an ECS cluster without AWS Batch: the requests that
// stand for a plan's job, what ECS cannot hold of it, and a client that registers,
// runs once, watches and stops.
package ecs

import (
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// The shapes below are ECS's own, as far as a job needs them. Their wire names follow
// wire's rule, as Batch's do; where a member of Batch has the same shape in ECS, Batch's
// struct stands for it (API references of both).

// TaskDefinition is the input of RegisterTaskDefinition.
type TaskDefinition struct {
	Family                  string
	TaskRoleArn             *string
	ExecutionRoleArn        *string
	NetworkMode             string // bridge, host, awsvpc, none
	ContainerDefinitions    []ContainerDefinition
	Volumes                 []types.Volume
	RequiresCompatibilities []string // EC2 or FARGATE
	// Cpu, in units of 1/1024 vCPU, and Memory, in MiB, are of the whole task: Fargate
	// alone needs them.
	Cpu, Memory      string
	PidMode, IpcMode *string
	EphemeralStorage *types.EphemeralStorage
	RuntimePlatform  *types.RuntimePlatform
	Tags             []Tag
}

// ContainerDefinition is a container of a task. The members of Batch's own container
// definitions keep their meaning; Cpu is in units of 1/1024 vCPU, Memory in MiB.
type ContainerDefinition struct {
	Name                   string
	Image                  *string
	RepositoryCredentials  *types.RepositoryCredentials
	Cpu, Memory            int64
	Essential              *bool
	Command                []string
	Environment            []types.KeyValuePair
	MountPoints            []types.MountPoint
	LinuxParameters        *types.LinuxParameters
	Secrets                []types.Secret
	DependsOn              []types.TaskContainerDependency
	StartTimeout           *int32
	StopTimeout            *int32
	User                   *string
	Privileged             *bool
	ReadonlyRootFilesystem *bool
	Ulimits                []types.Ulimit
	LogConfiguration       *types.LogConfiguration
	ResourceRequirements   []types.ResourceRequirement // GPU alone
	FirelensConfiguration  *types.FirelensConfiguration
}

// Tag is a tag of ECS.
type Tag struct{ Key, Value string }

// RunTask is the input of RunTask.
type RunTask struct {
	Cluster                  string
	TaskDefinition           string
	CapacityProviderStrategy []CapacityProvider
	LaunchType               string // EC2 or FARGATE; "" with a capacity provider
	PlatformVersion          *string
	NetworkConfiguration     *NetworkConfiguration
	Overrides                *TaskOverride
	EnableExecuteCommand     *bool
	PropagateTags            string
	Tags                     []Tag
	// StartedBy and ClientToken hold the id of the submission. ECS answers a request
	// whose token it knows with the task of the first, for 24 hours.
	StartedBy   string
	ClientToken string
}

// CapacityProvider is where the task is placed.
type CapacityProvider struct{ CapacityProvider string }

// NetworkConfiguration is that of a task with a network interface of its own.
type NetworkConfiguration struct{ AwsvpcConfiguration *AwsVpcConfiguration }

// AwsVpcConfiguration names where the task's network interface is.
type AwsVpcConfiguration struct {
	Subnets, SecurityGroups []string
	AssignPublicIp          string // ENABLED or DISABLED
}

// TaskOverride is what of a definition holds for one task alone.
type TaskOverride struct {
	ContainerOverrides []ContainerOverride
	Cpu, Memory        string // as TaskDefinition's
}

// ContainerOverride is that of one container, which Name names.
type ContainerOverride struct {
	Name                 string
	Command              []string
	Environment          []types.KeyValuePair
	Cpu, Memory          int64
	ResourceRequirements []types.ResourceRequirement
}

// Request is one AWS request.
type Request struct {
	Operation string
	// Command sends it: aws ecs run-task --cli-input-json.
	Command string
	// Input is a TaskDefinition or a RunTask.
	Input any
}
