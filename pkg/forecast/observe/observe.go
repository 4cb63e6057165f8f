// Package observe reads from a target what a forecast starts from: queues, environments, policies and jobs.
package observe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Reader reads a target.
type Reader struct {
	Client *client.Client
	// Config is the target's configuration, Local whether it is the local engine.
	Config aws.Config
	Local  bool
	// Catalog has the instance types, Prices their prices; nil is batchctl's own.
	Catalog *catalog.Catalog
	Prices  *catalog.Prices
	// Attempts is the record of earlier attempts. What the target still lists is added to it.
	Attempts []history.Attempt
}

// Observation is what a Reader has read.
type Observation struct {
	State *forecast.State
	// Unknown names what could not be read or was assumed.
	Unknown []string
	// Record is the record of durations.
	Record *forecast.Record
	// Queues and Environments are as the target described them.
	Queues       []types.JobQueueDetail
	Environments []types.ComputeEnvironmentDetail
}

// The bounds of an observation: a person waits for it.
const (
	mostListed    = 10_000 // jobs of a queue in one status
	mostDescribed = 300    // jobs with details
)

// queueJobs is the jobs of one queue.
type queueJobs struct {
	open, ended []types.JobSummary
	more        bool
	front       map[string]int // positions by the id of the job
}

// Read reads a queue by name, ARN or "" for all, with the queues that share environments with it.
func (r Reader) Read(ctx context.Context, queue string, now time.Time) (*Observation, error) {
	o := &Observation{State: &forecast.State{Now: now.UnixMilli(), Scaling: forecast.DefaultScaling()}}
	var err error
	if o.Queues, err = r.Client.Queues(ctx); err != nil {
		return nil, err
	}
	if o.Environments, err = r.Client.Environments(ctx); err != nil {
		return nil, err
	}
	if err := o.keepRelated(queue, r.Local); err != nil {
		return nil, err
	}
	policies, err := r.policies(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.Local {
		if o.State.Machine, err = r.machine(ctx, o); err != nil {
			return nil, err
		}
	}
	if !r.Local && r.Region() != r.Config.Region {
		o.Unknown = append(o.Unknown, "the prices of "+r.Config.Region+": those of "+r.Region()+" count")
	}
	for _, e := range o.Environments {
		o.State.Environments = append(o.State.Environments, r.environment(o, e))
	}
	for _, q := range o.Queues {
		v := forecast.Queue{Name: aws.ToString(q.JobQueueName), Priority: aws.ToInt32(q.Priority),
			Policy: policies[aws.ToString(q.SchedulingPolicyArn)]}
		order := slices.Clone(q.ComputeEnvironmentOrder)
		slices.SortStableFunc(order, func(a,
			b types.ComputeEnvironmentOrder) int {
			return int(aws.ToInt32(a.Order) - aws.ToInt32(b.Order))
		})
		for _, e := range order {
			v.Environments = append(v.Environments, batch.Name(aws.ToString(e.ComputeEnvironment)))
		}
		o.State.Queues = append(o.State.Queues, v)
	}
	jobs, err := r.jobs(ctx, o)
	if err != nil {
		return nil, err
	}
	return o, r.addJobs(ctx, o, jobs)
}

// keepRelated drops the queues that share no environment with a queue, and their environments.
func (o *Observation) keepRelated(queue string, local bool) error {
	isAsked := func(q types.JobQueueDetail) bool {
		return aws.ToString(q.JobQueueName) == queue || aws.ToString(q.JobQueueArn) == queue
	}
	missing := &NoQueueError{Queue: queue, Found: slices.ContainsFunc(o.Queues, isAsked)}
	o.Queues = slices.DeleteFunc(o.Queues,
		func(q types.JobQueueDetail) bool { return len(q.ComputeEnvironmentOrder) == 0 })
	kept := map[string]bool{} // environments
	names := func(q types.JobQueueDetail) (list []string) {
		for _, e := range q.ComputeEnvironmentOrder {
			list = append(list, batch.Name(aws.ToString(e.ComputeEnvironment)))
		}
		return list
	}
	if queue != "" {
		at := slices.IndexFunc(o.Queues, isAsked)
		if at < 0 {
			return missing
		}
		for _, name := range names(o.Queues[at]) {
			kept[name] = true
		}
	}
	if queue != "" && !local { // the queues of a local engine share its machine
		for n := -1; n != len(kept); {
			n = len(kept)
			for _, q := range o.Queues {
				if all := names(q); slices.ContainsFunc(all, func(name string) bool { return kept[name] }) {
					for _, name := range all {
						kept[name] = true
					}
				}
			}
		}
		o.Queues = slices.DeleteFunc(o.Queues, func(q types.JobQueueDetail) bool {
			return !slices.ContainsFunc(names(q), func(name string) bool { return kept[name] })
		})
	} else {
		for _, q := range o.Queues {
			for _, name := range names(q) {
				kept[name] = true
			}
		}
	}
	o.Environments = slices.DeleteFunc(o.Environments,
		func(e types.ComputeEnvironmentDetail) bool { return !kept[aws.ToString(e.ComputeEnvironmentName)] })
	for name := range kept {
		if !slices.ContainsFunc(o.Environments,
			func(e types.ComputeEnvironmentDetail) bool { return aws.ToString(e.ComputeEnvironmentName) == name }) {
			return fmt.Errorf("the target does not describe compute environment %s", name)
		}
	}
	return nil
}

// NoQueueError reports a queue that the target does not have, or that has no compute environments.
type NoQueueError struct {
	Queue string
	// Found reports whether the target has the queue. It then runs service jobs: every other queue has compute
	// environments.
	Found bool
}

// Error names the queue.
func (e *NoQueueError) Error() string {
	if e.Found {
		return "queue " + e.Queue + " runs service jobs, which have no compute environments to simulate"
	}
	return "no queue " + e.Queue + " at the target"
}

// policies returns the fair-share policies of the queues, by ARN.
func (r Reader) policies(ctx context.Context, o *Observation) (map[string]*types.FairsharePolicy, error) {
	var arns []string
	for _, q := range o.Queues {
		if arn := aws.ToString(q.SchedulingPolicyArn); arn != "" && !slices.Contains(arns, arn) {
			arns = append(arns, arn)
		}
	}
	all := map[string]*types.FairsharePolicy{}
	if len(arns) == 0 {
		return all, nil
	}
	out, err := r.Client.API.DescribeSchedulingPolicies(ctx, &awsbatch.DescribeSchedulingPoliciesInput{Arns: arns})
	if err != nil {
		// Without the weights all shares count the same.
		o.Unknown = append(o.Unknown, "the weights of the shares: "+client.Failed("describe scheduling policies", err).
			Error())
		for _, arn := range arns {
			all[arn] = &types.FairsharePolicy{}
		}
		return all, nil
	}
	for _, p := range out.SchedulingPolicies {
		if all[aws.ToString(p.Arn)] = p.FairsharePolicy; p.FairsharePolicy == nil {
			all[aws.ToString(p.Arn)] = &types.FairsharePolicy{}
		}
	}
	return all, nil
}

// machine returns the size of the local engine's machine.
func (r Reader) machine(ctx context.Context, o *Observation) (*model.Amount, error) {
	machines, err := r.Client.FixedMachines(ctx, o.Environments)
	if err != nil {
		return nil, err
	}
	size := &model.Amount{}
	for _, list := range machines {
		for _, m := range list { // environments offer parts of the same machine
			size.MilliCPU = max(size.MilliCPU, int64(math.Round(m.Total.VCPUs*1000)))
			size.MemoryMiB, size.GPUs = max(size.MemoryMiB, m.Total.MemoryMiB), max(size.GPUs, m.Total.GPUs)
		}
	}
	return size, nil
}

// environment returns an environment for a simulation.
func (r Reader) environment(o *Observation, e types.ComputeEnvironmentDetail) forecast.Environment {
	v := forecast.Environment{Name: aws.ToString(e.ComputeEnvironmentName), Disabled: e.State == types.CEStateDisabled,
		Type: types.CRTypeEc2}
	c := e.ComputeResources
	if c == nil {
		// An unmanaged environment: its instances are the user's own.
		n := int64(aws.ToInt32(e.UnmanagedvCpus))
		v.MinvCpus, v.DesiredvCpus, v.MaxvCpus = n, n, n
		v.Types = []forecast.InstanceType{{Name: "unmanaged", Size: model.Amount{MilliCPU: n * 1000,
			MemoryMiB: n * 4096, GPUs: n}}}
		o.Unknown = append(o.Unknown, "the instances of the unmanaged environment "+v.Name)
		return v
	}
	v.Type, v.Strategy = c.Type, c.AllocationStrategy
	v.MinvCpus, v.DesiredvCpus, v.MaxvCpus = int64(aws.ToInt32(c.MinvCpus)), int64(aws.ToInt32(c.DesiredvCpus)),
		int64(aws.ToInt32(c.MaxvCpus))
	if c.ScalingPolicy != nil {
		v.KeepIdle = int64(aws.ToInt32(c.ScalingPolicy.MinScaleDownDelayMinutes)) * 60_000
	}
	switch {
	case r.Local && aws.ToString(e.Uuid) == "":
		v.MaxvCpus = 0 // the whole machine
	case v.IsFargate():
		r.priceFargate(o, &v)
	default:
		v.Types, v.Entries = r.types(o, v, c.InstanceTypes), c.InstanceTypes
		r.noteUnpriced(o, v)
	}
	return v
}

// priceFargate adds the prices of Fargate. Without a Spot price, that on demand counts.
func (r Reader) priceFargate(o *Observation, v *forecast.Environment) {
	v.Fargate.Platforms = map[string]catalog.FargatePrice{}
	region := r.Region()
	for _, platform := range []string{catalog.X86, catalog.Arm, catalog.Windows} {
		price, _ := r.Prices.Fargate(region, platform)
		if low, high, ok := r.Prices.FargateSpot(region, platform); ok && v.IsSpot() {
			price = catalog.FargatePrice{VCPU: (low.VCPU + high.VCPU) / 2, GB: (low.GB + high.GB) / 2}
		}
		v.Fargate.Platforms[platform] = price
	}
	v.Fargate.StorageGB, _ = r.Prices.FargateStorage(region)
	v.Fargate.Address, _ = r.Prices.Hourly(region, catalog.PublicIPv4)
	_, _, hasSpot := r.Prices.FargateSpot(region, catalog.X86)
	switch _, hasPrice := r.Prices.Fargate(region, catalog.X86); {
	case !hasPrice:
		o.Unknown = append(o.Unknown, "the price of Fargate: "+v.Name+" counts as free")
	case v.IsSpot() && !hasSpot:
		o.Unknown = append(o.Unknown, "the Spot price of Fargate: the price on demand counts for "+v.Name)
	}
}

// noteUnpriced adds which prices of an environment's instance types are unknown.
func (r Reader) noteUnpriced(o *Observation, v forecast.Environment) {
	free, onDemand := 0, 0
	for _, t := range v.Types {
		if t.Hour == 0 {
			free++
		} else if _, ok := r.Prices.Spot(r.Region(), t.Name); v.IsSpot() && !ok {
			onDemand++
		}
	}
	if free > 0 {
		o.Unknown = append(o.Unknown, fmt.Sprintf("the prices of %d of %d instance types of %s: they count as free",
			free, len(v.Types), v.Name))
	}
	if onDemand > 0 {
		o.Unknown = append(o.Unknown,
			fmt.Sprintf("the Spot prices of %d of %d instance types of %s: those on demand count", onDemand,
				len(v.Types), v.Name))
	}
}

// types returns the instance types of an environment with their prices.
func (r Reader) types(o *Observation, v forecast.Environment, entries []string) (list []forecast.InstanceType) {
	if len(entries) == 0 {
		entries = []string{"optimal"}
		o.Unknown = append(o.Unknown, "the instance types of "+v.Name)
	}
	return Types(r.Catalog, r.Prices, r.Region(), v.IsSpot(), entries)
}

// otherRegion has the prices of Regions without a price.
const otherRegion = "us-east-1"

// Region returns the Region whose prices count: the target's, or another one if its prices are unknown.
func (r Reader) Region() string {
	if r.Prices.Has(r.Config.Region) {
		return r.Config.Region
	}
	return otherRegion
}

// Types returns the instance types of entries such as g5 or m5.large, with their prices in a Region.
func Types(types *catalog.Catalog, prices *catalog.Prices, region string, spot bool,
	entries []string) (list []forecast.InstanceType) {
	for _, entry := range entries {
		for _, t := range types.Expand(entry) {
			one := forecast.InstanceType{Name: t.Name, Size: model.Amount{MilliCPU: int64(t.VCPUs) * 1000,
				MemoryMiB: int64(t.UsableMiB())}}
			if t.RunsGPUJobs() {
				one.Size.GPUs = int64(t.GPUs)
			}
			one.Hour, _ = prices.Instance(region, t.Name)
			if p, ok := prices.Spot(region, t.Name); ok && spot {
				one.Hour = (p.Low + p.High) / 2
			}
			list = append(list, one)
		}
	}
	return list
}

// jobs reads the jobs of each queue, several queues concurrently.
func (r Reader) jobs(ctx context.Context, o *Observation) ([]queueJobs, error) {
	all, errs := make([]queueJobs, len(o.Queues)), make([]error, len(o.Queues))
	free := make(chan struct{}, 4) // AWS limits the request rate of an account
	var wait sync.WaitGroup
	for i, q := range o.Queues {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			all[i], errs[i] = r.queue(ctx, aws.ToString(q.JobQueueArn))
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// queue reads the jobs of one queue.
func (r Reader) queue(ctx context.Context, arn string) (jobs queueJobs, err error) {
	seen := map[string]bool{}
	list := func(status types.JobStatus, most int) (found []types.JobSummary, more bool, err error) {
		for job, err := range r.Client.EachPage(ctx, awsbatch.ListJobsInput{JobQueue: &arn, JobStatus: status}) {
			if err != nil {
				return nil, false, err
			}
			if len(found) == most {
				return found, true, nil
			}
			if id := aws.ToString(job.JobId); !seen[id] {
				seen[id] = true
				found = append(found, job)
			}
		}
		return found, false, nil
	}
	for _, status := range client.NotEnded {
		found, more, err := list(status, mostListed)
		if err != nil {
			return jobs, err
		}
		jobs.open, jobs.more = append(jobs.open, found...), jobs.more || more
	}
	if jobs.ended, _, err = list(types.JobStatusSucceeded, mostEnded); err != nil {
		return jobs, err
	}
	// Roles that may list jobs need not be allowed to read snapshots. The order is then that of submission.
	jobs.front = map[string]int{}
	if out, err := r.Client.QueueSnapshot(ctx, arn); err == nil && out.FrontOfQueue != nil {
		for i, j := range out.FrontOfQueue.Jobs {
			id, _ := batch.SplitID(batch.Name(aws.ToString(j.JobArn))) // children stand for their array
			if _, ok := jobs.front[id]; !ok {
				jobs.front[id] = i
			}
		}
	}
	return jobs, nil
}

// mostEnded is how many jobs that ended count for durations.
const mostEnded = 1000
