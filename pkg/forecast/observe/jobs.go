//lint:file-ignore SA1019 the deprecated members vcpus and memory are still in answers

package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// size is what is known of the jobs of a definition.
type size struct {
	need     model.Amount
	nodes    []model.Amount // of a multi-node job: what each node asks for
	platform types.PlatformCapability
	task     forecast.Task
	priority int32
	timeout  int64
	team     string
}

// entry is a job with its queue, before it has a place in the order.
type entry struct {
	types.JobSummary
	queue int
	front int
}

// addJobs adds the jobs of the queues to the State, in the order in which they may start.
func (r Reader) addJobs(ctx context.Context, o *Observation, all []queueJobs) error {
	var open, ended []entry
	for i, q := range all {
		if q.more {
			o.Unknown = append(o.Unknown, fmt.Sprintf("jobs of queue %s after the first %d", o.State.Queues[i].Name,
				mostListed))
		}
		for _, j := range q.open {
			front, ok := q.front[aws.ToString(j.JobId)]
			if !ok {
				front = mostListed
			}
			open = append(open, entry{j, i, front})
		}
		for _, j := range q.ended {
			ended = append(ended, entry{j, i, 0})
		}
	}
	slices.SortStableFunc(open, func(a, b entry) int {
		if a.queue == b.queue {
			return cmp.Or(cmp.Compare(a.front, b.front), cmp.Compare(aws.ToInt64(a.CreatedAt),
				aws.ToInt64(b.CreatedAt)))
		}
		return cmp.Compare(aws.ToInt64(a.CreatedAt), aws.ToInt64(b.CreatedAt))
	})
	slices.SortStableFunc(ended, func(a, b entry) int {
		return cmp.Compare(aws.ToInt64(a.StoppedAt), aws.ToInt64(b.StoppedAt))
	})
	sizes, byJob, err := r.sizes(ctx, open, ended)
	if err != nil {
		return err
	}
	o.record(r.Attempts, ended)
	o.addOpen(open, sizes, byJob)
	for _, j := range ended {
		s := sizes[definition(j.JobSummary)]
		if byJob[aws.ToString(j.JobId)] != nil {
			s = byJob[aws.ToString(j.JobId)]
		}
		from, to := aws.ToInt64(j.StartedAt), aws.ToInt64(j.StoppedAt)
		if s == nil || from == 0 || to < from || j.ArrayProperties != nil && aws.ToInt32(j.ArrayProperties.Size) > 0 {
			continue
		}
		o.State.Past = append(o.State.Past,
			o.split(s, forecast.Job{ID: aws.ToString(j.JobId), Name: aws.ToString(j.JobName), Queue: j.queue,
				Share: aws.ToString(j.ShareIdentifier), Team: s.team,
				Priority: s.priority, Platform: s.platform, Task: s.task, Need: s.need,
				Submitted: aws.ToInt64(j.CreatedAt),
				Started:   from, Exact: max(to-from, 1),
				Durations: o.Durations(definition(j.JobSummary), j.queue, s.timeout)})...)
	}
	return nil
}

// definition returns the name of a job's definition, without the revision.
func definition(j types.JobSummary) string {
	name, _ := batch.SplitRevision(batch.Name(aws.ToString(j.JobDefinition)))
	return name
}

// record builds the record of durations from earlier attempts and the jobs that the target still lists.
func (o *Observation) record(attempts []history.Attempt, ended []entry) {
	known := map[string]bool{}
	for _, a := range attempts {
		known[a.Job] = true
	}
	all := slices.Clone(attempts)
	for _, j := range ended {
		if known[aws.ToString(j.JobId)] || j.ArrayProperties != nil && aws.ToInt32(j.ArrayProperties.Size) > 0 {
			continue
		}
		all = append(all, history.Attempt{Job: aws.ToString(j.JobId),
			Definition: batch.Name(aws.ToString(j.JobDefinition)), Queue: o.State.Queues[j.queue].Name,
			Status: types.JobStatusSucceeded, StartedAt: aws.ToInt64(j.StartedAt), StoppedAt: aws.ToInt64(j.StoppedAt)})
	}
	o.Record = forecast.RecordOf(all)
}

