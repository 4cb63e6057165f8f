package model

import (
	"fmt"
	"slices"
)

// freeCapacity is the free capacity of the machine, its environments and the consumable resources during a
// scheduling pass.
type freeCapacity struct {
	machine Amount
	// environments has thousandths of a vCPU or of an instance, for what this pass has examined.
	environments []environmentFree
	// fleet replaces machine where jobs start on several machines; nil in an engine.
	fleet      Fleet
	dispatcher *Dispatcher
	// consumables has the quantities of the resources that this pass has examined.
	consumables map[string]int64
	model       *Model
}

// environmentFree is the free part of an environment, with the unit of its limit: "" for vCPUs.
type environmentFree struct {
	environment *Environment
	unit        string
	free        int64
}

func (m *Model) freeCapacity(free Amount) *freeCapacity {
	return &freeCapacity{machine: free, consumables: map[string]int64{}, model: m}
}

// part returns the free part of an environment for j. There are few environments, so it searches a list.
func (r *freeCapacity) part(v *Environment, j *Job) *int64 {
	unit := v.unit(j)
	for i := range r.environments {
		if e := &r.environments[i]; e.environment == v && e.unit == unit {
			return &e.free
		}
	}
	r.environments = append(r.environments, environmentFree{v, unit, v.limit(j) - v.inUse(unit)})
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
	if v := r.model.Consumables[name]; !ok && v != nil {
		n = v.Available()
		r.consumables[name] = n
	}
	return n
}

// verdict is the decision about a task.
type verdict uint8

const (
	starts     verdict = iota
	waits              // others of its class may start
	classWaits         // no task of its class can start now
	queueWaits         // no task of its queue can start now
)

// admit reserves what j requests and returns where it runs. If j does not fit, admit sets aside
// the free part of its request.
func (r *freeCapacity) admit(j *Job, environments []*Environment) (environment *Environment, v verdict, reason string) {
	if why := r.model.exceeds(j.Consumes); why != "" {
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

// consume sets aside the consumable resources that j requests.
func (r *freeCapacity) consume(j *Job) {
	for _, n := range j.Consumes {
		r.consumables[n.Name] = max(r.unclaimed(n.Name)-n.Quantity, 0)
	}
}

// decision is the result of a scheduling pass for a task.
type decision struct {
	Task        *Task
	Environment *Environment // where it starts; nil: it waits
	Reason      string       // what it waits for
}

// Schedule decides which tasks start now on a machine with that capacity, and why others wait. now
// is in epoch milliseconds.
func (m *Model) Schedule(now int64, capacity Amount) []decision {
	free := capacity.minus(m.used)
	full := free.exhausted()
	var lines []*picker
	for name, l := range m.Lines {
		if len(l.waiting) > 0 && (!full || l.serves) {
			lines = append(lines, m.picker(name, now, capacity))
		}
	}
	return schedule(lines, m.freeCapacity(free), nil)
}

// schedule decides which tasks start now, queues in the order of their priority.
//
// As in Batch's FIFO queues, later jobs never delay an earlier one. If a job does not fit, the free
// part of its request is set aside for it, and later jobs may use only the rest. So a long job at
// the head does not block small jobs that would not help it, and small jobs never delay the job at
// the head. Only the resource that a job lacks first is set aside: a job that waits for a
// consumable resource keeps no vCPU idle.
//
// It appends the decisions to all.
func schedule(lines []*picker, r *freeCapacity, all []decision) []decision {
	for p := foremost(lines); p != nil; p = foremost(lines) {
		t := p.head()
		if t.Job.Service == nil && r.exhausted() {
			p.next(queueWaits)
			continue
		}
		d := decision{Task: t}
		v, reason := p.bars(t.Job)
		if d.Reason = reason; v == starts {
			d.Environment, v, d.Reason = r.admit(t.Job, r.fitting(t.Job))
		}
		p.next(v)
		if v == starts || d.Reason != t.Reason {
			all = append(all, d)
		}
	}
	return all
}

// foremost returns the queue whose head is next: by priority, then by order of submission; nil when
// all lines are done.
func foremost(lines []*picker) *picker {
	var best *picker
	for _, p := range lines {
		switch {
		case p.head() == nil:
		case best == nil, p.priority > best.priority, p.priority == best.priority && p.head().compare(best.head()) < 0:
			best = p
		}
	}
	return best
}

// misfit explains why a job can never fit a machine of the given size: Batch's message, with the
// figures of both. It returns "" if the job fits.
func misfit(need, machine Amount) string {
	if machine.Covers(need) {
		return ""
	}
	var excess string
	switch {
	case need.GPUs > machine.GPUs:
		excess = fmt.Sprintf("the job asks for %s, this machine has %d", count(need.GPUs, "GPU"), machine.GPUs)
	case need.MilliCPU > machine.MilliCPU:
		excess = fmt.Sprintf("the job asks for %s, this machine has %g", vcpus(need.MilliCPU), float64(machine.MilliCPU)/1000)
	default:
		excess = fmt.Sprintf("the job asks for %d MiB of memory, this machine has %d MiB", need.MemoryMiB, machine.MemoryMiB)
	}
	return misfits + excess
}

// misfits begins Batch's reason for a job that is too large.
const misfits = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "

// Pin returns the devices for an attempt of j: the first that are free. There are always enough:
// Schedule has counted them.
func (m *Model) Pin(all []string, j *Job) []string {
	var free []string
	for _, d := range all {
		if int64(len(free)) == j.Need.GPUs {
			break
		}
		if !m.busy[d] {
			free = append(free, d)
		}
	}
	return free
}
