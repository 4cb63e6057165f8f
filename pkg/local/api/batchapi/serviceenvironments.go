package batchapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The texts in this file that Batch has too are its answers in 2026-09 (cdk-preflight).

// serviceEnvironments has the operations on service environments.
type serviceEnvironments struct{ *service }

// createServiceEnvironment records a service environment, ENABLED by default: a limit on the instances
// of training jobs that run at the same time.
func (es serviceEnvironments) createServiceEnvironment(c *call.Call,
	in *awsbatch.CreateServiceEnvironmentInput) (*awsbatch.CreateServiceEnvironmentOutput, error) {
	name := aws.ToString(in.ServiceEnvironmentName)
	switch {
	case !definitionName().MatchString(name):
		return nil, wire.ClientException("Service environment name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case in.ServiceEnvironmentType != types.ServiceEnvironmentTypeSagemakerTraining:
		return nil, wire.ClientException("Service environment type %q is not valid. Valid types: %v",
			in.ServiceEnvironmentType, in.ServiceEnvironmentType.Values())
	}
	if err := cmp.Or(checkServiceState(in.State), checkCapacity(in.CapacityLimits), checkTags(in.Tags),
		es.check(c)); err != nil {
		return nil, err
	}
	in.State = cmp.Or(in.State, types.ServiceEnvironmentStateEnabled)
	err := es.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.ServiceEnvironments[name] != nil {
			return nil, already("Service environment", name)
		}
		return []model.Event{{ServiceEnvironmentCreated: &model.Shape[*awsbatch.CreateServiceEnvironmentInput]{V: in}}},
			nil
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateServiceEnvironmentOutput{
		ServiceEnvironmentArn:  aws.String(model.ARN(model.KindServiceEnvironment, name)),
		ServiceEnvironmentName: &name,
	}, nil
}

// checkServiceState rejects an unknown state; an empty one means the default or no change.
func checkServiceState(s types.ServiceEnvironmentState) error {
	if s != "" && !slices.Contains(s.Values(), s) {
		return badState(string(s))
	}
	return nil
}

// maxCapacityLimits is how many limits a service environment or a quota share may have (user guide,
// "Create quota management resources" and "Quota shares").
const maxCapacityLimits = 5

// checkCapacity rejects capacity limits that Batch rejects: none, several for all instances, or of
// instances and of types at the same time.
func checkCapacity(limits []types.CapacityLimit) error {
	var units []string
	for _, l := range limits {
		unit := aws.ToString(l.CapacityUnit)
		if err := checkLimit(unit, l.MaxCapacity, units); err != nil {
			return err
		}
		if units = append(units, unit); slices.Contains(units, batch.NumInstances) && len(units) > 1 {
			return wire.ClientException("Capacity units must specify either number of instances OR instance type")
		}
	}
	return checkLimitCount(len(limits))
}

// checkLimitCount rejects a list of capacity limits that is empty or too long.
func checkLimitCount(n int) error {
	switch {
	case n == 0:
		return wire.ClientException(empty.NoLimits)
	case n > maxCapacityLimits:
		return wire.ClientException("Number of capacity limits exceeds %d.", maxCapacityLimits)
	}
	return nil
}

// checkLimit rejects one capacity limit: an unknown or repeated unit, or no capacity.
func checkLimit(unit string, most *int32, before []string) error {
	switch {
	case unit != batch.NumInstances && !strings.HasPrefix(unit, "ml."):
		return wire.ClientException("%s is unknown capacity unit", unit)
	case aws.ToInt32(most) < 1:
		return wire.ClientException("Max capacity must be more than 0.")
	case slices.Contains(before, unit):
		return wire.ClientException("The capacity unit %s is given twice.", unit)
	}
	return nil
}

// updateServiceEnvironment changes the state or the limits. Jobs that run are not affected.
func (es serviceEnvironments) updateServiceEnvironment(c *call.Call,
	in *awsbatch.UpdateServiceEnvironmentInput) (*awsbatch.UpdateServiceEnvironmentOutput, error) {
	name := model.ResourceName(aws.ToString(in.ServiceEnvironment), model.KindServiceEnvironment)
	refused := checkServiceState(in.State)
	if in.CapacityLimits != nil {
		refused = cmp.Or(refused, checkCapacity(in.CapacityLimits))
	}
	if err := cmp.Or(refused, es.check(c)); err != nil {
		return nil, err
	}
	err := es.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.ServiceEnvironments[name] == nil {
			return nil, missing("Service environment", in.ServiceEnvironment)
		}
		if in.CapacityLimits != nil {
			if err := checkUnits(m, name, in.CapacityLimits); err != nil {
				return nil, err
			}
		}
		in.ServiceEnvironment = &name // the request may have an ARN; the model uses names
		return []model.Event{{ServiceEnvironmentUpdated: &model.Shape[*awsbatch.UpdateServiceEnvironmentInput]{V: in}}},
			nil
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.UpdateServiceEnvironmentOutput{
		ServiceEnvironmentArn:  aws.String(model.ARN(model.KindServiceEnvironment, name)),
		ServiceEnvironmentName: &name,
	}, nil
}

// checkUnits rejects limits whose unit does not fit a queue of the environment: instance types with
// quota shares, else NUM_INSTANCES (API reference of CapacityLimit). Batch's text is unknown.
func checkUnits(m *model.Model, environment string, limits []types.CapacityLimit) error {
	for _, q := range m.Queues {
		if q.Service == environment {
			p := m.PolicyOf(q.Name)
			if err := checkUnitsFor(p != nil && p.Quota != nil, environment, limits); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUnitsFor is checkUnits for one queue, which has quota shares or not.
func checkUnitsFor(quota bool, environment string, limits []types.CapacityLimit) error {
	if why := batch.UnitConflict(aws.ToString(limits[0].CapacityUnit), quota); why != "" {
		return wire.ClientException("Service environment %s %s.", environment, why)
	}
	return nil
}

// deleteServiceEnvironment removes an environment that is DISABLED and in no queue (API reference).
func (es serviceEnvironments) deleteServiceEnvironment(_ *call.Call,
	in *awsbatch.DeleteServiceEnvironmentInput) (*awsbatch.DeleteServiceEnvironmentOutput, error) {
	name := model.ResourceName(aws.ToString(in.ServiceEnvironment), model.KindServiceEnvironment)
	return &awsbatch.DeleteServiceEnvironmentOutput{}, es.backend.Change(func(m *model.Model) ([]model.Event, error) {
		v := m.ServiceEnvironments[name]
		switch {
		case v == nil:
			return nil, missing("Service environment", in.ServiceEnvironment)
		case !v.Disabled():
			return nil, wire.ClientException("Cannot delete, service environment %s must be DISABLED first.", name)
		case slices.ContainsFunc(m.Queues, func(q *model.Queue) bool { return q.Service == name }):
			return nil, wire.ClientException("Cannot delete, found existing JobQueue relationship")
		}
		return []model.Event{{Deleted: &model.Deletion{Resource: model.ResourceOf(model.KindServiceEnvironment,
			name)}}}, nil
	})
}

// describeServiceEnvironments returns all service environments or the requested ones, by name. Unknown
// names are left out.
func (es serviceEnvironments) describeServiceEnvironments(_ *call.Call,
	in *awsbatch.DescribeServiceEnvironmentsInput) (*awsbatch.DescribeServiceEnvironmentsOutput, error) {
	m, done := es.backend.View()
	defer done()
	self := func(name string) string { return name }
	all := named(call.SortedKeys(m.ServiceEnvironments), in.ServiceEnvironments, model.KindServiceEnvironment, self)
	page, next, err := call.Page(all, in.MaxResults, 100, in.NextToken, self)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.DescribeServiceEnvironmentsOutput{NextToken: next,
		ServiceEnvironments: []types.ServiceEnvironmentDetail{}}
	for _, name := range page {
		v, r := m.ServiceEnvironments[name].Service, model.ResourceOf(model.KindServiceEnvironment, name)
		out.ServiceEnvironments = append(out.ServiceEnvironments,
			types.ServiceEnvironmentDetail{ServiceEnvironmentArn: aws.String(r.ARN()),
				ServiceEnvironmentName: &name, ServiceEnvironmentType: v.ServiceEnvironmentType, State: v.State,
				CapacityLimits: v.CapacityLimits,
				Status:         types.ServiceEnvironmentStatusValid, Tags: model.Merged(nil, m.Tags[r])})
	}
	return out, nil
}
