package model

import (
	"slices"
)

// Fleet is the machines on which the jobs of a Dispatcher start. With one machine, it decides as the
// engine does.
type Fleet interface {
	// Exhausted reports that no further job starts in this pass.
	Exhausted() bool
	// Place reserves what a job requests on a machine of an environment. It returns false if none fits the job now.
	Place(v *Environment, need Amount) bool
	// SetAside keeps the free part of a request for a job that waits, until this pass ends.
	SetAside(v *Environment, need Amount)
}

// freeCapacity is the free capacity of the machine, its environments and the consumable resources during a
// scheduling pass.
type freeCapacity struct {
	machine Amount
	// environments has thousandths of a vCPU or of an instance, for what this pass has examined.
	environments []environmentFree
	// fleet replaces machine where jobs start on several machines; nil in an engine.
	fleet Fleet
	// consumables has the quantities of the resources that this pass has examined.
	consumables map[string]int64
	resources   *ConsumableTable
	places      fitter
}

// fitter finds the environments in which a job fits once they have free capacity, in the order of its queue.
type fitter interface {
	fitting(j *Job) []*Environment
}

// environmentFree is the free part of an environment, with the unit of its limit: "" for vCPUs.
type environmentFree struct {
	environment *Environment
	unit        string
	free        int64
}

// newFreeCapacity returns the free capacity at the start of a pass, given that of the machine.
func newFreeCapacity(free Amount, resources *ConsumableTable, places fitter) *freeCapacity {
	return &freeCapacity{machine: free, consumables: map[string]int64{}, resources: resources, places: places}
}

// exhausted reports that no job that needs a machine starts any more in this pass.
func (r *freeCapacity) exhausted() bool {
	if r.fleet != nil {
		return r.fleet.Exhausted()
	}
	return r.machine.exhausted()
}

// part returns the free part of an environment for j. There are few environments, so it searches a list.
func (r *freeCapacity) part(v *Environment, j *Job) *int64 {
	unit := v.unit(j.class.unit)
	for i := range r.environments {
		if e := &r.environments[i]; e.environment == v && e.unit == unit {
			return &e.free
		}
	}
	r.environments = append(r.environments, environmentFree{v, unit, v.limit(j.class.unit) - v.inUse(unit)})
	return &r.environments[len(r.environments)-1].free
}

// left returns the free part of an environment for j.
func (r *freeCapacity) left(v *Environment, j *Job) int64 { return *r.part(v, j) }

// take reserves what j requests of an environment, or what is left of it.
func (r *freeCapacity) take(v *Environment, j *Job) {
	part := r.part(v, j)
	*part = max(*part-j.load(), 0)
}

// unclaimed returns the free quantity of a consumable resource; 0 if it was deleted.
func (r *freeCapacity) unclaimed(name string) int64 {
	n, ok := r.consumables[name]
	if v := r.resources.Consumables[name]; !ok && v != nil {
		n = v.Available()
		r.consumables[name] = n
	}
	return n
}

// admit reserves what j requests and returns where it runs. If j does not fit, admit sets aside
// the free part of its request.
func (r *freeCapacity) admit(j *Job, environments []*Environment) (environment *Environment, v verdict, reason string) {
	if why := r.resources.exceeds(j.Consumes); why != "" {
		return nil, classWaits, why // nothing is set aside: the job cannot start until something changes
	}
	if why := lacks(j.Consumes, r.unclaimed); why != "" {
		r.consume(j)
		return nil, classWaits, why
	}
	r.consume(j)
	if r.fleet != nil {
		return r.admitToFleet(j, environments)
	}
	at := slices.IndexFunc(environments, func(v *Environment) bool { return r.left(v, j) >= j.load() })
	if at < 0 {
		v = classWaits
		for i, environment := range environments {
			if i == 0 {
				r.take(environment, j)
			}
			if r.left(environment, j) > 0 {
				v = waits
			}
		}
		return nil, v, ""
	}
	environment = environments[at]
	r.take(environment, j)
	fits := r.machine.Covers(j.Need)
	r.machine = r.machine.less(j.Need)
	if !fits {
		return nil, waits, ""
	}
	return environment, starts, ""
}

// admitToFleet is the part of admit that differs with several machines: an environment with free vCPUs may
// have no machine for the job yet, and the next one then takes it.
func (r *freeCapacity) admitToFleet(j *Job,
	environments []*Environment) (environment *Environment, v verdict, reason string) {
	at := -1
	for i, environment := range environments {
		if r.left(environment, j) < j.load() {
			continue
		}
		if r.fleet.Place(environment, j.Need) {
			r.take(environment, j)
			return environment, starts, ""
		}
		if at < 0 {
			at = i
		}
	}
	if at >= 0 {
		r.take(environments[at], j)
		r.fleet.SetAside(environments[at], j.Need)
		return nil, waits, ""
	}
	v = classWaits
	for i, environment := range environments {
		if i == 0 {
			r.take(environment, j)
		}
		if r.left(environment, j) > 0 {
			v = waits
		}
	}
	return nil, v, ""
}

// consume sets aside the consumable resources that j requests.
func (r *freeCapacity) consume(j *Job) {
	for _, n := range j.Consumes {
		r.consumables[n.Name] = max(r.unclaimed(n.Name)-n.Quantity, 0)
	}
}
