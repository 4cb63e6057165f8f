package model

import (
	"fmt"
	"slices"
)

// room is what is left of the machine, its environments and the consumable
// resources while it is decided who starts.
type room struct {
	machine     Amount
	vcpus       map[*Environment]int64 // thousandths, of those looked at
	consumables map[string]int64       // of those looked at
	model       *Model
}

func (m *Model) room(free Amount) *room {
	return &room{machine: free, vcpus: map[*Environment]int64{}, consumables: map[string]int64{}, model: m}
}

func (r *room) left(v *Environment) int64 {
	n, ok := r.vcpus[v]
	if !ok {
		n = v.limit() - v.used
		r.vcpus[v] = n
	}
	return n
}

func (r *room) unclaimed(name string) int64 {
	n, ok := r.consumables[name]
	if v := r.model.Consumables[name]; !ok && v != nil {
		n = v.Available()
		r.consumables[name] = n
	}
	return n
}

// verdict is what becomes of a task that is looked at.
type verdict uint8

const (
	starts     verdict = iota
	waits              // others of its class may start
	classWaits         // none of its class can start now
	queueWaits         // none of its queue can
)

// admit takes what j needs and says where it runs, or sets aside what it may have.
func (r *room) admit(j *Job, places []*Environment) (place *Environment, v verdict, reason string) {
	if why := r.model.exceeds(j.Consumes); why != "" {
		return nil, classWaits, why // nothing is set aside: nobody waits behind it
	}
	if why := lacks(j.Consumes, r.unclaimed); why != "" {
		r.consume(j)
		return nil, classWaits, why
	}
	r.consume(j)
	at := slices.IndexFunc(places, func(v *Environment) bool { return r.left(v) >= j.Need.MilliCPU })
	if at < 0 {
		v = classWaits
		for i, place := range places {
			if i == 0 {
				r.vcpus[place] = max(r.left(place)-j.Need.MilliCPU, 0)
			}
			if r.left(place) > 0 {
				v = waits
			}
		}
		return nil, v, ""
	}
	place = places[at]
	r.vcpus[place] -= j.Need.MilliCPU
	fits := r.machine.Covers(j.Need)
	r.machine = r.machine.less(j.Need)
	if !fits {
		return nil, waits, ""
	}
	return place, starts, ""
}

// consume sets aside of the consumable resources what j asks for.
func (r *room) consume(j *Job) {
	for _, n := range j.Consumes {
		r.consumables[n.Name] = max(r.unclaimed(n.Name)-n.Quantity, 0)
	}
}

// decision is what schedule found out about a task.
type decision struct {
	Task   *Task
	Place  *Environment // where it starts; nil: it waits
	Reason string       // what it waits for
}

// Schedule decides which tasks start now on a machine of that capacity, and why others wait. now is in epoch
// milliseconds.
func (m *Model) Schedule(now int64, capacity Amount) []decision {
	free := capacity.minus(m.used)
	if free.exhausted() {
		return nil
	}
	var lines []*picker
	for name, l := range m.Lines {
		if len(l.waiting) > 0 {
			lines = append(lines, m.picker(name, now, capacity))
		}
	}
	return schedule(lines, m.room(free))
}

// schedule decides which tasks start now, queues in the order of their priority.
//
// As in Batch's FIFO queues nobody is passed at his own cost: for a job that does
// not fit, what is free of its request is set aside, and the jobs behind it may
// start only on what is left. So a long job at the head does not hold up small
// ones that would not help it, and small ones never hold up the job at the head.
// What a job lacks first is all that is set aside for it: one that waits for a
// consumable resource keeps no vCPU idle.
func schedule(lines []*picker, r *room) []decision {
	var all []decision
	for !r.machine.exhausted() {
		p := foremost(lines)
		if p == nil {
			break
		}
		t := p.head()
		d := decision{Task: t}
		v := queueWaits
		if p.allows(t.Job) {
			d.Place, v, d.Reason = r.admit(t.Job, r.model.fitting(t.Job))
		}
		p.next(v)
		if v == starts || d.Reason != t.Reason {
			all = append(all, d)
		}
	}
	return all
}

// foremost is the queue whose head is next: the highest priority, then the order
// of submission; nil: all lines are done.
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

// misfit explains why a machine of the given size can never hold a job, in the
// words of Batch with the figures of both; it is empty where the job fits.
func misfit(need, machine Amount) string {
	if machine.Covers(need) {
		return ""
	}
	var asks string
	switch {
	case need.GPUs > machine.GPUs:
		asks = fmt.Sprintf("the job asks for %s, this machine has %d", count(need.GPUs, "GPU"), machine.GPUs)
	case need.MilliCPU > machine.MilliCPU:
		asks = fmt.Sprintf("the job asks for %s, this machine has %g", vcpus(need.MilliCPU), float64(machine.MilliCPU)/1000)
	default:
		asks = fmt.Sprintf("the job asks for %d MiB of memory, this machine has %d MiB", need.MemoryMiB, machine.MemoryMiB)
	}
	return misfits + asks
}

// misfits is how Batch begins the reason of a job that is too large.
const misfits = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "

// Pin returns the devices for an attempt of j: the first of all that are not in use. Fewer than it asks for are
// never returned: Schedule has counted them before.
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
