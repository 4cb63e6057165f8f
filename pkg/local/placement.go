package local

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// stuck is why no environment can hold the task, if that has been said.
func (t *task) stuck() string {
	if t.parked {
		return t.reason
	}
	return ""
}

// capability is the platform that a job definition is for.
func capability(fargate bool) types.PlatformCapability {
	if fargate {
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

// places are the environments of a job's queue in their order. Jobs of a queue
// that is gone run on the machine itself.
func (m *model) places(j *job) []*environment {
	q, ok := m.queue(*j.request.JobQueue)
	if !ok {
		return []*environment{m.whole}
	}
	all := make([]*environment, 0, len(q.Environments))
	for _, name := range q.Environments {
		if v := m.environments[name]; v != nil {
			all = append(all, v)
		}
	}
	return all
}

// fitting are the environments that a job may be placed in, as soon as they have room.
func (m *model) fitting(j *job) []*environment {
	return slices.DeleteFunc(m.places(j), func(v *environment) bool {
		return v.disabled() || !v.runs(j.class.fargate) || v.limit() < j.need.MilliCPU
	})
}

// unplaceable explains why no environment of its queue can hold a job as things
// are, in the words of Batch with the figures; it is empty where one can.
func (m *model) unplaceable(j *job, machine amount) string {
	if why := misfit(j.need, machine); why != "" || len(m.fitting(j)) > 0 {
		return why
	}
	all := m.places(j)
	mine := slices.DeleteFunc(slices.Clone(all), func(v *environment) bool { return !v.runs(j.class.fargate) })
	largest := int64(0)
	for _, v := range mine {
		largest = max(largest, v.limit())
	}
	switch {
	case len(mine) == 0:
		return misfits + fmt.Sprintf("the job asks for %s, and no compute environment of the queue is for it", capability(j.class.fargate))
	case largest < j.need.MilliCPU:
		return "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU requirement of the job: " +
			fmt.Sprintf("the job asks for %s, the largest maxvCpus is %d", vcpus(j.need.MilliCPU), largest/1000)
	}
	return "ACTION_REQUIRED - CE(s) associated with the job queue are invalid: those that could hold the job are DISABLED"
}