// sizes describes the running jobs, the front of the queues and one job of each definition.
func (r Reader) sizes(ctx context.Context, open, ended []entry) (byDefinition, byJob map[string]*size, err error) {
	var ids []string
	asked := map[string]bool{}
	for _, j := range slices.Concat(open, ended) {
		if d := definition(j.JobSummary); !asked[d] {
			asked[d] = true
			ids = append(ids, aws.ToString(j.JobId))
		}
	}
	for _, running := range []bool{true, false} {
		for _, j := range open {
			if (j.Status == types.JobStatusRunning) == running && len(ids) < mostDescribed &&
				!slices.Contains(ids, aws.ToString(j.JobId)) {
				ids = append(ids, aws.ToString(j.JobId))
			}
		}
	}
	byDefinition, byJob = map[string]*size{}, map[string]*size{}
	if len(ids) == 0 {
		return byDefinition, byJob, nil
	}
	details, err := r.Client.ByID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids { // in their order: the first job of a definition stands for it
		d, ok := details[id]
		if !ok {
			continue
		}
		s := sizeOf(d)
		byJob[id] = &s
		name, _ := batch.SplitRevision(batch.Name(aws.ToString(d.JobDefinition)))
		if byDefinition[name] == nil {
			byDefinition[name] = &s
		}
	}
	return byDefinition, byJob, nil
}

// sizeOf returns what a job asks for: what its containers and nodes ask for together.
func sizeOf(d types.JobDetail) size {
	s := size{platform: types.PlatformCapabilityEc2, priority: aws.ToInt32(d.SchedulingPriority), team: d.Tags["team"]}
	if slices.Contains(d.PlatformCapabilities, types.PlatformCapabilityFargate) {
		s.platform, s.task = types.PlatformCapabilityFargate, taskOf(d)
	}
	if d.Timeout != nil {
		s.timeout = int64(aws.ToInt32(d.Timeout.AttemptDurationSeconds))
	}
	add := func(c types.ContainerProperties) {
		a, _ := model.Requested(&c)
		s.need = model.Amount{MilliCPU: s.need.MilliCPU + a.MilliCPU, MemoryMiB: s.need.MemoryMiB + a.MemoryMiB,
			GPUs: s.need.GPUs + a.GPUs}
	}
	switch {
	case d.Container != nil:
		add(types.ContainerProperties{Vcpus: d.Container.Vcpus, Memory: d.Container.Memory,
			ResourceRequirements: d.Container.ResourceRequirements})
	case d.EcsProperties != nil:
		for _, t := range d.EcsProperties.TaskProperties {
			for _, c := range t.Containers {
				add(types.ContainerProperties{ResourceRequirements: c.ResourceRequirements})
			}
		}
	case d.NodeProperties != nil:
		sum := model.Amount{}
		for i, n := int32(0), aws.ToInt32(d.NodeProperties.NumNodes); i < n; i++ {
			s.need = model.Amount{}
			if of := model.RangeOfNode(d.NodeProperties, i, n); of != nil {
				for _, p := range model.NodeParts(of, nil) {
					if p.Container != nil {
						add(*p.Container)
					}
				}
			}
			s.nodes = append(s.nodes, s.need)
			sum = model.Amount{MilliCPU: sum.MilliCPU + s.need.MilliCPU, MemoryMiB: sum.MemoryMiB + s.need.MemoryMiB,
				GPUs: sum.GPUs + s.need.GPUs}
		}
		s.need = sum
	}
	if s.need.MilliCPU == 0 {
		s.nodes = nil
		s.need = model.Amount{MilliCPU: 1000, MemoryMiB: 1024} // a pod, whose need DescribeJobs has in another form
	}
	return s
}

// taskOf returns what a job on Fargate pays for besides the size of its task.
func taskOf(d types.JobDetail) (t forecast.Task) {
	var runs *types.RuntimePlatform
	var storage *types.EphemeralStorage
	var network *types.NetworkConfiguration
	switch {
	case d.Container != nil:
		runs, storage, network = d.Container.RuntimePlatform, d.Container.EphemeralStorage,
			d.Container.NetworkConfiguration
	case d.EcsProperties != nil && len(d.EcsProperties.TaskProperties) > 0:
		p := d.EcsProperties.TaskProperties[0]
		runs, storage, network = p.RuntimePlatform, p.EphemeralStorage, p.NetworkConfiguration
	}
	switch {
	case runs == nil:
	case strings.HasPrefix(strings.ToUpper(aws.ToString(runs.OperatingSystemFamily)), "WINDOWS"):
		t.Platform = catalog.Windows
	case strings.EqualFold(aws.ToString(runs.CpuArchitecture), "ARM64"):
		t.Platform = catalog.Arm
	}
	if storage != nil {
		t.StorageGB = max(int(aws.ToInt32(storage.SizeInGiB))-catalog.FargateStorageGB, 0)
	}
	t.PublicIP = network != nil && network.AssignPublicIp == types.AssignPublicIpEnabled
	return t
}

