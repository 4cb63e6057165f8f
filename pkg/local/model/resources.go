package model

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// tag replaces the tags of r.
func (m *Model) tag(r Resource, tags map[string]string) {
	if len(tags) == 0 {
		delete(m.Tags, r)
		return
	}
	m.Tags[r] = tags
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

// PolicyOf returns the policy of a queue; nil means first in, first out.
func (m *Model) PolicyOf(name string) *Policy {
	q, ok := m.Queue(name)
	if !ok || q.Policy == "" {
		return nil
	}
	return m.Policies[q.Policy]
}

// Decay returns the decay period of a queue's policy in milliseconds.
func (m *Model) Decay(queue string) int64 {
	seconds := int32(0)
	if p := m.PolicyOf(queue); p != nil && p.Share != nil {
		seconds = aws.ToInt32(p.Share.ShareDecaySeconds)
	}
	if seconds == 0 {
		seconds = leastDecay
	}
	return int64(seconds) * 1000
}

// addQueue adds a queue, and creates the machine's environments that it names.
func (m *Model) addQueue(q *Queue) {
	for _, name := range q.Environments {
		m.machineEnvironment(name)
	}
	m.Queues = append(m.Queues, q)
}
