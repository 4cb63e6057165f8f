package model

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stable"
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

// createQuotaShare adds a quota share.
func (m *Model) createQuotaShare(in *awsbatch.CreateQuotaShareInput) error {
	s := &QuotaShare{Name: aws.ToString(in.QuotaShareName), Queue: aws.ToString(in.JobQueue), Request: in}
	if _, ok := m.Queue(s.Queue); !ok || s.Name == "" || m.QuotaShares[s.Resource()] != nil {
		return fmt.Errorf("create quota share %q: it exists, has no name, or no queue", s.Name)
	}
	m.QuotaShares[s.Resource()] = s
	m.tag(s.Resource(), in.Tags)
	m.reconsider(func(q *Queue) bool { return q.Name == s.Queue })
	return nil
}

// updateQuotaShare applies the members of an update. Jobs that wait are examined again.
func (m *Model) updateQuotaShare(in *awsbatch.UpdateQuotaShareInput) error {
	r, err := ParseARN(aws.ToString(in.QuotaShareArn))
	s := m.QuotaShares[r]
	if err != nil || s == nil {
		return fmt.Errorf("update quota share %q: no such quota share", aws.ToString(in.QuotaShareArn))
	}
	now := *s.Request
	now.State = cmp.Or(in.State, now.State)
	now.PreemptionConfiguration = cmp.Or(in.PreemptionConfiguration, now.PreemptionConfiguration)
	now.ResourceSharingConfiguration = cmp.Or(in.ResourceSharingConfiguration, now.ResourceSharingConfiguration)
	if in.CapacityLimits != nil {
		now.CapacityLimits = in.CapacityLimits
	}
	s.Request = &now
	m.reconsider(func(q *Queue) bool { return q.Name == s.Queue })
	return nil
}

// SharesOf returns the quota shares of a queue, by name.
func (m *Model) SharesOf(queue string) []*QuotaShare {
	var all []*QuotaShare
	for _, s := range m.QuotaShares {
		if s.Queue == queue {
			all = append(all, s)
		}
	}
	stable.Sort(all, func(a, b *QuotaShare) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
