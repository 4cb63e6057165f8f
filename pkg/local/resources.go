package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Kinds of resources, as they stand in ARNs.
const (
	kindJob         = "job"
	kindDefinition  = "job-definition"
	kindQueue       = "job-queue"
	kindEnvironment = "compute-environment"
	kindPolicy      = "scheduling-policy"
	kindConsumable  = "consumable-resource"
)

// resource names anything that has an ARN: kind/name, the ARN's last part.
type resource string

func resourceOf(kind, name string) resource { return resource(kind + "/" + name) }

func (r resource) arn() string { return arnPrefix + string(r) }

func (r resource) split() (kind, name string) {
	kind, name, _ = strings.Cut(string(r), "/")
	return kind, name
}

// parseARN returns the resource of an ARN of this engine.
func parseARN(text string) (resource, error) {
	name, ok := strings.CutPrefix(text, arnPrefix)
	if kind, rest, _ := strings.Cut(name, "/"); !ok || kind == "" || rest == "" {
		return "", wire.ClientException("%q is not an ARN of this engine: they begin with %s", text, arnPrefix)
	}
	return resource(name), nil
}

// exists reports whether r can be tagged or deleted. The children of arrays have
// no tags of their own.
func (m *model) exists(r resource) bool {
	switch kind, name := r.split(); kind {
	case kindJob:
		return m.jobs[name] != nil
	case kindDefinition:
		return m.definition(name) != nil
	case kindQueue:
		_, ok := m.queue(name)
		return ok
	case kindEnvironment:
		return m.environments[name] != nil
	case kindPolicy:
		return m.policies[name] != nil
	case kindConsumable:
		return m.consumables[name] != nil
	}
	return false
}

// tag gives r its tags; they replace those it had.
func (m *model) tag(r resource, tags map[string]string) {
	if len(tags) == 0 {
		delete(m.tags, r)
		return
	}
	m.tags[r] = tags
}

// applyResource applies the events of the control plane; ok is false for others.
func (m *model) applyResource(at int64, e event) (ok bool, err error) {
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
	case e.Tagged != nil:
		m.tag(e.Tagged.Resource, e.Tagged.Tags)
	case e.Deleted != nil:
		err = m.remove(e.Deleted.Resource)
	default:
		return false, nil
	}
	return true, err
}

// remove takes a resource away. One that the options configure by now stays.
func (m *model) remove(r resource) error {
	kind, name := r.split()
	switch kind {
	case kindQueue:
		m.known = slices.DeleteFunc(m.known, func(q *queue) bool { return q.Name == name && !q.configured })
	case kindEnvironment:
		if v := m.environments[name]; v != nil && v.request != nil {
			delete(m.environments, name)
			m.goneClusters = append(m.goneClusters, v.cluster())
		}
	case kindPolicy:
		delete(m.policies, name)
	case kindConsumable:
		delete(m.consumables, name)
	default:
		return fmt.Errorf("delete %s: unknown kind of resource", r)
	}
	if !m.exists(r) {
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

// resourceName returns what follows the kind in an ARN; a text that is no ARN of
// that kind is returned as it is.
func resourceName(text, kind string) string {
	if batch.IsARN(text) {
		if _, name, ok := strings.Cut(text, ":"+kind+"/"); ok {
			return name
		}
	}
	return text
}
