package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// frontOfQueue is how many jobs a snapshot shows.
const frontOfQueue = 100

// Front returns the first RUNNABLE jobs in the order in which they may start, as if all of them
// fitted. Jobs that can never fit come last.
func (m *Model) Front(name string, now int64, capacity Amount) []types.FrontOfQueueJobSummary {
	jobs := []types.FrontOfQueueJobSummary{}
	l := m.Lines[name]
	if l == nil {
		return jobs
	}
	add := func(t *Task) {
		// The later jobs moved up when an earlier one left.
		jobs = append(jobs, types.FrontOfQueueJobSummary{JobArn: aws.String(ARN(KindJob, t.ID())), EarliestTimeAtPosition: aws.Int64(max(t.since, l.leftAt))})
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

// Utilization returns what the jobs of a queue use, in total and by share. p is the queue's policy,
// decay its decay period in milliseconds; now is in epoch milliseconds.
func (l *QueueJobs) Utilization(now int64, p *Policy, decay int64) *types.QueueSnapshotUtilizationDetail {
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
