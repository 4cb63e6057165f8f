package batchapi

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// quotaShares has the operations on quota shares.
type quotaShares struct{ *service }

// maxQuotaShares is how many quota shares a queue may have (user guide, "Quota shares").
const maxQuotaShares = 20

// createQuotaShare records a share of a queue whose scheduling policy has quotaSharePolicy. Batch's
// texts for quota shares are unknown.
func (qs quotaShares) createQuotaShare(c *call.Call,
	in *awsbatch.CreateQuotaShareInput) (*awsbatch.CreateQuotaShareOutput, error) {
	name, queue := aws.ToString(in.QuotaShareName), model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	switch {
	case !definitionName().MatchString(name):
		return nil, wire.ClientException("Quota share name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case in.ResourceSharingConfiguration == nil:
		return nil, wire.ClientException("resourceSharingConfiguration is required.")
	case in.PreemptionConfiguration == nil:
		return nil, wire.ClientException("preemptionConfiguration is required.")
	}
	err := cmp.Or(checkShareLimits(in.CapacityLimits), checkSharing(in.ResourceSharingConfiguration),
		checkPreemption(in.PreemptionConfiguration), checkQuotaState(in.State), checkTags(in.Tags), qs.check(c))
	if err != nil {
		return nil, err
	}
	in.State, in.JobQueue = cmp.Or(in.State, types.QuotaShareStateEnabled), &queue
	r := model.QuotaShareOf(queue, name)
	err = qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if _, ok := m.Queue(queue); !ok {
			return nil, missing("Job Queue", in.JobQueue)
		}
		p := m.PolicyOf(queue)
		switch {
		case p == nil || p.Quota == nil:
			return nil, wire.ClientException("Job Queue %s has no scheduling policy with quotaSharePolicy.", queue)
		case m.QuotaShares[r] != nil:
			return nil, already("Quota share", name)
		case len(m.SharesOf(queue)) >= maxQuotaShares:
			return nil, wire.ClientException("Job Queue %s has %d quota shares already.", queue, maxQuotaShares)
		}
		return []model.Event{{QuotaShareCreated: &model.Shape[*awsbatch.CreateQuotaShareInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateQuotaShareOutput{QuotaShareArn: aws.String(r.ARN()), QuotaShareName: &name}, nil
}

// checkShareLimits rejects capacity limits of a quota share: 1 to 5, each of another instance type (user
// guide, "Quota shares").
func checkShareLimits(limits []types.QuotaShareCapacityLimit) error {
	var units []string
	for _, l := range limits {
		unit := aws.ToString(l.CapacityUnit)
		if unit == batch.NumInstances {
			return wire.ClientException("%s is unknown capacity unit", unit)
		}
		if err := checkLimit(unit, l.MaxCapacity, units); err != nil {
			return err
		}
		units = append(units, unit)
	}
	return checkLimitCount(len(limits))
}

// checkSharing rejects an unknown strategy, and a borrowLimit that does not apply (API reference of
// QuotaShareResourceSharingConfiguration). nil means no change.
func checkSharing(c *types.QuotaShareResourceSharingConfiguration) error {
	switch {
	case c == nil:
		return nil
	case !slices.Contains(c.Strategy.Values(), c.Strategy):
		return wire.ClientException("Resource sharing strategy %q is not valid. Valid strategies: %v", c.Strategy,
			c.Strategy.Values())
	case c.BorrowLimit != nil && c.Strategy != types.QuotaShareResourceSharingStrategyLendAndBorrow:
		return wire.ClientException("borrowLimit can only be used with the strategy LEND_AND_BORROW.")
	case aws.ToInt32(c.BorrowLimit) < -1:
		return wire.ClientException("borrowLimit must be -1 (unlimited) or a percentage of at least 0, got %d.",
			*c.BorrowLimit)
	}
	return nil
}

// checkPreemption rejects an unknown value of inSharePreemption. nil means no change.
func checkPreemption(c *types.QuotaSharePreemptionConfiguration) error {
	if c != nil && !slices.Contains(c.InSharePreemption.Values(), c.InSharePreemption) {
		return wire.ClientException("inSharePreemption %q is not valid. Valid values: %v", c.InSharePreemption,
			c.InSharePreemption.Values())
	}
	return nil
}

// checkQuotaState rejects an unknown state; an empty one means the default or no change.
func checkQuotaState(s types.QuotaShareState) error {
	if s != "" && !slices.Contains(s.Values(), s) {
		return badState(string(s))
	}
	return nil
}

// quotaShareOf returns the share with the ARN of a request, or the error for an unknown one.
func quotaShareOf(m *model.Model, text *string) (*model.QuotaShare, error) {
	if r, err := model.ParseARN(aws.ToString(text)); err == nil && m.QuotaShares[r] != nil {
		return m.QuotaShares[r], nil
	}
	return nil, missing("Quota share", text)
}

// updateQuotaShare changes the members that the request has. A lower limit can make running jobs
// eligible for preemption (user guide, "Quota shares").
func (qs quotaShares) updateQuotaShare(c *call.Call,
	in *awsbatch.UpdateQuotaShareInput) (*awsbatch.UpdateQuotaShareOutput, error) {
	refused := cmp.Or(checkSharing(in.ResourceSharingConfiguration), checkPreemption(in.PreemptionConfiguration),
		checkQuotaState(in.State))
	if in.CapacityLimits != nil {
		refused = cmp.Or(refused, checkShareLimits(in.CapacityLimits))
	}
	if err := cmp.Or(refused, qs.check(c)); err != nil {
		return nil, err
	}
	out := &awsbatch.UpdateQuotaShareOutput{QuotaShareArn: in.QuotaShareArn}
	err := qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		s, err := quotaShareOf(m, in.QuotaShareArn)
		if err != nil {
			return nil, err
		}
		out.QuotaShareName = aws.String(s.Name)
		return []model.Event{{QuotaShareUpdated: &model.Shape[*awsbatch.UpdateQuotaShareInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// deleteQuotaShare removes a share that is DISABLED, and terminates its jobs (API reference).
func (qs quotaShares) deleteQuotaShare(_ *call.Call,
	in *awsbatch.DeleteQuotaShareInput) (*awsbatch.DeleteQuotaShareOutput, error) {
	return &awsbatch.DeleteQuotaShareOutput{}, qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		s, err := quotaShareOf(m, in.QuotaShareArn)
		switch {
		case err != nil:
			return nil, err
		case s.Request.State != types.QuotaShareStateDisabled:
			return nil, wire.ClientException("Cannot delete, quota share %s must be DISABLED first.", s.Name)
		}
		var events []model.Event
		for _, j := range m.QueueJobs(s.Queue).All {
			if j.Service != nil && aws.ToString(j.Service.Request.QuotaShareName) == s.Name && !j.State.Ended() {
				events = append(events, model.Event{Stopped: &model.Stop{Job: j.ID, Terminate: true,
					Reason: "Quota share " + s.Name + " was deleted"}})
			}
		}
		return append(events, model.Event{Deleted: &model.Deletion{Resource: s.Resource()}}), nil
	})
}

// describeQuotaShare returns one share with its tags.
func (qs quotaShares) describeQuotaShare(_ *call.Call,
	in *awsbatch.DescribeQuotaShareInput) (*awsbatch.DescribeQuotaShareOutput, error) {
	m, done := qs.backend.View()
	defer done()
	s, err := quotaShareOf(m, in.QuotaShareArn)
	if err != nil {
		return nil, err
	}
	d := quotaShareDetail(s)
	return &awsbatch.DescribeQuotaShareOutput{CapacityLimits: d.CapacityLimits, JobQueueArn: d.JobQueueArn,
		PreemptionConfiguration: d.PreemptionConfiguration,
		QuotaShareArn:           d.QuotaShareArn, QuotaShareName: d.QuotaShareName,
		ResourceSharingConfiguration: d.ResourceSharingConfiguration, State: d.State,
		Status: d.Status, Tags: model.Merged(nil, m.Tags[s.Resource()])}, nil
}

// quotaShareDetail returns a share as ListQuotaShares shows it. Every share is VALID.
func quotaShareDetail(s *model.QuotaShare) types.QuotaShareDetail {
	sharing := *s.Request.ResourceSharingConfiguration
	if sharing.Strategy == types.QuotaShareResourceSharingStrategyLendAndBorrow && sharing.BorrowLimit == nil {
		sharing.BorrowLimit = aws.Int32(-1)
	}
	return types.QuotaShareDetail{CapacityLimits: s.Request.CapacityLimits,
		JobQueueArn:             aws.String(model.ARN(model.KindQueue, s.Queue)),
		PreemptionConfiguration: s.Request.PreemptionConfiguration, QuotaShareArn: aws.String(s.Resource().ARN()),
		QuotaShareName:               aws.String(s.Name),
		ResourceSharingConfiguration: &sharing, State: s.Request.State, Status: types.QuotaShareStatusValid}
}

// listQuotaShares returns the shares of a queue, by name.
func (qs quotaShares) listQuotaShares(_ *call.Call,
	in *awsbatch.ListQuotaSharesInput) (*awsbatch.ListQuotaSharesOutput, error) {
	m, done := qs.backend.View()
	defer done()
	queue := model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	if _, ok := m.Queue(queue); !ok {
		return nil, missing("Job Queue", in.JobQueue)
	}
	page, next, err := call.Page(m.SharesOf(queue), in.MaxResults, 100, in.NextToken,
		func(s *model.QuotaShare) string { return s.Name })
	if err != nil {
		return nil, err
	}
	out := &awsbatch.ListQuotaSharesOutput{NextToken: next, QuotaShares: []types.QuotaShareDetail{}}
	for _, s := range page {
		out.QuotaShares = append(out.QuotaShares, quotaShareDetail(s))
	}
	return out, nil
}
