package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// environment is a compute environment: a part of this machine under a name.
type environment struct {
	name string
	uuid string
	// request is what CreateComputeEnvironment and the updates since then said;
	// nil: the options configure it, and it is the whole machine.
	request *awsbatch.CreateComputeEnvironmentInput
	used    int64 // thousandths of a vCPU
}

func (v *environment) disabled() bool {
	return v.request != nil && v.request.State == types.CEStateDisabled
}

// platform is what runs there; empty: jobs for any platform.
func (v *environment) platform() types.PlatformCapability {
	switch {
	case v.request == nil:
		return ""
	case v.request.ComputeResources != nil && isFargate(v.request.ComputeResources.Type):
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

func isFargate(t types.CRType) bool { return t == types.CRTypeFargate || t == types.CRTypeFargateSpot }

// limit is the maxvCpus in thousandths. Only the machine bounds an environment
// without compute resources of its own.
func (v *environment) limit() int64 {
	if v.request == nil || v.request.ComputeResources == nil {
		return math.MaxInt64
	}
	return int64(aws.ToInt32(v.request.ComputeResources.MaxvCpus)) * 1000
}

// machineEnvironment returns the environment of a name that the options or a queue of
// an older engine mention, and makes it where there is none.
func (m *model) machineEnvironment(name string) *environment {
	v := m.environments[name]
	if v == nil {
		v = &environment{name: name}
		m.environments[name] = v
	}
	return v
}

func (m *model) createEnvironment(c *environmentCreation) error {
	name := aws.ToString(c.Request.V.ComputeEnvironmentName)
	if v := m.environments[name]; v != nil && v.request == nil {
		return nil // the options configure one of this name by now
	}
	if name == "" || m.environments[name] != nil {
		return fmt.Errorf("create compute environment %q: it exists, or has no name", name)
	}
	m.environments[name] = &environment{name: name, uuid: c.UUID, request: c.Request.V}
	m.tag(resourceOf(kindEnvironment, name), c.Request.V.Tags)
	return nil
}

func (m *model) updateEnvironment(in *awsbatch.UpdateComputeEnvironmentInput) error {
	v := m.environments[aws.ToString(in.ComputeEnvironment)]
	switch {
	case v == nil:
		return fmt.Errorf("update compute environment %q: no such environment", aws.ToString(in.ComputeEnvironment))
	case v.request == nil:
		return nil
	}
	now, err := updatedEnvironment(v.request, in)
	if err != nil {
		return fmt.Errorf("update compute environment %s: %w", v.name, err)
	}
	v.request = now
	m.reconsider(func(q *queue) bool { return slices.Contains(q.Environments, v.name) })
	return nil
}

// updatedEnvironment is what an environment becomes by an update.
func updatedEnvironment(was *awsbatch.CreateComputeEnvironmentInput, in *awsbatch.UpdateComputeEnvironmentInput) (*awsbatch.CreateComputeEnvironmentInput, error) {
	now := *was
	now.State = cmp.Or(in.State, was.State)
	now.ServiceRole = cmp.Or(in.ServiceRole, was.ServiceRole)
	now.UnmanagedvCpus = cmp.Or(in.UnmanagedvCpus, was.UnmanagedvCpus)
	now.Context = cmp.Or(in.Context, was.Context)
	if in.ComputeResources == nil {
		return &now, nil
	}
	change := *in.ComputeResources
	change.UpdateToLatestImageVersion = nil // an order, no member of the environment
	base := was.ComputeResources
	if base == nil {
		base = &types.ComputeResource{}
	}
	var err error
	now.ComputeResources, err = overlay(base, &change)
	return &now, err
}

// runs reports whether jobs of a platform may run there.
func (v *environment) runs(fargate bool) bool {
	return v.platform() == "" || (v.platform() == types.PlatformCapabilityFargate) == fargate
}
