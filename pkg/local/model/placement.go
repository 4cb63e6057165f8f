package model

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/text"
)

// environmentsOf returns the environments of a job's queue in order. Jobs of a deleted queue run on the
// machine itself.
func (s *ControlPlane) environmentsOf(j *Job) []*Environment {
	q, ok := s.Queue(*j.Request.JobQueue)
	if !ok {
		return []*Environment{s.whole}
	}
	if j.Service != nil {
		if v := s.ServiceEnvironments[q.Service]; v != nil {
			return []*Environment{v}
		}
		return nil
	}
	all := make([]*Environment, 0, len(q.Environments))
	for _, name := range q.Environments {
		if v := s.Environments[name]; v != nil {
			all = append(all, v)
		}
	}
	return all
}

// fitting returns the environments in which the job fits once they have free capacity.
func (s *ControlPlane) fitting(j *Job) []*Environment {
	return slices.DeleteFunc(s.environmentsOf(j), func(v *Environment) bool {
		return v.Disabled() || !v.Runs(j.class.platform) || v.limit(j.class.unit) < j.load()
	})
}

// queueLimit returns the most that a queue may use, in thousandths of a vCPU, or of an instance.
func (s *ControlPlane) queueLimit(name string, capacity Amount) int64 {
	sum := int64(0)
	if q, ok := s.Queue(name); ok {
		if v := s.ServiceEnvironments[q.Service]; v != nil {
			return v.allInstances()
		}
		for _, name := range q.Environments {
			if v := s.Environments[name]; v != nil {
				sum += min(v.limit(""), capacity.MilliCPU)
			}
		}
	}
	return min(sum, capacity.MilliCPU)
}

// unplaceable explains why a job currently fits no environment of its queue: Batch's message,
// with figures. It returns "" if the job fits one.
func (s *ControlPlane) unplaceable(j *Job, machine Amount) string {
	if why := misfit(j.Need, machine); why != "" || len(s.fitting(j)) > 0 {
		return why
	}
	all := s.environmentsOf(j)
	if j.Service != nil {
		return unserved(j, all)
	}
	mine := slices.DeleteFunc(slices.Clone(all), func(v *Environment) bool { return !v.Runs(j.class.platform) })
	largest := int64(0)
	for _, v := range mine {
		largest = max(largest, v.limit(j.class.unit))
	}
	switch {
	case len(mine) == 0:
		return misfits + fmt.Sprintf("the job asks for %s, and no compute environment of the queue is for it",
			j.class.platform)
	case largest < j.Need.MilliCPU:
		return "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU requirement of the job: " +
			fmt.Sprintf("the job asks for %s, the largest maxvCpus is %d", vcpus(j.Need.MilliCPU), largest/1000)
	}
	return "ACTION_REQUIRED - CE(s) associated with the job queue are invalid: those that could hold the job are DISABLED"
}

// unserved explains why a service job fits no environment of its queue: Batch's message (user guide,
// "Jobs stuck in RUNNABLE due to misconfiguration"), with figures.
func unserved(j *Job, environments []*Environment) string {
	if at := slices.IndexFunc(environments,
		func(v *Environment) bool { return v.limit(j.class.unit) >= j.load() }); at >= 0 {
		return "ACTION_REQUIRED - the service environment " + environments[at].Name + " is DISABLED"
	}
	limit := int64(0)
	for _, v := range environments {
		limit = max(limit, v.limit(j.class.unit))
	}
	return "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job queue cannot meet the capacity " +
		fmt.Sprintf("requirement of the job: the job asks for %s of %s, the limit is %d",
			text.Count(j.load()/1000, "instance"), j.Service.Training.Unit(), limit/1000)
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
		excess = fmt.Sprintf("the job asks for %s, this machine has %d", text.Count(need.GPUs, "GPU"), machine.GPUs)
	case need.MilliCPU > machine.MilliCPU:
		excess = fmt.Sprintf("the job asks for %s, this machine has %g", vcpus(need.MilliCPU),
			float64(machine.MilliCPU)/1000)
	default:
		excess = fmt.Sprintf("the job asks for %d MiB of memory, this machine has %d MiB", need.MemoryMiB,
			machine.MemoryMiB)
	}
	return misfits + excess
}

// misfits begins Batch's reason for a job that is too large.
const misfits = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "
