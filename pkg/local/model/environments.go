package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/stable"
)

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

// environmentOfAttempt returns the environment with a name for an attempt; nil for none. An
// attempt keeps its cluster if the options of a later engine no longer configure the environment.
func (m *Model) environmentOfAttempt(name string) *Environment {
	v := m.Environments[name]
	if v != nil || name == "" {
		return v
	}
	if v = m.former[name]; v == nil {
		v = &Environment{Name: name}
		m.former[name] = v
	}
	return v
}

// noteInstance remembers the container instance of an attempt. An environment on EKS has none, nor has a
// training job.
func (m *Model) noteInstance(t *Task, a *Attempt) {
	if t.Job.Service == nil && !a.Environment.IsFargate() && (a.Environment == nil || a.Environment.Platform() != PlatformEKS) {
		m.instances[Instance{a.Environment, a.Executor}] = true
	}
}

// Instances returns the container instances of a cluster on which attempts have run, in order of
// their executors.
func (m *Model) Instances(cluster string) []Instance {
	var all []Instance
	for i := range maps.Keys(m.instances) {
		if i.Environment.Cluster() == cluster {
			all = append(all, i)
		}
	}
	stable.Sort(all, func(a, b Instance) int { return strings.Compare(a.Executor, b.Executor) })
	return all
}

// ClusterEnvironment returns the environment of an ECS cluster; nil if the environment no longer
// exists. known is false for a cluster that never existed.
func (m *Model) ClusterEnvironment(cluster string) (v *Environment, known bool) {
	for _, v := range m.Environments {
		if v.Cluster() == cluster && v.Platform() != PlatformEKS {
			return v, true
		}
	}
	if slices.Contains(m.GoneClusters, cluster) {
		return nil, true
	}
	for i := range m.instances {
		if i.Environment.Cluster() == cluster {
			return nil, true
		}
	}
	return nil, false
}
