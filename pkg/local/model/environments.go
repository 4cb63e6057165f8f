package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// EnvironmentTable has the compute environments with their ECS clusters, and the service environments, both by name.
type EnvironmentTable struct {
	Environments map[string]*Environment
	// GoneClusters are the clusters of deleted environments.
	GoneClusters        []string
	ServiceEnvironments map[string]*Environment
	// instances are the container instances on which attempts have run.
	instances map[Instance]bool
	// former are environments of attempts that the options of this engine do not configure.
	former map[string]*Environment
	// whole is the whole machine as an environment, for jobs of deleted queues.
	whole *Environment
}

// newEnvironmentTable returns a table without environments.
func newEnvironmentTable() EnvironmentTable {
	return EnvironmentTable{
		Environments:        map[string]*Environment{},
		ServiceEnvironments: map[string]*Environment{},
		instances:           map[Instance]bool{},
		former:              map[string]*Environment{},
		whole:               &Environment{Name: ComputeEnvironment},
	}
}

// addMachineEnvironment creates an environment of the options, unless it exists.
func (s *EnvironmentTable) addMachineEnvironment(name string) {
	if s.Environments[name] == nil {
		s.Environments[name] = &Environment{Name: name}
	}
}

// createEnvironment adds an environment. It returns "" if the options now configure one of this name.
func (s *EnvironmentTable) createEnvironment(c *EnvironmentCreation) (Resource, error) {
	name := aws.ToString(c.Request.V.ComputeEnvironmentName)
	if v := s.Environments[name]; v != nil && v.Request == nil {
		return "", nil // the options now configure one of this name
	}
	if name == "" || s.Environments[name] != nil {
		return "", fmt.Errorf("create compute environment %q: it exists, or has no name", name)
	}
	s.Environments[name] = &Environment{Name: name, UUID: c.UUID, Request: c.Request.V}
	return ResourceOf(KindEnvironment, name), nil
}

// updateEnvironment applies an update to an environment that a request created.
func (s *EnvironmentTable) updateEnvironment(in *awsbatch.UpdateComputeEnvironmentInput) error {
	v := s.Environments[aws.ToString(in.ComputeEnvironment)]
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
	v.Request, v.UpdatePolicy = now, cmp.Or(in.UpdatePolicy, v.UpdatePolicy)
	return nil
}

// deleteEnvironment removes an environment, unless the options now configure it.
func (s *EnvironmentTable) deleteEnvironment(name string) {
	if v := s.Environments[name]; v != nil && v.Request != nil {
		delete(s.Environments, name)
		if v.Platform() != PlatformEKS { // its cluster is the caller's
			s.GoneClusters = append(s.GoneClusters, v.Cluster())
		}
	}
}

// createServiceEnvironment adds a service environment.
func (s *EnvironmentTable) createServiceEnvironment(in *awsbatch.CreateServiceEnvironmentInput) (Resource, error) {
	name := aws.ToString(in.ServiceEnvironmentName)
	if name == "" || s.ServiceEnvironments[name] != nil {
		return "", fmt.Errorf("create service environment %q: it exists, or has no name", name)
	}
	s.ServiceEnvironments[name] = &Environment{Name: name, Service: in, instances: map[string]int64{}}
	return ResourceOf(KindServiceEnvironment, name), nil
}

// updateServiceEnvironment applies the members of an update.
func (s *EnvironmentTable) updateServiceEnvironment(in *awsbatch.UpdateServiceEnvironmentInput) error {
	v := s.ServiceEnvironments[aws.ToString(in.ServiceEnvironment)]
	if v == nil {
		return fmt.Errorf("update service environment %q: no such environment", aws.ToString(in.ServiceEnvironment))
	}
	now := *v.Service
	now.State = cmp.Or(in.State, now.State)
	if in.CapacityLimits != nil {
		now.CapacityLimits = in.CapacityLimits
	}
	v.Service = &now
	return nil
}

// environmentOfAttempt returns the environment with a name for an attempt; nil for none. An
// attempt keeps its cluster if the options of a later engine no longer configure the environment.
func (s *EnvironmentTable) environmentOfAttempt(name string) *Environment {
	v := s.Environments[name]
	if v != nil || name == "" {
		return v
	}
	if v = s.former[name]; v == nil {
		v = &Environment{Name: name}
		s.former[name] = v
	}
	return v
}

// noteInstance remembers the container instance of an attempt. An environment on EKS has none, nor has a
// training job.
func (s *EnvironmentTable) noteInstance(t *Task, a *Attempt) {
	if t.Job.Service == nil && !a.Environment.IsFargate() && (a.Environment == nil ||
		a.Environment.Platform() != PlatformEKS) {
		s.instances[Instance{a.Environment, a.Executor}] = true
	}
}

// Instances returns the container instances of a cluster on which attempts have run, in order of
// their executors.
func (s *EnvironmentTable) Instances(cluster string) []Instance {
	var all []Instance
	for i := range maps.Keys(s.instances) {
		if i.Environment.Cluster() == cluster {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b Instance) int { return strings.Compare(a.Executor, b.Executor) })
	return all
}

// ClusterEnvironment returns the environment of an ECS cluster; nil if the environment no longer
// exists. known is false for a cluster that never existed.
func (s *EnvironmentTable) ClusterEnvironment(cluster string) (v *Environment, known bool) {
	for _, v := range s.Environments {
		if v.Cluster() == cluster && v.Platform() != PlatformEKS {
			return v, true
		}
	}
	if slices.Contains(s.GoneClusters, cluster) {
		return nil, true
	}
	for i := range s.instances {
		if i.Environment.Cluster() == cluster {
			return nil, true
		}
	}
	return nil, false
}
