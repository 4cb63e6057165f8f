package model

// scheduler decides which jobs start next. It reads the resources and the jobs of the queues, and changes neither.
type scheduler struct {
	resources *ControlPlane
	lines     Lines
}

// decision is the result of a scheduling pass for a task.
type decision struct {
	Task        *Task
	Environment *Environment // where it starts; nil: it waits
	Reason      string       // what it waits for
}

// choose decides which tasks start now on a machine with that capacity, of which a part is free, and why others wait.
// now is in epoch milliseconds.
func (s scheduler) choose(now int64, capacity, free Amount) []decision {
	full := free.exhausted()
	var lines []*picker
	for name, l := range s.lines {
		if len(l.waiting) > 0 && (!full || l.serves) {
			lines = append(lines, s.picker(name, now, capacity))
		}
	}
	return schedule(lines, s.freeCapacity(free), nil)
}

// picker returns an iterator over the tasks of a queue that has jobs.
func (s scheduler) picker(queue string, now int64, capacity Amount) *picker {
	return newPicker(s.resources, queue, s.lines[queue], now, capacity)
}

// freeCapacity returns what is free at the start of a pass on one machine.
func (s scheduler) freeCapacity(free Amount) *freeCapacity {
	return newFreeCapacity(free, &s.resources.ConsumableTable, s.resources)
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
			d.Environment, v, d.Reason = r.admit(t.Job, r.places.fitting(t.Job))
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
