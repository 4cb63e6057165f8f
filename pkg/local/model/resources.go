package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Kinds of resources, as they appear in ARNs.
const (
	KindJob         = "job"
	KindDefinition  = "job-definition"
	KindQueue       = "job-queue"
	KindEnvironment = "compute-environment"
	KindPolicy      = "scheduling-policy"
	KindConsumable  = "consumable-resource"

	KindServiceJob         = "service-job"
	KindServiceEnvironment = "service-environment"
	// KindQuotaShare is within the ARN of a job queue: job-queue/QUEUE/quota-share/NAME.
	KindQuotaShare = "quota-share"
)

// Resource identifies anything that has an ARN: kind/name, the last part of the ARN.
type Resource string

// ResourceOf returns the resource with a kind and a name.
func ResourceOf(kind, name string) Resource { return Resource(kind + "/" + name) }

// QuotaShareOf returns the resource of a quota share of a queue.
func QuotaShareOf(queue, name string) Resource {
	return ResourceOf(KindQueue, queue+"/"+KindQuotaShare+"/"+name)
}

// ARN returns the resource's ARN on this engine.
func (r Resource) ARN() string { return arnPrefix + string(r) }

// Split returns the kind and the name of the resource. The name of a quota share begins with that of
// its queue.
func (r Resource) Split() (kind, name string) {
	kind, name, _ = strings.Cut(string(r), "/")
	if kind == KindQueue && strings.Contains(name, "/"+KindQuotaShare+"/") {
		kind = KindQuotaShare
	}
	return kind, name
}

// ParseARN returns the resource of an ARN of this engine.
func ParseARN(text string) (Resource, error) {
	name, ok := strings.CutPrefix(text, arnPrefix)
	if kind, rest, _ := strings.Cut(name, "/"); !ok || kind == "" || rest == "" {
		return "", wire.ClientException("%q is not an ARN of this engine: they begin with %s", text, arnPrefix)
	}
	return Resource(name), nil
}

// Exists reports whether r can be tagged or deleted. The children of arrays have
// no tags of their own.
func (m *Model) Exists(r Resource) bool {
	switch kind, name := r.Split(); kind {
	case KindJob:
		j := m.Jobs[name]
		return j != nil && j.Service == nil
	case KindServiceJob:
		j := m.Jobs[name]
		return j != nil && j.Service != nil
	case KindServiceEnvironment:
		return m.ServiceEnvironments[name] != nil
	case KindQuotaShare:
		return m.QuotaShares[r] != nil
	case KindDefinition:
		return m.Definition(name) != nil
	case KindQueue:
		_, ok := m.Queue(name)
		return ok
	case KindEnvironment:
		return m.Environments[name] != nil
	case KindPolicy:
		return m.Policies[name] != nil
	case KindConsumable:
		return m.Consumables[name] != nil
	}
	return false
}

// tag replaces the tags of r.
func (m *Model) tag(r Resource, tags map[string]string) {
	if len(tags) == 0 {
		delete(m.Tags, r)
		return
	}
	m.Tags[r] = tags
}

// applyResource applies the events of the control plane; ok is false for others.
func (m *Model) applyResource(at int64, e Event) (ok bool, err error) {
	switch {
	case e.Queued != nil:
		m.queued(e.Queued)
	case e.QueueCreated != nil:
		err = m.createQueue(e.QueueCreated.V)
	case e.QueueUpdated != nil:
		err = m.updateQueue(e.QueueUpdated.V)
	case e.EnvironmentCreated != nil:
		err = m.createEnvironment(e.EnvironmentCreated)
	case e.EnvironmentUpdated != nil:
		err = m.updateEnvironment(e.EnvironmentUpdated.V)
	case e.PolicyCreated != nil:
		err = m.createPolicy(e.PolicyCreated.V)
	case e.PolicyUpdated != nil:
		err = m.updatePolicy(e.PolicyUpdated.V)
	case e.ConsumableCreated != nil:
		err = m.createConsumable(at, e.ConsumableCreated.V)
	case e.ConsumableUpdated != nil:
		err = m.updateConsumable(at, e.ConsumableUpdated)
	case e.ServiceEnvironmentCreated != nil:
		err = m.createServiceEnvironment(e.ServiceEnvironmentCreated.V)
	case e.ServiceEnvironmentUpdated != nil:
		err = m.updateServiceEnvironment(e.ServiceEnvironmentUpdated.V)
	case e.QuotaShareCreated != nil:
		err = m.createQuotaShare(e.QuotaShareCreated.V)
	case e.QuotaShareUpdated != nil:
		err = m.updateQuotaShare(e.QuotaShareUpdated.V)
	case e.Tagged != nil:
		m.tag(e.Tagged.Resource, e.Tagged.Tags)
	case e.Deleted != nil:
		err = m.remove(e.Deleted.Resource)
	case e.LogGroupCreated != nil:
		err = m.createLogGroup(at, e.LogGroupCreated)
	case e.LogStreamCreated != nil:
		err = m.createLogStream(at, e.LogStreamCreated)
	case e.RetentionSet != nil:
		m.logGroup(at, e.RetentionSet.Group).RetentionDays = e.RetentionSet.Days
	case e.LogGroupDeleted != nil:
		err = m.deleteLogGroup(e.LogGroupDeleted.Group)
	case e.LogGroupTagged != nil:
		m.logGroup(at, e.LogGroupTagged.Group).Tags = e.LogGroupTagged.Tags
	case e.LogStreamDeleted != nil:
		err = m.deleteLogStream(e.LogStreamDeleted)
	default:
		return false, nil
	}
	return true, err
}

// remove removes a resource, unless the options now configure it.
func (m *Model) remove(r Resource) error {
	kind, name := r.Split()
	switch kind {
	case KindQueue:
		m.Queues = slices.DeleteFunc(m.Queues, func(q *Queue) bool { return q.Name == name && !q.Configured })
		for share, v := range m.QuotaShares {
			if v.Queue == name {
				delete(m.QuotaShares, share)
				m.tag(share, nil)
			}
		}
	case KindEnvironment:
		if v := m.Environments[name]; v != nil && v.Request != nil {
			delete(m.Environments, name)
			if v.Platform() != PlatformEKS { // its cluster is the caller's
				m.GoneClusters = append(m.GoneClusters, v.Cluster())
			}
		}
	case KindPolicy:
		delete(m.Policies, name)
	case KindConsumable:
		delete(m.Consumables, name)
	case KindServiceEnvironment:
		delete(m.ServiceEnvironments, name)
	case KindQuotaShare:
		delete(m.QuotaShares, r)
	default:
		return fmt.Errorf("delete %s: unknown kind of resource", r)
	}
	if !m.Exists(r) {
		m.tag(r, nil)
	}
	return nil
}

// overlay returns a copy of base with the members that change has; both have the
// wire form of one shape, or of two whose members have the same names.
func overlay[T any](base *T, change any) (*T, error) {
	out := new(T)
	for _, v := range []any{base, change} {
		text, err := wire.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := wire.Unmarshal(text, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ResourceName returns the part of an ARN after the kind, and any other text unchanged.
func ResourceName(text, kind string) string {
	if batch.IsARN(text) {
		if _, name, ok := strings.Cut(text, ":"+kind+"/"); ok {
			return name
		}
	}
	return text
}
