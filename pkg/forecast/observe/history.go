package observe

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Replay returns the trace of what ran in the queues: recorded attempts of the target, and the jobs that the target
// still lists and no record has.
func (o *Observation) Replay(attempts []history.Attempt) *forecast.Trace {
	skipped := map[string]int{}
	var jobs []forecast.Job
	recorded := map[string]bool{}
	stopped := map[string]int64{} // when the attempt before ended, by job
	attempts = slices.Clone(attempts)
	slices.SortStableFunc(attempts, func(a, b history.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	for _, a := range attempts {
		recorded[a.Job] = true
		queue := o.Queue(a.Queue)
		j := forecast.Job{ID: a.Job, Name: a.Name, Queue: queue, Share: a.Share, Submitted: max(a.CreatedAt, stopped[a.Job]), Started: a.StartedAt, Exact: a.Duration().Milliseconds(),
			Need: model.Amount{MilliCPU: int64(a.Requested.VCPUs * 1000), MemoryMiB: a.Requested.MemoryMiB, GPUs: int64(a.Requested.GPUs)}}
		stopped[a.Job] = a.StoppedAt
		switch {
		case queue < 0:
			skipped["of another queue"]++
		case j.Exact <= 0 || a.CreatedAt == 0:
			skipped["without a run time"]++
		case j.Need.MilliCPU <= 0:
			skipped["without what they requested"]++
		default:
			j.Platform = o.platform(queue)
			jobs = append(jobs, j)
		}
	}
	for _, j := range o.State.Past {
		if !recorded[j.ID] {
			jobs = append(jobs, j)
		}
	}
	t := forecast.TraceOf(jobs)
	t.Skipped = skipped
	return t
}

// platform returns the platform of the jobs of a queue: that of its first environment.
func (o *Observation) platform(queue int) types.PlatformCapability {
	names := o.State.Queues[queue].Environments
	at := slices.IndexFunc(o.State.Environments, func(e forecast.Environment) bool { return len(names) > 0 && e.Name == names[0] })
	if at < 0 {
		return types.PlatformCapabilityEc2
	}
	return o.State.Environments[at].Platform()
}
