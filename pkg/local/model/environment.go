package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Environment is a compute environment: a named share of the local machine. A service environment is
// one too: a limit on the instances of service jobs.
type Environment struct {
	Name string
	UUID string
	// Request is CreateComputeEnvironment with the updates since then. nil: the options configure
	// it, and it is the whole machine.
	Request *awsbatch.CreateComputeEnvironmentInput
	used    int64 // thousandths of a vCPU
	// Service is CreateServiceEnvironment with the updates since then; nil for a compute environment.
	Service *awsbatch.CreateServiceEnvironmentInput
	// instances has thousandths of the instances in use in a service environment, by type.
	instances map[string]int64
}

// Disabled reports whether no new attempt may start there.
func (v *Environment) Disabled() bool {
	if v.Service != nil {
		return v.Service.State == types.ServiceEnvironmentStateDisabled
	}
	return v.Request != nil && v.Request.State == types.CEStateDisabled
}

// PlatformEKS is the platform of pods. Batch has the first two platforms as capabilities, and this one as an
// orchestration type.
const PlatformEKS types.PlatformCapability = "EKS"

// Platform returns the platform of jobs that may run there; "" means any.
func (v *Environment) Platform() types.PlatformCapability {
	switch {
	case v.Request == nil:
		return ""
	case v.Request.EksConfiguration != nil:
		return PlatformEKS
	case v.Request.ComputeResources != nil && IsFargate(v.Request.ComputeResources.Type):
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

// IsFargate reports whether a type of compute resources is Fargate.
func IsFargate(t types.CRType) bool { return t == types.CRTypeFargate || t == types.CRTypeFargateSpot }

// limit returns maxvCpus in thousandths, or in a service environment the limit of j's instances. Only
// the machine limits an environment without compute resources.
func (v *Environment) limit(j *Job) int64 {
	if v.Service != nil {
		return v.instanceLimit(v.unit(j))
	}
	if v.Request == nil || v.Request.ComputeResources == nil {
		return math.MaxInt64
	}
	return int64(aws.ToInt32(v.Request.ComputeResources.MaxvCpus)) * 1000
}

// machineEnvironment returns the environment with a name from the options or from a queue of an
// older engine. It creates the environment if it does not exist.
func (m *Model) machineEnvironment(name string) *Environment {
	v := m.Environments[name]
	if v == nil {
		v = &Environment{Name: name}
		m.Environments[name] = v
	}
	return v
}

// createEnvironment adds an environment, unless the options now configure one of this name.
func (m *Model) createEnvironment(c *EnvironmentCreation) error {
	name := aws.ToString(c.Request.V.ComputeEnvironmentName)
	if v := m.Environments[name]; v != nil && v.Request == nil {
		return nil // the options now configure one of this name
	}
	if name == "" || m.Environments[name] != nil {
		return fmt.Errorf("create compute environment %q: it exists, or has no name", name)
	}
	m.Environments[name] = &Environment{Name: name, UUID: c.UUID, Request: c.Request.V}
	m.tag(ResourceOf(KindEnvironment, name), c.Request.V.Tags)
	return nil
}

// updateEnvironment applies an update to an environment that a request created.
func (m *Model) updateEnvironment(in *awsbatch.UpdateComputeEnvironmentInput) error {
	v := m.Environments[aws.ToString(in.ComputeEnvironment)]
	switch {
	case v == nil:
		return fmt.Errorf("update compute environment %q: no such environment", aws.ToString(in.ComputeEnvironment))
	case v.Request == nil:
		return nil
	}
	now, err := UpdatedEnvironment(v.Request, in)
	if err != nil {
		return fmt.Errorf("update compute environment %s: %w", v.Name, err)
	}
	v.Request = now
	m.reconsider(func(q *Queue) bool { return slices.Contains(q.Environments, v.Name) })
	return nil
}

// UpdatedEnvironment returns an environment after an update.
func UpdatedEnvironment(was *awsbatch.CreateComputeEnvironmentInput, in *awsbatch.UpdateComputeEnvironmentInput) (*awsbatch.CreateComputeEnvironmentInput, error) {
	now := *was
	now.State = cmp.Or(in.State, was.State)
	now.ServiceRole = cmp.Or(in.ServiceRole, was.ServiceRole)
	now.UnmanagedvCpus = cmp.Or(in.UnmanagedvCpus, was.UnmanagedvCpus)
	now.Context = cmp.Or(in.Context, was.Context)
	if in.ComputeResources == nil {
		return &now, nil
	}
	change := *in.ComputeResources
	change.UpdateToLatestImageVersion = nil // an instruction, not a member of the environment
	base := was.ComputeResources
	if base == nil {
		base = &types.ComputeResource{}
	}
	var err error
	now.ComputeResources, err = overlay(base, &change)
	return &now, err
}

// Runs reports whether jobs of a platform may run there.
func (v *Environment) Runs(platform types.PlatformCapability) bool {
	return v.Platform() == "" || v.Platform() == platform
}
