//lint:file-ignore SA1019 the deprecated member imageId is part of the API that is served

package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// environment is a compute environment: a part of this machine under a name.
type environment struct {
	name string
	uuid string
	// request is what CreateComputeEnvironment and the updates since then said;
	// nil: the options configure it, and it is the whole machine.
	request *batch.CreateComputeEnvironmentInput
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

func (m *model) updateEnvironment(in *batch.UpdateComputeEnvironmentInput) error {
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
func updatedEnvironment(was *batch.CreateComputeEnvironmentInput, in *batch.UpdateComputeEnvironmentInput) (*batch.CreateComputeEnvironmentInput, error) {
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

func (e *Engine) createComputeEnvironment(c *call, in *batch.CreateComputeEnvironmentInput) (*batch.CreateComputeEnvironmentOutput, error) {
	name := aws.ToString(in.ComputeEnvironmentName)
	if err := cmp.Or(checkEnvironmentRequest(in), checkTags(in.Tags), e.check(c)); err != nil {
		return nil, err
	}
	in.State = cmp.Or(in.State, types.CEStateEnabled)
	err := e.change(func() ([]event, error) {
		if m := e.model; m.environments[name] != nil || name == ComputeEnvironment {
			return nil, already("compute environment", name)
		}
		return []event{{EnvironmentCreated: &environmentCreation{UUID: newID(), Request: shape[batch.CreateComputeEnvironmentInput]{V: in}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	c.noticeEnvironment(in.ComputeResources)
	return &batch.CreateComputeEnvironmentOutput{ComputeEnvironmentArn: aws.String(arn(kindEnvironment, name)), ComputeEnvironmentName: &name}, nil
}

// checkEnvironmentRequest refuses what Batch refuses, and EKS.
func checkEnvironmentRequest(in *batch.CreateComputeEnvironmentInput) error {
	r := in.ComputeResources
	switch {
	case !definitionName().MatchString(aws.ToString(in.ComputeEnvironmentName)):
		return wire.ClientException("Compute Environment name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case in.EksConfiguration != nil:
		return cannot("eksConfiguration")
	case in.Type != types.CETypeManaged && in.Type != types.CETypeUnmanaged:
		return wire.ClientException("Compute environment type %q is not valid. Valid types: [MANAGED, UNMANAGED]", in.Type)
	case in.State == types.CEStateDisabled:
		return wire.ClientException("Compute Environment must be created in ENABLED state.")
	case in.State != "" && in.State != types.CEStateEnabled:
		return badState(string(in.State))
	case in.Type == types.CETypeManaged && r == nil:
		return wire.ClientException("computeResources must be provided for a MANAGED compute environment")
	case in.Type == types.CETypeManaged && in.UnmanagedvCpus != nil:
		return wire.ClientException("unmanagedvCpus is not applicable for managed Compute Environments")
	case in.Type == types.CETypeUnmanaged && r != nil && isFargate(r.Type):
		return wire.ClientException("Cannot create an UNMANAGED Fargate Compute Environment.")
	case in.Type == types.CETypeUnmanaged && in.ServiceRole == nil:
		return wire.ClientException("ServiceRole is required.")
	case in.UnmanagedvCpus != nil && *in.UnmanagedvCpus < 0:
		return wire.ClientException("unmanagedvCpus should be greater than or equal to 0.")
	case in.Type == types.CETypeManaged:
		return checkResources(r)
	}
	return nil
}

func checkResources(r *types.ComputeResource) error {
	least, desired := aws.ToInt32(r.MinvCpus), r.DesiredvCpus
	switch {
	case !slices.Contains(r.Type.Values(), r.Type):
		return wire.ClientException("Compute resource type %q is not valid. Valid types: %v", r.Type, r.Type.Values())
	case r.MaxvCpus == nil:
		return wire.ClientException("Resource maxvCpus is required.")
	case isFargate(r.Type) && r.MinvCpus != nil:
		return wire.ClientException("minvCpus is not applicable for Fargate.")
	case least < 0:
		return wire.ClientException("minvCpus should be greater than or equal to 0.")
	case *r.MaxvCpus < max(least, 1):
		return wire.ClientException("maxvCpus should be greater than or equal to %s.", map[bool]string{true: "minvCpus", false: "1"}[least > 0])
	case desired != nil && (*desired < least || *desired > *r.MaxvCpus):
		return wire.ClientException("desiredvCpus should be between minvCpus and maxvCpus.")
	}
	return nil
}

func badState(state string) error {
	return wire.ClientException("state %s must be one of ENABLED | DISABLED", state)
}

// noticeEnvironment names the members that mean something for instances only: here
// an environment is a bound on vCPUs, and a platform.
func (c *call) noticeEnvironment(r *types.ComputeResource) {
	if r == nil {
		return
	}
	var given []string
	for _, m := range []struct {
		name  string
		given bool
	}{
		{"allocationStrategy", r.AllocationStrategy != ""},
		{"bidPercentage", r.BidPercentage != nil},
		{"desiredvCpus", r.DesiredvCpus != nil},
		{"ec2Configuration", len(r.Ec2Configuration) > 0},
		{"ec2KeyPair", r.Ec2KeyPair != nil},
		{"imageId", r.ImageId != nil},
		{"instanceRole", r.InstanceRole != nil},
		{"instanceTypes", len(r.InstanceTypes) > 0},
		{"launchTemplate", r.LaunchTemplate != nil},
		{"minvCpus", aws.ToInt32(r.MinvCpus) > 0},
		{"placementGroup", r.PlacementGroup != nil},
		{"scalingPolicy", r.ScalingPolicy != nil},
		{"securityGroupIds", len(r.SecurityGroupIds) > 0},
		{"spotIamFleetRole", r.SpotIamFleetRole != nil},
		{"subnets", len(r.Subnets) > 0},
		{"tags", len(r.Tags) > 0},
	} {
		if m.given {
			given = append(given, "computeResources."+m.name)
		}
	}
	c.remark("a compute environment is a part of this machine, bounded by maxvCpus; these have no effect", given)
}

func (e *Engine) updateComputeEnvironment(c *call, in *batch.UpdateComputeEnvironmentInput) (*batch.UpdateComputeEnvironmentOutput, error) {
	name := resourceName(aws.ToString(in.ComputeEnvironment), kindEnvironment)
	if err := e.check(c); err != nil {
		return nil, err
	}
	var now *batch.CreateComputeEnvironmentInput
	err := e.change(func() (_ []event, err error) {
		v := e.model.environments[name]
		switch {
		case v == nil:
			return nil, missing("Compute environment", in.ComputeEnvironment)
		case v.request == nil:
			return nil, configured("Compute environment", name)
		case in.State != "" && !slices.Contains(in.State.Values(), in.State):
			return nil, badState(string(in.State))
		case in.UpdatePolicy != nil:
			return nil, cannot("updatePolicy")
		case v.request.Type == types.CETypeUnmanaged && in.ComputeResources != nil:
			return nil, wire.ClientException("computeResources are not applicable for an UNMANAGED compute environment.")
		case v.request.Type == types.CETypeManaged && in.UnmanagedvCpus != nil:
			return nil, wire.ClientException("unmanagedvCpus is not applicable for managed Compute Environments")
		}
		if now, err = updatedEnvironment(v.request, in); err != nil {
			return nil, err
		}
		if in.ComputeResources != nil {
			if isFargate(now.ComputeResources.Type) != isFargate(v.request.ComputeResources.Type) {
				return nil, wire.ClientException("A compute environment cannot change between Fargate and EC2.")
			}
			if err := checkResources(now.ComputeResources); err != nil {
				return nil, err
			}
		}
		in.ComputeEnvironment = &name
		return []event{{EnvironmentUpdated: &shape[batch.UpdateComputeEnvironmentInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	if in.ComputeResources != nil {
		c.noticeEnvironment(now.ComputeResources)
	}
	return &batch.UpdateComputeEnvironmentOutput{ComputeEnvironmentArn: aws.String(arn(kindEnvironment, name)), ComputeEnvironmentName: &name}, nil
}

// configured is the answer to who would change what the options say.
func configured(what, name string) error {
	return wire.ClientException("%s %s is configured where the local engine was started, and can be changed only there.", what, name)
}

func (e *Engine) deleteComputeEnvironment(_ *call, in *batch.DeleteComputeEnvironmentInput) (*batch.DeleteComputeEnvironmentOutput, error) {
	name := resourceName(aws.ToString(in.ComputeEnvironment), kindEnvironment)
	return &batch.DeleteComputeEnvironmentOutput{}, e.change(func() ([]event, error) {
		v := e.model.environments[name]
		used := func(q *queue) bool { return slices.Contains(q.Environments, name) }
		switch {
		case v == nil:
			return nil, missing("Compute environment", in.ComputeEnvironment)
		case v.request == nil:
			return nil, configured("Compute environment", name)
		case !v.disabled():
			return nil, wire.ClientException("Cannot delete, compute environment %s must be DISABLED first.", name)
		case slices.ContainsFunc(e.model.known, used):
			return nil, wire.ClientException("Cannot delete, found existing JobQueue relationship")
		}
		return []event{{Deleted: &deletion{resourceOf(kindEnvironment, name)}}}, nil
	})
}

func (e *Engine) describeComputeEnvironments(_ *call, in *batch.DescribeComputeEnvironmentsInput) (*batch.DescribeComputeEnvironmentsOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := sortedKeys(e.model.environments)
	self := func(name string) string { return name }
	page, next, err := pageOf(named(all, in.ComputeEnvironments, kindEnvironment, self), in.MaxResults, 100, in.NextToken, self)
	if err != nil {
		return nil, err
	}
	out := &batch.DescribeComputeEnvironmentsOutput{NextToken: next, ComputeEnvironments: []types.ComputeEnvironmentDetail{}}
	for _, name := range page {
		out.ComputeEnvironments = append(out.ComputeEnvironments, e.environmentDetail(e.model.environments[name]))
	}
	return out, nil
}

// environmentDetail is an environment as Batch shows it. One that the options
// configure is like one that somebody else manages: this machine.
func (e *Engine) environmentDetail(v *environment) types.ComputeEnvironmentDetail {
	r := resourceOf(kindEnvironment, v.name)
	d := types.ComputeEnvironmentDetail{
		ComputeEnvironmentName:     &v.name,
		ComputeEnvironmentArn:      aws.String(r.arn()),
		ContainerOrchestrationType: types.OrchestrationTypeEcs,
		EcsClusterArn:              aws.String(ecsPrefix + "cluster/" + v.cluster()),
		Type:                       types.CETypeUnmanaged,
		State:                      types.CEStateEnabled,
		Status:                     types.CEStatusValid,
		StatusReason:               aws.String("ComputeEnvironment Healthy"),
		UnmanagedvCpus:             aws.Int32(int32(e.options.VCPUs)),
		Tags:                       merged(nil, e.model.tags[r]),
		Uuid:                       optional(v.uuid),
	}
	if q := v.request; q != nil {
		d.Type, d.State, d.UnmanagedvCpus = q.Type, q.State, q.UnmanagedvCpus
		d.ComputeResources, d.ServiceRole, d.Context = q.ComputeResources, q.ServiceRole, q.Context
	}
	return d
}

// named returns the elements that are asked for by name or ARN; nothing asked
// for: all of them.
func named[T any](all []T, asked []string, kind string, name func(T) string) []T {
	if len(asked) == 0 {
		return all
	}
	var out []T
	for _, v := range all {
		if slices.ContainsFunc(asked, func(text string) bool { return resourceName(text, kind) == name(v) }) {
			out = append(out, v)
		}
	}
	return out
}
