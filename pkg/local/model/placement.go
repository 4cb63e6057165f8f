package model

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// stuck returns why the task fits no environment, if that is already recorded.
func (t *Task) stuck() string {
	if t.parked {
		return t.Reason
	}
	return ""
}

// Platform returns the platform that a job definition is for.
func (d *Definition) Platform() types.PlatformCapability {
	switch {
	case d.Request.EksProperties != nil:
		return PlatformEKS
	case d.Fargate():
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

// environmentsOf returns the environments of a job's queue in order. Jobs of a deleted queue run on the
// machine itself.
func (m *Model) environmentsOf(j *Job) []*Environment {
	q, ok := m.Queue(*j.Request.JobQueue)
	if !ok {
		return []*Environment{m.whole}
	}
	if j.Service != nil {
		if v := m.ServiceEnvironments[q.Service]; v != nil {
			return []*Environment{v}
		}
		return nil
	}
	all := make([]*Environment, 0, len(q.Environments))
	for _, name := range q.Environments {
		if v := m.Environments[name]; v != nil {
			all = append(all, v)
		}
	}
	return all
}

// fitting returns the environments in which the job fits once they have free capacity.
func (m *Model) fitting(j *Job) []*Environment {
	return slices.DeleteFunc(m.environmentsOf(j), func(v *Environment) bool {
		return v.Disabled() || !v.Runs(j.class.platform) || v.limit(j) < j.load()
	})
}

// unplaceable explains why a job currently fits no environment of its queue: Batch's message,
// with figures. It returns "" if the job fits one.
func (m *Model) unplaceable(j *Job, machine Amount) string {
	if why := misfit(j.Need, machine); why != "" || len(m.fitting(j)) > 0 {
		return why
	}
	all := m.environmentsOf(j)
	if j.Service != nil {
		return unserved(j, all)
	}
	mine := slices.DeleteFunc(slices.Clone(all), func(v *Environment) bool { return !v.Runs(j.class.platform) })
	largest := int64(0)
	for _, v := range mine {
		largest = max(largest, v.limit(j))
	}
	switch {
	case len(mine) == 0:
		return misfits + fmt.Sprintf("the job asks for %s, and no compute environment of the queue is for it", j.class.platform)
	case largest < j.Need.MilliCPU:
		return "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU requirement of the job: " +
			fmt.Sprintf("the job asks for %s, the largest maxvCpus is %d", vcpus(j.Need.MilliCPU), largest/1000)
	}
	return "ACTION_REQUIRED - CE(s) associated with the job queue are invalid: those that could hold the job are DISABLED"
}
