package model

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ControlPlane has what requests create besides jobs. Each table has the resources of one kind.
type ControlPlane struct {
	QueueTable
	EnvironmentTable
	PolicyTable
	QuotaShareTable
	ConsumableTable
	DefinitionTable
	// Tags has the tags of every resource that has any, and those of jobs.
	Tags map[Resource]map[string]string
}

// newControlPlane returns empty tables.
func newControlPlane() ControlPlane {
	return ControlPlane{
		EnvironmentTable: newEnvironmentTable(),
		PolicyTable:      PolicyTable{map[string]*Policy{}},
		QuotaShareTable:  QuotaShareTable{map[Resource]*QuotaShare{}},
		ConsumableTable:  ConsumableTable{map[string]*Consumable{}},
		DefinitionTable:  DefinitionTable{map[string][]*Definition{}},
		Tags:             map[Resource]map[string]string{},
	}
}

// create applies the events that create a resource; ok is false for others.
func (s *ControlPlane) create(at int64, e *Event) (ok bool, err error) {
	var created Resource // "" if the options now configure it
	var tags map[string]string
	switch {
	case e.QueueCreated != nil:
		tags = e.QueueCreated.V.Tags
		var q *Queue
		if q, err = s.newQueue(e.QueueCreated.V); q != nil {
			s.addQueue(q)
			created = ResourceOf(KindQueue, q.Name)
		}
	case e.EnvironmentCreated != nil:
		tags = e.EnvironmentCreated.Request.V.Tags
		created, err = s.createEnvironment(e.EnvironmentCreated)
	case e.PolicyCreated != nil:
		tags = e.PolicyCreated.V.Tags
		created, err = s.createPolicy(e.PolicyCreated.V)
	case e.ConsumableCreated != nil:
		tags = e.ConsumableCreated.V.Tags
		created, err = s.createConsumable(at, e.ConsumableCreated.V)
	case e.ServiceEnvironmentCreated != nil:
		tags = e.ServiceEnvironmentCreated.V.Tags
		created, err = s.createServiceEnvironment(e.ServiceEnvironmentCreated.V)
	case e.QuotaShareCreated != nil:
		tags = e.QuotaShareCreated.V.Tags
		if _, known := s.Queue(aws.ToString(e.QuotaShareCreated.V.JobQueue)); !known {
			return true, fmt.Errorf("create quota share %q: it has no queue",
				aws.ToString(e.QuotaShareCreated.V.QuotaShareName))
		}
		created, err = s.createQuotaShare(e.QuotaShareCreated.V)
	default:
		return false, nil
	}
	if created != "" {
		s.tag(created, tags)
	}
	return true, err
}

// update applies the events that change or delete a resource; ok is false for others.
func (s *ControlPlane) update(at int64, e *Event) (ok bool, err error) {
	switch {
	case e.QueueUpdated != nil:
		if err = s.updateQueue(e.QueueUpdated.V); err == nil && e.QueueUpdated.V.ComputeEnvironmentOrder != nil {
			q, _ := s.Queue(aws.ToString(e.QueueUpdated.V.JobQueue))
			s.addMachineEnvironments(q)
		}
	case e.EnvironmentUpdated != nil:
		err = s.updateEnvironment(e.EnvironmentUpdated.V)
	case e.PolicyUpdated != nil:
		err = s.updatePolicy(e.PolicyUpdated.V)
	case e.ConsumableUpdated != nil:
		err = s.updateConsumable(at, e.ConsumableUpdated)
	case e.ServiceEnvironmentUpdated != nil:
		err = s.updateServiceEnvironment(e.ServiceEnvironmentUpdated.V)
	case e.QuotaShareUpdated != nil:
		err = s.updateQuotaShare(e.QuotaShareUpdated.V)
	case e.Deregistered != nil:
		err = s.deregister(e.Deregistered.Definition)
	case e.Tagged != nil:
		s.tag(e.Tagged.Resource, e.Tagged.Tags)
	case e.Deleted != nil:
		err = s.remove(e.Deleted.Resource)
	default:
		return false, nil
	}
	return true, err
}

