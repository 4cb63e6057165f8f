package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// QuotaShare is a part of the capacity of a queue for service jobs.
type QuotaShare struct {
	Name, Queue string
	// Request is CreateQuotaShare with the updates since then.
	Request *awsbatch.CreateQuotaShareInput
}

// Resource returns the resource of a quota share.
func (s *QuotaShare) Resource() Resource { return QuotaShareOf(s.Queue, s.Name) }

// limit returns the capacity of a share for an instance type, in thousandths.
func (s *QuotaShare) limit(unit string) int64 {
	for _, l := range s.Request.CapacityLimits {
		if aws.ToString(l.CapacityUnit) == unit {
			return int64(aws.ToInt32(l.MaxCapacity)) * 1000
		}
	}
	return 0
}

// lends reports whether other shares may borrow its idle capacity.
func (s *QuotaShare) lends() bool {
	return s.Request.ResourceSharingConfiguration.Strategy != types.QuotaShareResourceSharingStrategyReserve
}

// unlimited is the default of borrowLimit (API reference of QuotaShareResourceSharingConfiguration).
const unlimited = -1

// borrows returns how much the share may borrow of an instance type: borrowLimit is a percentage of its
// own limit.
func (s *QuotaShare) borrows(unit string) int64 {
	c := s.Request.ResourceSharingConfiguration
	switch {
	case c.Strategy != types.QuotaShareResourceSharingStrategyLendAndBorrow:
		return 0
	case c.BorrowLimit == nil || *c.BorrowLimit == unlimited:
		return Never
	}
	return s.limit(unit) * int64(*c.BorrowLimit) / 100
}

// QuotaShareTable has the quota shares of all queues.
type QuotaShareTable struct {
	QuotaShares map[Resource]*QuotaShare
}

// createQuotaShare adds a quota share. Its queue must exist.
func (s *QuotaShareTable) createQuotaShare(in *awsbatch.CreateQuotaShareInput) (Resource, error) {
	one := &QuotaShare{Name: aws.ToString(in.QuotaShareName), Queue: aws.ToString(in.JobQueue), Request: in}
	if one.Name == "" || s.QuotaShares[one.Resource()] != nil {
		return "", fmt.Errorf("create quota share %q: it exists, has no name, or no queue", one.Name)
	}
	s.QuotaShares[one.Resource()] = one
	return one.Resource(), nil
}

// updateQuotaShare applies the members of an update.
func (s *QuotaShareTable) updateQuotaShare(in *awsbatch.UpdateQuotaShareInput) error {
	r, err := ParseARN(aws.ToString(in.QuotaShareArn))
	one := s.QuotaShares[r]
	if err != nil || one == nil {
		return fmt.Errorf("update quota share %q: no such quota share", aws.ToString(in.QuotaShareArn))
	}
	now := *one.Request
	now.State = cmp.Or(in.State, now.State)
	now.PreemptionConfiguration = cmp.Or(in.PreemptionConfiguration, now.PreemptionConfiguration)
	now.ResourceSharingConfiguration = cmp.Or(in.ResourceSharingConfiguration, now.ResourceSharingConfiguration)
	if in.CapacityLimits != nil {
		now.CapacityLimits = in.CapacityLimits
	}
	one.Request = &now
	return nil
}

// SharesOf returns the quota shares of a queue, by name.
func (s *QuotaShareTable) SharesOf(queue string) []*QuotaShare {
	var all []*QuotaShare
	for _, one := range s.QuotaShares {
		if one.Queue == queue {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *QuotaShare) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
