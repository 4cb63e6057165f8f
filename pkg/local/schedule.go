package local

import (
	"fmt"
	"iter"
)

// amount is what an attempt needs of the machine, or what the machine has.
type amount struct {
	MilliCPU  int64 // thousandths of a vCPU: Fargate sizes go down to 0.25
	MemoryMiB int64
	GPUs      int64
}

func (a amount) plus(b amount) amount {
	return amount{a.MilliCPU + b.MilliCPU, a.MemoryMiB + b.MemoryMiB, a.GPUs + b.GPUs}
}

func (a amount) minus(b amount) amount {
	return amount{a.MilliCPU - b.MilliCPU, a.MemoryMiB - b.MemoryMiB, a.GPUs - b.GPUs}
}

func (a amount) holds(b amount) bool {
	return a.MilliCPU >= b.MilliCPU && a.MemoryMiB >= b.MemoryMiB && a.GPUs >= b.GPUs
}

// less is a without b, never below zero.
func (a amount) less(b amount) amount {
	d := a.minus(b)
	return amount{max(d.MilliCPU, 0), max(d.MemoryMiB, 0), max(d.GPUs, 0)}
}

// exhausted reports that no job fits any more: each needs some vCPU and memory.
func (a amount) exhausted() bool { return a.MilliCPU <= 0 || a.MemoryMiB <= 0 }

// schedule yields the elements of waiting that start now, given the free part of
// the machine. waiting is in the order of precedence: queues by priority, first
// in first out in a queue.
//
// As in Batch's FIFO queues nobody is passed at his own cost: for a job that does
// not fit, what is free of its request is set aside, and the jobs behind it may
// start only on what is left. So a long job at the head does not hold up small
// ones that would not help it, and small ones never hold up the job at the head.
func schedule[T any](waiting iter.Seq[T], need func(T) amount, free amount) iter.Seq[T] {
	return func(yield func(T) bool) {
		for w := range waiting {
			if free.exhausted() {
				return
			}
			n := need(w)
			fits := free.holds(n)
			free = free.less(n)
			if fits && !yield(w) {
				return
			}
		}
	}
}

// misfit explains why a machine of the given size can never hold a job, in the
// words of Batch with the figures of both; it is empty where the job fits.
func misfit(need, machine amount) string {
	if machine.holds(need) {
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
	return "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
		"by the CE(s) attached to the job queue: " + asks
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func vcpus(milli int64) string {
	if milli == 1000 {
		return "1 vCPU"
	}
	return fmt.Sprintf("%g vCPUs", float64(milli)/1000)
}

// pin returns the first n of devices that are not busy. Fewer are never returned:
// the schedule has counted them before.
func pin(devices []string, busy map[string]bool, n int64) []string {
	var free []string
	for _, d := range devices {
		if int64(len(free)) == n {
			break
		}
		if !busy[d] {
			free = append(free, d)
		}
	}
	return free
}
