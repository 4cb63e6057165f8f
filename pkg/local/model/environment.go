//lint:file-ignore SA1019 the deprecated member imageId is part of the API that is served

package model

import (
	"cmp"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// ComputeEnvironment is the name of the compute environment that every engine has: the local
// machine.
const ComputeEnvironment = batch.LocalEnvironment

// Environment is a compute environment: a named share of the local machine. A service environment is
// one too: a limit on the instances of service jobs.
type Environment struct {
	Name string
	UUID string
	// Request is CreateComputeEnvironment with the updates since then. nil: the options configure
	// it, and it is the whole machine.
	Request *awsbatch.CreateComputeEnvironmentInput
	// UpdatePolicy is of the newest update that has one: no environment is created with a policy.
	UpdatePolicy *types.UpdatePolicy
	used         int64 // thousandths of a vCPU
	// Service is CreateServiceEnvironment with the updates since then; nil for a compute environment.
	Service *awsbatch.CreateServiceEnvironmentInput
	// instances has thousandths of the instances in use in a service environment, by type.
	instances map[string]int64
}

// Cluster returns the name of the ECS cluster that Batch would create for the environment. A nil
// environment means the machine.
func (v *Environment) Cluster() string {
	switch {
	case v == nil:
		return batch.LocalCluster
	case v.UUID == "":
		return "AWSBatch-" + v.Name
	}
	return "AWSBatch-" + v.Name + "-" + v.UUID
}

// Disabled reports whether no new attempt may start there.
func (v *Environment) Disabled() bool {
	if v.Service != nil {
		return v.Service.State == types.ServiceEnvironmentStateDisabled
	}
	return v.Request != nil && v.Request.State == types.CEStateDisabled
}

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

// IsFargate reports whether the environment is on Fargate. A nil environment, the machine, is not.
func (v *Environment) IsFargate() bool {
	return v != nil && v.Platform() == types.PlatformCapabilityFargate
}

// IsFargate reports whether a type of compute resources is Fargate.
func IsFargate(t types.CRType) bool { return t == types.CRTypeFargate || t == types.CRTypeFargateSpot }

// Runs reports whether jobs of a platform may run there.
func (v *Environment) Runs(platform types.PlatformCapability) bool {
	return v.Platform() == "" || v.Platform() == platform
}

// limit returns maxvCpus in thousandths, or in a service environment the limit of an instance type. Only
// the machine limits an environment without compute resources.
func (v *Environment) limit(instanceType string) int64 {
	if v.Service != nil {
		return v.instanceLimit(v.unit(instanceType))
	}
	if v.Request == nil || v.Request.ComputeResources == nil {
		return math.MaxInt64
	}
	return int64(aws.ToInt32(v.Request.ComputeResources.MaxvCpus)) * 1000
}

// unit returns the unit in which the environment limits an instance type: the type, or batch.NumInstances; "" in a
// compute environment.
func (v *Environment) unit(instanceType string) string {
	if v.Service == nil {
		return ""
	}
	for _, l := range v.Service.CapacityLimits {
		if aws.ToString(l.CapacityUnit) == batch.NumInstances {
			return batch.NumInstances
		}
	}
	return instanceType
}

// instanceLimit returns the limit of a unit in thousandths; 0 if the environment has none.
func (v *Environment) instanceLimit(unit string) int64 {
	for _, l := range v.Service.CapacityLimits {
		if aws.ToString(l.CapacityUnit) == unit {
			return int64(aws.ToInt32(l.MaxCapacity)) * 1000
		}
	}
	return 0
}

// allInstances returns the sum of all limits in thousandths.
func (v *Environment) allInstances() (sum int64) {
	for _, l := range v.Service.CapacityLimits {
		sum += int64(aws.ToInt32(l.MaxCapacity)) * 1000
	}
	return sum
}

// inUse returns what is in use of a unit, in thousandths. In a compute environment the only unit is
// the vCPU.
func (v *Environment) inUse(unit string) (sum int64) {
	switch {
	case v.Service == nil:
		return v.used
	case unit != batch.NumInstances:
		return v.instances[unit]
	}
	for _, n := range v.instances {
		sum += n
	}
	return sum
}

// Offers returns what an environment of a machine offers: its limit applies to vCPUs only.
func (v *Environment) Offers(machine Amount) Amount {
	machine.MilliCPU = min(machine.MilliCPU, v.limit(""))
	return machine
}

// UpdatedEnvironment returns an environment after an update.
func UpdatedEnvironment(was *awsbatch.CreateComputeEnvironmentInput,
	in *awsbatch.UpdateComputeEnvironmentInput) (*awsbatch.CreateComputeEnvironmentInput, error) {
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
	base := DescribedResources(was.ComputeResources)
	if base == nil {
		base = &types.ComputeResource{}
	}
	r, err := overlay(base, &change)
	if err != nil {
		return nil, err
	}
	removeEmptied(r)
	if change.DesiredvCpus == nil && r.DesiredvCpus != nil {
		r.DesiredvCpus = aws.Int32(clampDesired(*r.DesiredvCpus, r))
	}
	now.ComputeResources = r
	return &now, nil
}

// removeEmptied removes the members that an update has set to an empty text (API reference of ComputeResourceUpdate).
func removeEmptied(r *types.ComputeResource) {
	isEmpty := func(text *string) bool { return text != nil && *text == "" }
	if isEmpty(r.Ec2KeyPair) {
		r.Ec2KeyPair = nil
	}
	if isEmpty(r.ImageId) {
		r.ImageId = nil
	}
	if t := r.LaunchTemplate; t != nil && aws.ToString(t.LaunchTemplateId) == "" &&
		aws.ToString(t.LaunchTemplateName) == "" {
		r.LaunchTemplate = nil
	}
	for i := range r.Ec2Configuration {
		if c := &r.Ec2Configuration[i]; isEmpty(c.ImageIdOverride) {
			c.ImageIdOverride = nil
		}
	}
}

// clampDesired returns the number of vCPUs next to desired that the limits of an environment allow. AWS Batch scales an
// environment into its new limits when an update changes only these.
func clampDesired(desired int32, r *types.ComputeResource) int32 {
	if r.MaxvCpus != nil {
		desired = min(desired, *r.MaxvCpus)
	}
	return max(desired, aws.ToInt32(r.MinvCpus))
}

// DescribedResources returns the compute resources as DescribeComputeEnvironments shows them. On EC2 they always have
// desiredvCpus, which clients read: it starts with minvCpus.
func DescribedResources(r *types.ComputeResource) *types.ComputeResource {
	if r == nil || r.DesiredvCpus != nil || IsFargate(r.Type) {
		return r
	}
	d := *r
	d.DesiredvCpus = aws.Int32(aws.ToInt32(r.MinvCpus))
	return &d
}
