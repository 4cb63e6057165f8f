package batchapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// policies has the operations on scheduling policies.
type policies struct{ *service }

// createSchedulingPolicy records a policy for fair shares, or for quota shares.
func (ps policies) createSchedulingPolicy(c *call.Call,
	in *awsbatch.CreateSchedulingPolicyInput) (*awsbatch.CreateSchedulingPolicyOutput, error) {
	name := aws.ToString(in.Name)
	if !definitionName().MatchString(name) {
		return nil, wire.ClientException("Scheduling policy name should match a valid pattern.")
	}
	if err := cmp.Or(checkQuotaPolicy(in.FairsharePolicy, in.QuotaSharePolicy), checkShares(in.FairsharePolicy),
		checkTags(in.Tags), ps.check(c)); err != nil {
		return nil, err
	}
	err := ps.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.Policies[name] != nil {
			return nil, already("Scheduling policy", name)
		}
		return []model.Event{{PolicyCreated: &model.Shape[*awsbatch.CreateSchedulingPolicyInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateSchedulingPolicyOutput{Arn: aws.String(model.ARN(model.KindPolicy, name)), Name: &name}, nil
}

// checkQuotaPolicy rejects a quota policy next to a fair-share policy, and an unknown strategy, word for
// word as Batch does (cdk-preflight, 2026-09).
func checkQuotaPolicy(fair *types.FairsharePolicy, quota *types.QuotaSharePolicy) error {
	switch {
	case quota == nil:
		return nil
	case fair != nil:
		return wire.ClientException("A scheduling policy can have either fairsharePolicy or quotaSharePolicy")
	case !slices.Contains(quota.IdleResourceAssignmentStrategy.Values(), quota.IdleResourceAssignmentStrategy):
		return wire.ClientException("Idle resource assignment strategy must be one of [FIFO].")
	}
	return nil
}

// describePolicy returns the policy as Batch shows it, with its defaults.
func describePolicy(p *model.Policy) *types.FairsharePolicy {
	if p.Quota != nil {
		return nil
	}
	d := types.FairsharePolicy{ComputeReservation: aws.Int32(0), ShareDecaySeconds: aws.Int32(0),
		ShareDistribution: []types.ShareAttributes{}}
	if s := p.Share; s != nil {
		d.ComputeReservation, d.ShareDecaySeconds = cmp.Or(s.ComputeReservation, d.ComputeReservation),
			cmp.Or(s.ShareDecaySeconds, d.ShareDecaySeconds)
		d.ShareDistribution = append(d.ShareDistribution, s.ShareDistribution...)
	}
	return &d
}

// checkShares rejects fair-share policies that Batch rejects (API reference of FairsharePolicy
// and ShareAttributes).
func checkShares(p *types.FairsharePolicy) error {
	if p == nil {
		return nil
	}
	switch reserved, decay := aws.ToInt32(p.ComputeReservation), aws.ToInt32(p.ShareDecaySeconds); {
	case reserved < 0 || reserved > 99:
		return wire.ClientException("computeReservation should be between 0 and 99.")
	case decay < 0 || decay > 604800:
		return wire.ClientException("shareDecaySeconds should be between 0 and 604800.")
	case len(p.ShareDistribution) > 500:
		return wire.ClientException("ShareDistribution size cannot be greater than 500.")
	}
	var before []string
	for _, s := range p.ShareDistribution {
		id := aws.ToString(s.ShareIdentifier)
		switch w := s.WeightFactor; {
		case !shareIdentifier().MatchString(id):
			return wire.ClientException("ShareIdentifier name should match a valid pattern.")
		case w != nil && !(*w >= 0.0001 && *w <= 999.9999):
			return wire.ClientException("Weight factor should be between 0.0001 and 999.9999.")
		case slices.Contains(before, id):
			return wire.ClientException("Cannot have two or more identical shareIdentifiers.")
		}
		// A job's share must match exactly one entry, so an asterisk must not cover another one.
		for _, other := range before {
			if model.Glob(&id, strings.TrimSuffix(other, "*")) || model.Glob(&other, strings.TrimSuffix(id, "*")) {
				return wire.ClientException("Share identifier %s matches another share identifier %s.", id, other)
			}
		}
		before = append(before, id)
	}
	return nil
}

// checkPolicyARN rejects the ARN of an unknown policy; nil means no policy.
func checkPolicyARN(m *model.Model, text *string) error {
	if text == nil {
		return nil
	}
	r, err := model.ParseARN(*text)
	if err != nil {
		return wire.ClientException("%q is not the ARN of a scheduling policy.", *text)
	}
	if kind, name := r.Split(); kind != model.KindPolicy {
		return wire.ClientException("Only scheduling policy Arn can be allowed.")
	} else if m.Policies[name] == nil {
		return wire.ClientException("SchedulingPolicy %s not found.", *text)
	}
	return nil
}

// policyNamed returns the policy with the ARN of a request, or the error for an unknown one.
func policyNamed(m *model.Model, text *string) (*model.Policy, error) {
	p := m.Policies[model.ResourceName(aws.ToString(text), model.KindPolicy)]
	if p == nil {
		return nil, missing("Scheduling policy", text)
	}
	return p, nil
}

// updateSchedulingPolicy replaces the shares of a policy. Queues that use the policy are affected
// at once. Shares cannot be removed altogether: a request without any changes nothing.
func (ps policies) updateSchedulingPolicy(c *call.Call,
	in *awsbatch.UpdateSchedulingPolicyInput) (*awsbatch.UpdateSchedulingPolicyOutput, error) {
	if err := cmp.Or(checkQuotaPolicy(in.FairsharePolicy, in.QuotaSharePolicy), checkShares(in.FairsharePolicy),
		ps.check(c)); err != nil {
		return nil, err
	}
	return &awsbatch.UpdateSchedulingPolicyOutput{}, ps.backend.Change(func(m *model.Model) ([]model.Event, error) {
		p, err := policyNamed(m, in.Arn)
		if err == nil && (p.Quota != nil && in.FairsharePolicy != nil || p.Quota == nil && in.QuotaSharePolicy != nil) {
			err = wire.ClientException("The type of scheduling policy %s cannot be changed.", p.Name)
		}
		return []model.Event{{PolicyUpdated: &model.Shape[*awsbatch.UpdateSchedulingPolicyInput]{V: in}}}, err
	})
}

// deleteSchedulingPolicy removes a policy that no queue uses.
func (ps policies) deleteSchedulingPolicy(c *call.Call,
	in *awsbatch.DeleteSchedulingPolicyInput) (*awsbatch.DeleteSchedulingPolicyOutput, error) {
	return &awsbatch.DeleteSchedulingPolicyOutput{}, ps.backend.Change(func(m *model.Model) ([]model.Event, error) {
		p, err := policyNamed(m, in.Arn)
		if err != nil {
			return nil, missing("Scheduling policy", in.Arn)
		}
		if at := slices.IndexFunc(m.Queues, func(q *model.Queue) bool { return q.Policy == p.Name }); at >= 0 {
			return nil, wire.ClientException("Cannot delete, scheduling policy %s is used by job queue %s.", p.Name,
				m.Queues[at].Name)
		}
		return []model.Event{{Deleted: &model.Deletion{Resource: model.ResourceOf(model.KindPolicy, p.Name)}}}, nil
	})
}

// describeSchedulingPolicies returns the policies of the request in its order, at most 100,
// without unknown ones.
func (ps policies) describeSchedulingPolicies(_ *call.Call,
	in *awsbatch.DescribeSchedulingPoliciesInput) (*awsbatch.DescribeSchedulingPoliciesOutput, error) {
	switch {
	case len(in.Arns) == 0:
		return nil, wire.ClientException("arns is required.")
	case len(in.Arns) > 100:
		return nil, wire.ClientException("Maximum number of scheduling policies supported is 100")
	}
	m, done := ps.backend.View()
	defer done()
	out := &awsbatch.DescribeSchedulingPoliciesOutput{SchedulingPolicies: []types.SchedulingPolicyDetail{}}
	for _, text := range in.Arns {
		if p := m.Policies[model.ResourceName(text, model.KindPolicy)]; p != nil {
			r := model.ResourceOf(model.KindPolicy, p.Name)
			out.SchedulingPolicies = append(out.SchedulingPolicies, types.SchedulingPolicyDetail{
				Arn: aws.String(r.ARN()), Name: aws.String(p.Name), FairsharePolicy: describePolicy(p),
				QuotaSharePolicy: p.Quota, Tags: model.Merged(nil, m.Tags[r])})
		}
	}
	return out, nil
}

// listSchedulingPolicies returns the ARNs of the policies, by name.
func (ps policies) listSchedulingPolicies(_ *call.Call,
	in *awsbatch.ListSchedulingPoliciesInput) (*awsbatch.ListSchedulingPoliciesOutput, error) {
	m, done := ps.backend.View()
	defer done()
	page, next, err := call.Page(call.SortedKeys(m.Policies), in.MaxResults, 100, in.NextToken,
		func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	out := &awsbatch.ListSchedulingPoliciesOutput{NextToken: next,
		SchedulingPolicies: []types.SchedulingPolicyListingDetail{}}
	for _, name := range page {
		out.SchedulingPolicies = append(out.SchedulingPolicies,
			types.SchedulingPolicyListingDetail{Arn: aws.String(model.ARN(model.KindPolicy, name))})
	}
	return out, nil
}
