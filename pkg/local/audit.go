package local

import "fmt"

// Overbooked returns what more is in use of than there is: a mistake in the model's accounts. nil: nothing.
func (m *model) Overbooked(capacity amount) error {
	if !capacity.holds(m.used) {
		return fmt.Errorf("%v of the machine is in use", m.used)
	}
	for _, r := range m.consumables {
		if r.inUse > r.total {
			return fmt.Errorf("%d of %d %s in use", r.inUse, r.total, r.name)
		}
	}
	sum := int64(0)
	for _, v := range m.environments {
		sum += v.used
	}
	if sum != m.used.MilliCPU {
		return fmt.Errorf("the environments use %d, the machine %d", sum, m.used.MilliCPU)
	}
	return nil
}

// Unreleased returns what is in use although every job has ended: a mistake in the model's accounts. nil: nothing.
func (m *model) Unreleased() error {
	if m.used != (amount{}) {
		return fmt.Errorf("every job has ended, and %v of the machine in use", m.used)
	}
	for _, r := range m.consumables {
		if r.inUse != 0 {
			return fmt.Errorf("every job has ended, and %d of %s in use", r.inUse, r.name)
		}
	}
	for _, v := range m.environments {
		if v.used != 0 {
			return fmt.Errorf("every job has ended, and %d of environment %s in use", v.used, v.name)
		}
	}
	for name, l := range m.queues {
		for id, s := range l.shares {
			if s.open != 0 || s.inUse != 0 {
				return fmt.Errorf("every job has ended, and share %s has %d jobs and uses %d", id, s.open, s.inUse)
			}
		}
		if l.inUse != 0 || len(l.waiting) > 0 || len(l.parked) > 0 {
			return fmt.Errorf("every job has ended, and queue %s uses %d", name, l.inUse)
		}
	}
	return nil
}
