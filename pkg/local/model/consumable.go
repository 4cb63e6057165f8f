package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// Types of consumable resources.
const (
	Replenishable    = "REPLENISHABLE"
	NonReplenishable = "NON_REPLENISHABLE"
	// tokenLife is how long a clientToken is valid, in milliseconds: 8 hours.
	tokenLife = 8 * 60 * 60 * 1000
)

// Consumable is a consumable resource. An attempt uses what it requests from STARTING until it
// ends. Then a replenishable resource is available again; a non-replenishable one is used up.
type Consumable struct {
	Name  string
	Kind  string // replenishable or nonReplenishable
	Total int64
	// InUse is the quantity of the started attempts.
	InUse     int64
	CreatedAt int64 // epoch milliseconds
	// Jobs are the jobs that request it, in the order of submission.
	Jobs []*Job
	// Tokens has the client tokens of updates, with their times in epoch milliseconds.
	Tokens map[string]int64
}

// Repeats reports whether an update with this client token was made, and the token is still valid.
func (r *Consumable) Repeats(token string, now int64) bool {
	at, made := r.Tokens[token]
	return made && now-at <= tokenLife
}

// Available returns the unused part of the total. It is 0 if the total was reduced below what is
// in use.
func (r *Consumable) Available() int64 { return max(r.Total-r.InUse, 0) }

// ConsumableTable has the consumable resources, by name.
type ConsumableTable struct {
	Consumables map[string]*Consumable
}

func (s *ConsumableTable) createConsumable(at int64, in *awsbatch.CreateConsumableResourceInput) (Resource, error) {
	name := aws.ToString(in.ConsumableResourceName)
	if name == "" || s.Consumables[name] != nil {
		return "", fmt.Errorf("create consumable resource %q: it exists, or has no name", name)
	}
	s.Consumables[name] = &Consumable{Name: name, Kind: cmp.Or(aws.ToString(in.ResourceType), Replenishable),
		Total: aws.ToInt64(in.TotalQuantity), CreatedAt: at, Tokens: map[string]int64{}}
	return ResourceOf(KindConsumable, name), nil
}

func (s *ConsumableTable) updateConsumable(at int64, q *ConsumableTotal) error {
	r := s.Consumables[q.Consumable]
	if r == nil {
		return fmt.Errorf("update consumable resource %q: no such resource", q.Consumable)
	}
	r.Total = q.Total
	for token, came := range r.Tokens {
		if at-came > tokenLife {
			delete(r.Tokens, token)
		}
	}
	if q.Token != "" {
		r.Tokens[q.Token] = at
	}
	return nil
}

// hold reserves (sign 1) or releases (sign -1) what an attempt requests.
func (s *ConsumableTable) hold(needs []Requirement, sign int64) {
	for _, n := range needs {
		r := s.Consumables[n.Name]
		if r == nil {
			continue // deleted meanwhile
		}
		r.InUse = max(r.InUse+sign*n.Quantity, 0)
		if sign < 0 && r.Kind == NonReplenishable {
			r.Total = max(r.Total-n.Quantity, 0)
		}
	}
}

// index adds a job to the resources that it requests.
func (s *ConsumableTable) index(j *Job) {
	for _, n := range j.Consumes {
		if r := s.Consumables[n.Name]; r != nil {
			r.Jobs = append(r.Jobs, j)
		}
	}
}

// usesUp reports whether j has taken a non-replenishable resource.
func (s *ConsumableTable) usesUp(j *Job) bool {
	return slices.ContainsFunc(j.Consumes, func(n Requirement) bool {
		r := s.Consumables[n.Name]
		return r != nil && r.Kind == NonReplenishable
	})
}

// exceeds explains why a job cannot start until a consumable resource is changed; "" if it may
// start later. The texts of exceeds and lacks are this engine's own: those of Batch are not
// documented.
func (s *ConsumableTable) exceeds(needs []Requirement) string {
	for _, n := range needs {
		r := s.Consumables[n.Name]
		switch {
		case r == nil:
			return fmt.Sprintf("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the consumable resource %s does not exist",
				n.Name)
		case r.Total < n.Quantity:
			return fmt.Sprintf("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for %d of the consumable resource %s, more than its total quantity",
				n.Quantity, n.Name)
		}
	}
	return ""
}

// lacks explains why a job waits for a consumable resource, given what is free of each; "" if
// everything is free.
func lacks(needs []Requirement, free func(name string) int64) string {
	for _, n := range needs {
		if free(n.Name) < n.Quantity {
			return fmt.Sprintf("the job waits for %d of the consumable resource %s", n.Quantity, n.Name)
		}
	}
	return ""
}
