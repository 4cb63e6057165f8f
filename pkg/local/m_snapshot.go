package local

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// frontOfQueue is how many jobs a snapshot shows.
const frontOfQueue = 100

// front is the first RUNNABLE jobs in the order in which they may start, as if
// there were room for all; behind them those that nothing can hold.
func (m *model) front(name string, now int64, capacity amount) []types.FrontOfQueueJobSummary {
	jobs := []types.FrontOfQueueJobSummary{}
	l := m.queues[name]
	if l == nil {
		return jobs
	}
	add := func(t *task) {
		// Those behind moved up when somebody left.
		jobs = append(jobs, types.FrontOfQueueJobSummary{JobArn: aws.String(arn(kindJob, t.id())), EarliestTimeAtPosition: aws.Int64(max(t.since, l.leftAt))})
	}
	p := m.picker(name, now, capacity)
	for ; p.head() != nil && len(jobs) < frontOfQueue; p.next(starts) {
		add(p.head())
	}
	for _, t := range l.parked {
		if len(jobs) < frontOfQueue {
			add(t)
		}
	}
	return jobs
}

// vcpuUnit is the unit in which snapshots count.
const vcpuUnit = "VCPU"

func (l *line) utilization(now int64, p *policy, decay int64) *types.QueueSnapshotUtilizationDetail {
	quantity := func(milli int64) *float64 { return aws.Float64(float64(milli) / 1000) }
	d := &types.QueueSnapshotUtilizationDetail{LastUpdatedAt: &now,
		TotalCapacityUsage: []types.QueueSnapshotCapacityUsage{{CapacityUnit: aws.String(vcpuUnit), Quantity: quantity(l.inUse)}}}
	if p == nil {
		return d
	}
	f := &types.FairshareUtilizationDetail{ActiveShareCount: aws.Int64(0)}
	for _, id := range slices.Sorted(maps.Keys(l.shares)) {
		s := l.shares[id]
		if !s.isActive(now, decay) {
			continue
		}
		*f.ActiveShareCount++
		f.TopCapacityUtilization = append(f.TopCapacityUtilization, types.FairshareCapacityUtilization{ShareIdentifier: &id,
			CapacityUsage: []types.FairshareCapacityUsage{{CapacityUnit: aws.String(vcpuUnit), Quantity: quantity(s.inUse)}}})
	}
	slices.SortStableFunc(f.TopCapacityUtilization, func(a, b types.FairshareCapacityUtilization) int {
		return cmp.Compare(*b.CapacityUsage[0].Quantity, *a.CapacityUsage[0].Quantity)
	})
	f.TopCapacityUtilization = f.TopCapacityUtilization[:min(len(f.TopCapacityUtilization), 20)]
	d.FairshareUtilization = f
	return d
}