// split returns a job as its nodes, each of which has an instance of its own. On a local engine all run on its machine.
func (o *Observation) split(s *size, one forecast.Job) []forecast.Job {
	if len(s.nodes) == 0 || o.State.Machine != nil {
		return []forecast.Job{one}
	}
	jobs := slices.Repeat([]forecast.Job{one}, len(s.nodes))
	for i, need := range s.nodes {
		jobs[i].Need = need
	}
	return jobs
}

// addOpen adds the jobs that have not ended.
func (o *Observation) addOpen(open []entry, sizes, byJob map[string]*size) {
	assumed, blocked := 0, 0
	for _, j := range open {
		s, exact := byJob[aws.ToString(j.JobId)], true
		if s == nil {
			s, exact = sizes[definition(j.JobSummary)], false
		}
		if s == nil {
			continue
		}
		one := forecast.Job{ID: aws.ToString(j.JobId), Name: aws.ToString(j.JobName), Queue: j.queue,
			Share: aws.ToString(j.ShareIdentifier), Team: s.team, Priority: s.priority,
			Platform: s.platform, Task: s.task, Need: s.need, Submitted: aws.ToInt64(j.CreatedAt)}
		one.Durations = o.Durations(definition(j.JobSummary), j.queue, s.timeout)
		waiting, running := 1, 0
		switch a := j.ArrayProperties; {
		case a != nil && aws.ToInt32(a.Size) > 0:
			waiting = int(a.StatusSummary[string(types.JobStatusRunnable)])
			running = int(a.StatusSummary[string(types.JobStatusRunning)] +
				a.StatusSummary[string(types.JobStatusStarting)])
		case j.Status == types.JobStatusRunning || j.Status == types.JobStatusStarting:
			waiting, running = 0, 1
		case j.Status != types.JobStatusRunnable:
			blocked++
			continue
		}
		if !exact {
			assumed += waiting + running
		}
		for range running {
			started := one
			started.Started = cmp.Or(aws.ToInt64(j.StartedAt), o.State.Now)
			o.State.Jobs = append(o.State.Jobs, o.split(s, started)...)
		}
		for range waiting {
			o.State.Jobs = append(o.State.Jobs, o.split(s, one)...)
		}
	}
	if assumed > 0 {
		o.Unknown = append(o.Unknown, fmt.Sprintf("the requests of %d jobs: taken from a job with the same definition",
			assumed))
	}
	if blocked > 0 {
		o.Unknown = append(o.Unknown, fmt.Sprintf("when %d jobs that depend on other jobs become ready", blocked))
	}
	// A simulation submits jobs in the order of the State; all of these come at once.
	for i := range o.State.Jobs {
		o.State.Jobs[i].Submitted = min(o.State.Jobs[i].Submitted, o.State.Now)
	}
}

// Durations returns the index of the durations of jobs of a definition in a queue.
func (o *Observation) Durations(definition string, queue int, timeout int64) int {
	d := o.Record.Durations(definition, o.State.Queues[queue].Name, timeout)
	at := slices.IndexFunc(o.State.Durations, func(v forecast.Durations) bool {
		return v.Source == d.Source &&
			v.Of == d.Of && v.Most == d.Most
	})
	if at < 0 {
		at = len(o.State.Durations)
		o.State.Durations = append(o.State.Durations, d)
	}
	return at
}

// Queue returns the index of a queue by name or ARN; -1 if it is not there.
func (o *Observation) Queue(name string) int {
	name = batch.Name(name)
	return slices.IndexFunc(o.State.Queues, func(q forecast.Queue) bool { return q.Name == name })
}

// Add adds jobs that are not submitted yet, and returns their indexes.
func (o *Observation) Add(jobs ...forecast.Job) (indexes []int) {
	for _, j := range jobs {
		j.Submitted = max(j.Submitted, o.State.Now)
		indexes = append(indexes, len(o.State.Jobs))
		o.State.Jobs = append(o.State.Jobs, j)
	}
	return indexes
}
