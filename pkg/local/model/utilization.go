package model

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// vcpuUnit is the unit in which snapshots count.
const vcpuUnit = "VCPU"

// Utilization returns what the jobs of a queue use, in total and by share. p is the queue's policy,
// decay its decay period in milliseconds; now is in epoch milliseconds. serves means that the
// queue is for service jobs.
func (l *QueueJobs) Utilization(now int64, p *Policy, decay int64, serves bool) *types.QueueSnapshotUtilizationDetail {
	d := &types.QueueSnapshotUtilizationDetail{LastUpdatedAt: &now}
	for unit, n := range l.usage("", l.inUse, serves) {
		d.TotalCapacityUsage = append(d.TotalCapacityUsage, types.QueueSnapshotCapacityUsage{CapacityUnit: &unit,
			Quantity: &n})
	}
	switch {
	case p == nil:
		return d
	case p.Quota != nil:
		d.QuotaShareUtilization = l.quotaUtilization()
		return d
	}
	f := &types.FairshareUtilizationDetail{ActiveShareCount: aws.Int64(0)}
	for _, id := range slices.Sorted(maps.Keys(l.shares)) {
		s := l.shares[id]
		if !s.isActive(now, decay) {
			continue
		}
		*f.ActiveShareCount++
		u := types.FairshareCapacityUtilization{ShareIdentifier: &id}
		for unit, n := range l.usage(id, s.inUse, serves) {
			u.CapacityUsage = append(u.CapacityUsage, types.FairshareCapacityUsage{CapacityUnit: &unit, Quantity: &n})
		}
		f.TopCapacityUtilization = append(f.TopCapacityUtilization, u)
	}
	slices.SortStableFunc(f.TopCapacityUtilization, func(a, b types.FairshareCapacityUtilization) int {
		return cmp.Compare(l.shares[*b.ShareIdentifier].inUse, l.shares[*a.ShareIdentifier].inUse)
	})
	f.TopCapacityUtilization = f.TopCapacityUtilization[:min(len(f.TopCapacityUtilization), 20)]
	d.FairshareUtilization = f
	return d
}

// usage yields what a share uses, or with "" all, by unit: vCPUs, of which the amount is given in
// thousandths, or in a queue for service jobs instance types.
func (l *QueueJobs) usage(share string, milli int64, serves bool) iter.Seq2[string, float64] {
	used := map[string]float64{}
	for key, n := range l.instances {
		if share == "" || key.share == share {
			used[key.unit] += float64(n) / 1000
		}
	}
	if !serves {
		used[vcpuUnit] = float64(milli) / 1000
	}
	return func(yield func(string, float64) bool) {
		for _, unit := range slices.Sorted(maps.Keys(used)) {
			if !yield(unit, used[unit]) {
				return
			}
		}
	}
}

// quotaUtilization returns what the quota shares of the queue use, those that use most first.
func (l *QueueJobs) quotaUtilization() *types.QuotaShareUtilizationDetail {
	sums := map[string]int64{}
	for key, n := range l.instances {
		sums[key.share] += n
	}
	d := &types.QuotaShareUtilizationDetail{TopCapacityUtilization: []types.QuotaShareCapacityUtilization{}}
	for _, share := range slices.SortedFunc(maps.Keys(sums),
		func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) }) {
		u := types.QuotaShareCapacityUtilization{QuotaShareName: &share}
		for unit, n := range l.usage(share, 0, true) {
			u.CapacityUsage = append(u.CapacityUsage, types.QuotaShareCapacityUsage{CapacityUnit: &unit, Quantity: &n})
		}
		d.TopCapacityUtilization = append(d.TopCapacityUtilization, u)
	}
	return d
}
