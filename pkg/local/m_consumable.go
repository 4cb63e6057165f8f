package local

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

const (
	replenishable    = "REPLENISHABLE"
	nonReplenishable = "NON_REPLENISHABLE"
	// tokenLife is how long a clientToken counts, in milliseconds: 8 hours.
	tokenLife = 8 * 60 * 60 * 1000
)

// consumable is a consumable resource. An attempt holds what it asks for from
// STARTING to its end; what is not replenishable is then gone.
type consumable struct {
	name      string
	kind      string // replenishable or nonReplenishable
	total     int64
	inUse     int64
	createdAt int64
	jobs      []*job           // that ask for it, by submission
	tokens    map[string]int64 // clientTokens of updates, and when they came
}

func (r *consumable) available() int64 { return max(r.total-r.inUse, 0) }

// requirement is how much of one consumable resource an attempt needs.
type requirement struct {
	name     string
	quantity int64
}

func (m *model) createConsumable(at int64, in *awsbatch.CreateConsumableResourceInput) error {
	name := aws.ToString(in.ConsumableResourceName)
	if name == "" || m.consumables[name] != nil {
		return fmt.Errorf("create consumable resource %q: it exists, or has no name", name)
	}
	m.consumables[name] = &consumable{name: name, kind: cmp.Or(aws.ToString(in.ResourceType), replenishable),
		total: aws.ToInt64(in.TotalQuantity), createdAt: at, tokens: map[string]int64{}}
	m.tag(resourceOf(kindConsumable, name), in.Tags)
	return nil
}

func (m *model) updateConsumable(at int64, q *quantity) error {
	r := m.consumables[q.Consumable]
	if r == nil {
		return fmt.Errorf("update consumable resource %q: no such resource", q.Consumable)
	}
	r.total = q.Total
	for token, came := range r.tokens {
		if at-came > tokenLife {
			delete(r.tokens, token)
		}
	}
	if q.Token != "" {
		r.tokens[q.Token] = at
	}
	return nil
}

// hold takes (sign 1) or gives back (sign -1) what an attempt asks for.
func (m *model) hold(needs []requirement, sign int64) {
	for _, n := range needs {
		r := m.consumables[n.name]
		if r == nil {
			continue // deleted meanwhile
		}
		r.inUse = max(r.inUse+sign*n.quantity, 0)
		if sign < 0 && r.kind == nonReplenishable {
			r.total = max(r.total-n.quantity, 0)
		}
	}
}

// usesUp reports whether j has taken something that does not come back.
func (m *model) usesUp(j *job) bool {
	return slices.ContainsFunc(j.consumes, func(n requirement) bool {
		r := m.consumables[n.name]
		return r != nil && r.kind == nonReplenishable
	})
}

// requirements are what a job asks for: the request's list before the definition's.
func requirements(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []requirement {
	p := d.ConsumableResourceProperties
	if in.ConsumableResourcePropertiesOverride != nil {
		p = in.ConsumableResourcePropertiesOverride
	}
	if p == nil {
		return nil
	}
	var all []requirement
	for _, r := range p.ConsumableResourceList {
		all = append(all, requirement{resourceName(aws.ToString(r.ConsumableResource), kindConsumable), aws.ToInt64(r.Quantity)})
	}
	slices.SortFunc(all, func(a, b requirement) int { return strings.Compare(a.name, b.name) })
	return all
}

// exceeds explains why a job cannot start before a consumable resource is changed; it
// is empty where its turn may come. The texts of this and of lacks are this engine's
// own: those of Batch are not documented.
func (m *model) exceeds(needs []requirement) string {
	for _, n := range needs {
		r := m.consumables[n.name]
		switch {
		case r == nil:
			return fmt.Sprintf("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the consumable resource %s does not exist", n.name)
		case r.total < n.quantity:
			return fmt.Sprintf("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for %d of the consumable resource %s, more than its total quantity",
				n.quantity, n.name)
		}
	}
	return ""
}

// lacks explains why a job waits for a consumable resource, given what is free of
// each; it is empty when all is there.
func lacks(needs []requirement, free func(name string) int64) string {
	for _, n := range needs {
		if free(n.name) < n.quantity {
			return fmt.Sprintf("the job waits for %d of the consumable resource %s", n.quantity, n.name)
		}
	}
	return ""
}
