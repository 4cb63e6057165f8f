package model

import (
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// frontOfQueue is how many jobs a snapshot shows.
const frontOfQueue = 100

// front returns the first RUNNABLE jobs in the order in which they may start, as if all of them
// fitted. Jobs that can never fit come last.
func (s scheduler) front(name string, now int64, capacity Amount) []types.FrontOfQueueJobSummary {
	jobs := []types.FrontOfQueueJobSummary{}
	l := s.lines[name]
	if l == nil {
		return jobs
	}
	for t := range s.inOrder(name, now, capacity) {
		if len(jobs) == frontOfQueue {
			break
		}
		// The later jobs moved up when an earlier one left.
		jobs = append(jobs, types.FrontOfQueueJobSummary{JobArn: aws.String(t.ARN()),
			EarliestTimeAtPosition: aws.Int64(max(t.since, l.leftAt))})
	}
	return jobs
}

// frontOfShares returns the first RUNNABLE job of each quota share of a queue.
func (s scheduler) frontOfShares(name string, now int64) map[string][]types.FrontOfQuotaShareJobSummary {
	fronts := map[string][]types.FrontOfQuotaShareJobSummary{}
	if s.lines[name] == nil {
		return fronts
	}
	for t := range s.inOrder(name, now, Amount{}) {
		if share := t.Job.class.share; fronts[share] == nil {
			fronts[share] = []types.FrontOfQuotaShareJobSummary{{JobArn: aws.String(t.ARN()),
				EarliestTimeAtPosition: aws.Int64(t.since)}}
		}
	}
	return fronts
}

// inOrder yields the RUNNABLE jobs of a queue as front lists them.
func (s scheduler) inOrder(name string, now int64, capacity Amount) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for p := s.picker(name, now, capacity); p.head() != nil; p.next(starts) {
			if !yield(p.head()) {
				return
			}
		}
		for _, t := range s.lines[name].parked {
			if !yield(t) {
				return
			}
		}
	}
}
