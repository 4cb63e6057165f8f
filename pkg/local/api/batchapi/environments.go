//lint:file-ignore SA1019 the deprecated member imageId is part of the API that is served

package batchapi

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// environments has the operations on compute environments.
type environments struct{ *service }

// createComputeEnvironment records an environment, ENABLED by default. It is a limit on vCPUs and
// a platform: the engine starts no instances. The notice of the answer names the members that
// have no effect here.
func (es environments) createComputeEnvironment(c *call.Call,
	in *awsbatch.CreateComputeEnvironmentInput) (*awsbatch.CreateComputeEnvironmentOutput, error) {
	name := aws.ToString(in.ComputeEnvironmentName)
	if err := cmp.Or(checkEnvironmentRequest(in), checkTags(in.Tags), es.check(c)); err != nil {
		return nil, err
	}
	in.State = cmp.Or(in.State, types.CEStateEnabled)
	err := es.backend.Change(func(m *model.Model) ([]model.Event, error) {
		// An engine with default options has an environment of this name, so it is reserved.
		if m.Environments[name] != nil || name == model.ComputeEnvironment {
			return nil, already("Compute environment", name)
		}
		return []model.Event{{EnvironmentCreated: &model.EnvironmentCreation{UUID: call.NewID(),
			Request: model.Shape[*awsbatch.CreateComputeEnvironmentInput]{V: in}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	noticeEnvironment(c, in.ComputeResources)
	return &awsbatch.CreateComputeEnvironmentOutput{ComputeEnvironmentArn: aws.String(model.ARN(model.KindEnvironment,
		name)), ComputeEnvironmentName: &name}, nil
}

// checkEnvironmentRequest rejects environments that Batch rejects.
func checkEnvironmentRequest(in *awsbatch.CreateComputeEnvironmentInput) error {
	r := in.ComputeResources
	managed := in.Type == types.CETypeManaged
	switch {
	case !definitionName().MatchString(aws.ToString(in.ComputeEnvironmentName)):
		return wire.ClientException("Compute Environment name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case !managed && in.ServiceRole == nil &&
		in.EksConfiguration == nil: // also of another type: a test of moto wants it
		return required("ServiceRole")
	case !managed && in.Type != types.CETypeUnmanaged:
		return wire.ClientException("Compute environment type %q is not valid. Valid types: [MANAGED, UNMANAGED]",
			in.Type)
	case in.State != "" && !slices.Contains(in.State.Values(), in.State):
		return badState(string(in.State))
	case managed && r == nil:
		return wire.ClientException("computeResources must be provided for a MANAGED compute environment")
	case managed:
		return cmp.Or(checkInstances(r), checkResources(r), checkEKS(in), checkEnvironmentValues(in))
	}
	return cmp.Or(checkEKS(in), checkEnvironmentValues(in))
}

// checkEnvironmentValues checks the values that are left.
func checkEnvironmentValues(in *awsbatch.CreateComputeEnvironmentInput) error {
	managed := in.Type == types.CETypeManaged
	switch {
	case in.State == types.CEStateDisabled:
		return wire.ClientException("Compute Environment must be created in ENABLED state.")
	case !managed && in.ComputeResources != nil && model.IsFargate(in.ComputeResources.Type):
		return wire.ClientException("Cannot create an UNMANAGED Fargate Compute Environment.")
	}
	return checkUnmanaged(managed, in.UnmanagedvCpus)
}

// checkUnmanaged checks unmanagedvCpus, which only an UNMANAGED environment may have.
func checkUnmanaged(managed bool, vcpus *int32) error {
	switch {
	case managed && vcpus != nil:
		return wire.ClientException("unmanagedvCpus is not applicable for managed Compute Environments")
	case aws.ToInt32(vcpus) < 0:
		return wire.ClientException("unmanagedvCpus should be greater than or equal to 0.")
	}
	return nil
}

// checkInstances rejects compute resources with which Batch could not start an instance. Fargate
// needs none.
func checkInstances(r *types.ComputeResource) error {
	switch {
	case model.IsFargate(r.Type):
		return nil
	case r.InstanceRole == nil:
		return required("Instance role")
	case r.MinvCpus == nil:
		return required("Resource minvCpus")
	}
	for _, name := range r.InstanceTypes {
		if !instanceType().MatchString(name) {
			return wire.ClientException("Instance type %s does not exist.", name)
		}
	}
	return nil
}

// instanceType matches an instance type, a family or a bundle of families such as optimal. Every
// family has a digit in its name.
var instanceType = lazy(`^([a-z][a-z-]*[0-9][a-z0-9-]*(\.[a-z0-9-]+)?|optimal|default_[a-z0-9_]+)$`)

// checkResources rejects limits on vCPUs that contradict each other. r.MaxvCpus may be nil:
// clients other than the SDK can leave it out.
func checkResources(r *types.ComputeResource) error {
	least, desired := aws.ToInt32(r.MinvCpus), r.DesiredvCpus
	switch {
	case !slices.Contains(r.Type.Values(), r.Type):
		return wire.ClientException("Compute resource type %q is not valid. Valid types: %v", r.Type, r.Type.Values())
	case r.MaxvCpus == nil:
		return wire.ClientException("Resource maxvCpus is required.")
	case least < 0:
		return wire.ClientException("minvCpus should be greater than or equal to 0.")
	case *r.MaxvCpus < least:
		return wire.ClientException("maxvCpus should be greater than or equal to minvCpus.")
	case *r.MaxvCpus < 0:
		return wire.ClientException("maxvCpus should be greater than or equal to 1.")
	case *r.MaxvCpus == 0:
		return wire.ClientException("maxvCpus should be greater than or equal to 1.")
	case model.IsFargate(r.Type) && r.MinvCpus != nil:
		return wire.ClientException("minvCpus is not applicable for Fargate.")
	case desired != nil && (*desired < least || *desired > *r.MaxvCpus):
		return wire.ClientException("desiredvCpus should be between minvCpus and maxvCpus.")
	}
	return nil
}

// noticeEnvironment names the members that only apply to instances: here an environment is a limit
// on vCPUs, and a platform.
func noticeEnvironment(c *call.Call, r *types.ComputeResource) {
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
	c.Remark("a compute environment is a share of the local machine, limited by maxvCpus; these have no effect", given)
}

// updateComputeEnvironment merges the request into the environment and checks the result like a
// new one. Environments from the engine's options cannot be changed.
func (es environments) updateComputeEnvironment(c *call.Call,
	in *awsbatch.UpdateComputeEnvironmentInput) (*awsbatch.UpdateComputeEnvironmentOutput, error) {
	name := model.ResourceName(aws.ToString(in.ComputeEnvironment), model.KindEnvironment)
	if err := es.check(c); err != nil {
		return nil, err
	}
	var now *awsbatch.CreateComputeEnvironmentInput
	err := es.backend.Change(func(m *model.Model) (_ []model.Event, err error) {
		v := m.Environments[name]
		switch {
		case v == nil:
			return nil, missing("Compute environment", in.ComputeEnvironment)
		case v.Request == nil:
			return nil, configured("Compute environment", name)
		case in.State != "" && !slices.Contains(in.State.Values(), in.State):
			return nil, badState(string(in.State))
		// Batch manages no resources in an UNMANAGED environment, so there is nothing to change.
		case v.Request.Type == types.CETypeUnmanaged && in.ComputeResources != nil:
			return nil, wire.ClientException("computeResources are not applicable for an UNMANAGED compute environment.")
		}
		if err := cmp.Or(checkUnmanaged(v.Request.Type == types.CETypeManaged, in.UnmanagedvCpus),
			checkUpdatePolicy(in.UpdatePolicy)); err != nil {
			return nil, err
		}
		if now, err = model.UpdatedEnvironment(v.Request, in); err != nil {
			return nil, err
		}
		if in.ComputeResources != nil {
			// The platform decides which jobs may run there, also those that wait already.
			if model.IsFargate(now.ComputeResources.Type) != model.IsFargate(v.Request.ComputeResources.Type) {
				return nil, wire.ClientException("A compute environment cannot change between Fargate and EC2.")
			}
			if err := cmp.Or(checkResources(now.ComputeResources), checkEKS(now)); err != nil {
				return nil, err
			}
		}
		in.ComputeEnvironment = &name // the request may have an ARN; the model uses names
		return []model.Event{{EnvironmentUpdated: &model.Shape[*awsbatch.UpdateComputeEnvironmentInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	if in.ComputeResources != nil {
		noticeEnvironment(c, now.ComputeResources)
	}
	if in.UpdatePolicy != nil {
		c.Remark("no update replaces instances; this has no effect", []string{"updatePolicy"})
	}
	return &awsbatch.UpdateComputeEnvironmentOutput{ComputeEnvironmentArn: aws.String(model.ARN(model.KindEnvironment,
		name)), ComputeEnvironmentName: &name}, nil
}

// checkUpdatePolicy rejects a timeout outside the documented range.
func checkUpdatePolicy(p *types.UpdatePolicy) error {
	if p != nil && p.JobExecutionTimeoutMinutes != nil && (*p.JobExecutionTimeoutMinutes < 1 ||
		*p.JobExecutionTimeoutMinutes > 7200) {
		return wire.ClientException("jobExecutionTimeoutMinutes should be between 1 and 7200.")
	}
	return nil
}

// deleteComputeEnvironment removes an environment that is DISABLED and in no queue. Batch
// requires both.
func (es environments) deleteComputeEnvironment(c *call.Call,
	in *awsbatch.DeleteComputeEnvironmentInput) (*awsbatch.DeleteComputeEnvironmentOutput, error) {
	name := model.ResourceName(aws.ToString(in.ComputeEnvironment), model.KindEnvironment)
	return &awsbatch.DeleteComputeEnvironmentOutput{}, es.backend.Change(func(m *model.Model) ([]model.Event, error) {
		v := m.Environments[name]
		switch {
		case v == nil:
			return nil, missing("Compute environment", in.ComputeEnvironment)
		case v.Request == nil:
			return nil, configured("Compute environment", name)
		}
		return []model.Event{{Deleted: &model.Deletion{Resource: model.ResourceOf(model.KindEnvironment, name)}}},
			cmp.Or(checkDisabled(v), checkUnused(m, v))
	})
}

// checkDisabled rejects the deletion of an enabled environment.
func checkDisabled(v *model.Environment) error {
	if !v.Disabled() {
		return wire.ClientException("Cannot delete, compute environment %s must be DISABLED first.", v.Name)
	}
	return nil
}

// checkUnused rejects the deletion of an environment that a queue uses. The queue must be changed
// or deleted first.
func checkUnused(m *model.Model, v *model.Environment) error {
	if slices.ContainsFunc(m.Queues, func(q *model.Queue) bool { return slices.Contains(q.Environments, v.Name) }) {
		return wire.ClientException("Cannot delete, found existing JobQueue relationship")
	}
	return nil
}

// describeComputeEnvironments returns all environments or the requested ones, by name. Like
// Batch, it leaves out unknown names.
func (es environments) describeComputeEnvironments(c *call.Call,
	in *awsbatch.DescribeComputeEnvironmentsInput) (*awsbatch.DescribeComputeEnvironmentsOutput, error) {
	if err := checkNamed("ComputeEnvironments", in.ComputeEnvironments, in.MaxResults); err != nil {
		return nil, err
	}
	m, done := es.backend.View()
	defer done()
	all := call.SortedKeys(m.Environments)
	self := func(name string) string { return name }
	page, next, err := call.Page(named(all, in.ComputeEnvironments, model.KindEnvironment, self), in.MaxResults, 100,
		in.NextToken, self)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.DescribeComputeEnvironmentsOutput{NextToken: next,
		ComputeEnvironments: []types.ComputeEnvironmentDetail{}}
	for _, name := range page {
		out.ComputeEnvironments = append(out.ComputeEnvironments, es.environmentDetail(m, m.Environments[name]))
	}
	return out, nil
}

// environmentDetail returns an environment as DescribeComputeEnvironments shows it. An environment
// from the engine's options is the local machine. It looks like a MANAGED one of EC2 instances that
// are all running: clients such as Metaflow read computeResources to learn the platform. Its network
// does not exist. Every environment is VALID.
func (es environments) environmentDetail(m *model.Model, v *model.Environment) types.ComputeEnvironmentDetail {
	r := model.ResourceOf(model.KindEnvironment, v.Name)
	d := types.ComputeEnvironmentDetail{
		ComputeEnvironmentName:     &v.Name,
		ComputeEnvironmentArn:      aws.String(r.ARN()),
		ContainerOrchestrationType: types.OrchestrationTypeEcs,
		EcsClusterArn:              aws.String(model.ECSPrefix + "cluster/" + v.Cluster()),
		Type:                       types.CETypeManaged,
		State:                      types.CEStateEnabled,
		Status:                     types.CEStatusValid,
		StatusReason:               aws.String("ComputeEnvironment Healthy"),
		ComputeResources:           machineResources(int32(es.VCPUs)),
		Tags:                       model.Merged(nil, m.Tags[r]),
		Uuid:                       call.Optional(v.UUID),
	}
	if q := v.Request; q != nil {
		d.Type, d.State, d.UnmanagedvCpus = q.Type, q.State, q.UnmanagedvCpus
		d.ComputeResources, d.ServiceRole, d.Context = model.DescribedResources(q.ComputeResources), q.ServiceRole,
			q.Context
		d.UpdatePolicy = v.UpdatePolicy
		if q.EksConfiguration != nil {
			d.ContainerOrchestrationType, d.EksConfiguration, d.EcsClusterArn = types.OrchestrationTypeEks,
				q.EksConfiguration, nil
		}
	}
	return d
}

// machineResources describes a machine with a number of vCPUs. Every member that AWS requires is
// there, with values of the right form.
func machineResources(vcpus int32) *types.ComputeResource {
	return &types.ComputeResource{
		Type:             types.CRTypeEc2,
		MinvCpus:         aws.Int32(0),
		MaxvCpus:         &vcpus,
		DesiredvCpus:     &vcpus,
		InstanceTypes:    []string{"optimal"},
		Subnets:          []string{"subnet-00000000000000000"},
		SecurityGroupIds: []string{"sg-00000000000000000"},
	}
}
