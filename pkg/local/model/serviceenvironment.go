package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// NumInstances is the unit of a limit on the instances of all types.
const NumInstances = "NUM_INSTANCES"

// createServiceEnvironment adds a service environment.
func (m *Model) createServiceEnvironment(in *awsbatch.CreateServiceEnvironmentInput) error {
	name := aws.ToString(in.ServiceEnvironmentName)
	if name == "" || m.ServiceEnvironments[name] != nil {
		return fmt.Errorf("create service environment %q: it exists, or has no name", name)
	}
	m.ServiceEnvironments[name] = &Environment{Name: name, Service: in, instances: map[string]int64{}}
	m.tag(ResourceOf(KindServiceEnvironment, name), in.Tags)
	return nil
}

// updateServiceEnvironment applies the members of an update. Jobs that wait are examined again.
func (m *Model) updateServiceEnvironment(in *awsbatch.UpdateServiceEnvironmentInput) error {
	v := m.ServiceEnvironments[aws.ToString(in.ServiceEnvironment)]
	if v == nil {
		return fmt.Errorf("update service environment %q: no such environment", aws.ToString(in.ServiceEnvironment))
	}
	now := *v.Service
	now.State = cmp.Or(in.State, now.State)
	if in.CapacityLimits != nil {
		now.CapacityLimits = in.CapacityLimits
	}
	v.Service = &now
	m.reconsider(func(q *Queue) bool { return q.Service == v.Name })
	return nil
}

// unit returns the unit in which the environment limits j: the instance type, or NumInstances; "" in a
// compute environment.
func (v *Environment) unit(j *Job) string {
	if v.Service == nil || j == nil || j.Service == nil {
		return ""
	}
	for _, l := range v.Service.CapacityLimits {
		if aws.ToString(l.CapacityUnit) == NumInstances {
			return NumInstances
		}
	}
	return j.Service.Training.Unit()
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
	case unit != NumInstances:
		return v.instances[unit]
	}
	for _, n := range v.instances {
		sum += n
	}
	return sum
}

// shareUnit is an instance type with the share that uses it.
type shareUnit struct{ share, unit string }

// occupyInstances reserves (sign 1) or releases (sign -1) the instances of a service job.
func (l *QueueJobs) occupyInstances(j *Job, environment *Environment, sign int64) {
	if l.instances == nil {
		l.instances = map[shareUnit]int64{}
	}
	for _, g := range j.Service.Training.Instances() {
		n := sign * g.InstanceCount * 1000
		key := shareUnit{j.class.share, g.InstanceType}
		if l.instances[key] += n; l.instances[key] == 0 {
			delete(l.instances, key)
		}
		if environment != nil {
			environment.instances[g.InstanceType] += n
		}
	}
}

// unserved explains why a service job fits no environment of its queue: Batch's message (user guide,
// "Jobs stuck in RUNNABLE due to misconfiguration"), with figures.
func unserved(j *Job, environments []*Environment) string {
	if at := slices.IndexFunc(environments, func(v *Environment) bool { return v.limit(j) >= j.load() }); at >= 0 {
		return "ACTION_REQUIRED - the service environment " + environments[at].Name + " is DISABLED"
	}
	limit := int64(0)
	for _, v := range environments {
		limit = max(limit, v.limit(j))
	}
	return "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job queue cannot meet the capacity " +
		fmt.Sprintf("requirement of the job: the job asks for %s of %s, the limit is %d", count(j.load()/1000, "instance"), j.Service.Training.Unit(), limit/1000)
}
