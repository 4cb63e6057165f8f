package model

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Overbooked returns an error if more is in use than exists, which is a bug of the model; else nil.
func (m *Model) Overbooked(capacity Amount) error {
	if !capacity.Covers(m.used) {
		return fmt.Errorf("%v of the machine is in use", m.used)
	}
	for _, r := range m.Consumables {
		if r.InUse > r.Total {
			return fmt.Errorf("%d of %d %s in use", r.InUse, r.Total, r.Name)
		}
	}
	sum := int64(0)
	for _, v := range m.Environments {
		sum += v.used
	}
	if sum != m.used.MilliCPU {
		return fmt.Errorf("the environments use %d, the machine %d", sum, m.used.MilliCPU)
	}
	return nil
}

// Unreleased returns an error if something is in use although every job has ended, which is a bug
// of the model; else nil.
func (m *Model) Unreleased() error {
	if m.used != (Amount{}) {
		return fmt.Errorf("every job has ended, and %v of the machine in use", m.used)
	}
	for _, r := range m.Consumables {
		if r.InUse != 0 {
			return fmt.Errorf("every job has ended, and %d of %s in use", r.InUse, r.Name)
		}
	}
	for _, v := range m.Environments {
		if v.used != 0 {
			return fmt.Errorf("every job has ended, and %d of environment %s in use", v.used, v.Name)
		}
	}
	for _, v := range m.ServiceEnvironments {
		if n := v.inUse(batch.NumInstances); n != 0 {
			return fmt.Errorf("every job has ended, and %d of service environment %s in use", n, v.Name)
		}
	}
	for name, l := range m.Lines {
		for id, s := range l.shares {
			if s.open != 0 || s.inUse != 0 {
				return fmt.Errorf("every job has ended, and share %s has %d jobs and uses %d", id, s.open, s.inUse)
			}
		}
		if l.inUse != 0 || len(l.instances) > 0 || len(l.waiting) > 0 || len(l.parked) > 0 {
			return fmt.Errorf("every job has ended, and queue %s uses %d", name, l.inUse)
		}
	}
	return nil
}