// affects reports whether jobs that wait in a queue may have another reason to wait after an event.
func (s *ControlPlane) affects(e *Event, q *Queue) bool {
	switch {
	case e.QueueUpdated != nil:
		return q.Name == aws.ToString(e.QueueUpdated.V.JobQueue) && !q.Configured
	case e.EnvironmentUpdated != nil:
		v := s.Environments[aws.ToString(e.EnvironmentUpdated.V.ComputeEnvironment)]
		return v.Request != nil && slices.Contains(q.Environments, v.Name)
	case e.ServiceEnvironmentUpdated != nil:
		return q.Service == aws.ToString(e.ServiceEnvironmentUpdated.V.ServiceEnvironment)
	case e.QuotaShareCreated != nil:
		return q.Name == aws.ToString(e.QuotaShareCreated.V.JobQueue)
	case e.QuotaShareUpdated != nil:
		r, _ := ParseARN(aws.ToString(e.QuotaShareUpdated.V.QuotaShareArn))
		return q.Name == s.QuotaShares[r].Queue
	}
	return false
}

// addQueue adds a queue, and creates the machine's environments that it names.
func (s *ControlPlane) addQueue(q *Queue) {
	s.addMachineEnvironments(q)
	s.Queues = append(s.Queues, q)
}

// addMachineEnvironments creates the environments that a queue names and that do not exist.
func (s *ControlPlane) addMachineEnvironments(q *Queue) {
	for _, name := range q.Environments {
		s.addMachineEnvironment(name)
	}
}

// tag replaces the tags of r.
func (s *ControlPlane) tag(r Resource, tags map[string]string) {
	if len(tags) == 0 {
		delete(s.Tags, r)
		return
	}
	s.Tags[r] = tags
}

// exists reports whether a resource exists that is not a job.
func (s *ControlPlane) exists(r Resource) bool {
	switch kind, name := r.Split(); kind {
	case KindServiceEnvironment:
		return s.ServiceEnvironments[name] != nil
	case KindQuotaShare:
		return s.QuotaShares[r] != nil
	case KindDefinition:
		return s.Definition(name) != nil
	case KindQueue:
		_, ok := s.Queue(name)
		return ok
	case KindEnvironment:
		return s.Environments[name] != nil
	case KindPolicy:
		return s.Policies[name] != nil
	case KindConsumable:
		return s.Consumables[name] != nil
	}
	return false
}

// remove removes a resource, unless the options now configure it.
func (s *ControlPlane) remove(r Resource) error {
	kind, name := r.Split()
	switch kind {
	case KindQueue:
		s.deleteQueue(name)
		for share, v := range s.QuotaShares {
			if v.Queue == name {
				delete(s.QuotaShares, share)
				s.tag(share, nil)
			}
		}
	case KindEnvironment:
		s.deleteEnvironment(name)
	case KindPolicy:
		delete(s.Policies, name)
	case KindConsumable:
		delete(s.Consumables, name)
	case KindServiceEnvironment:
		delete(s.ServiceEnvironments, name)
	case KindQuotaShare:
		delete(s.QuotaShares, r)
	default:
		return fmt.Errorf("delete %s: unknown kind of resource", r)
	}
	if !s.exists(r) {
		s.tag(r, nil)
	}
	return nil
}

// PolicyOf returns the policy of a queue; nil means first in, first out.
func (s *ControlPlane) PolicyOf(name string) *Policy {
	q, ok := s.Queue(name)
	if !ok || q.Policy == "" {
		return nil
	}
	return s.Policies[q.Policy]
}

// Decay returns the decay period of a queue's policy in milliseconds.
func (s *ControlPlane) Decay(queue string) int64 { return s.PolicyOf(queue).decay() }
