package model

import (
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Policy is a scheduling policy: fair-share, or for service jobs one of quota shares.
type Policy struct {
	Name  string
	Share *types.FairsharePolicy // may be nil: all shares weigh the same
	// Quota is nil for a fair-share policy. A policy never changes its type.
	Quota *types.QuotaSharePolicy
}

// PolicyTable has the scheduling policies, by name.
type PolicyTable struct {
	Policies map[string]*Policy
}

// createPolicy adds a scheduling policy.
func (s *PolicyTable) createPolicy(in *awsbatch.CreateSchedulingPolicyInput) (Resource, error) {
	name := aws.ToString(in.Name)
	if name == "" || s.Policies[name] != nil {
		return "", fmt.Errorf("create scheduling policy %q: it exists, or has no name", name)
	}
	s.Policies[name] = &Policy{name, in.FairsharePolicy, in.QuotaSharePolicy}
	return ResourceOf(KindPolicy, name), nil
}

// updatePolicy replaces the shares of a policy, if the update has any.
func (s *PolicyTable) updatePolicy(in *awsbatch.UpdateSchedulingPolicyInput) error {
	p := s.Policies[ResourceName(aws.ToString(in.Arn), KindPolicy)]
	if p == nil {
		return fmt.Errorf("update scheduling policy %q: no such policy", aws.ToString(in.Arn))
	}
	if in.FairsharePolicy != nil { // one that was set cannot be removed
		p.Share = in.FairsharePolicy
	}
	if in.QuotaSharePolicy != nil {
		p.Quota = in.QuotaSharePolicy
	}
	return nil
}

// leastDecay is the decay period in seconds for shareDecaySeconds 0 (API reference of
// FairsharePolicy).
const leastDecay = 600

// decay returns the decay period in milliseconds. p may be nil.
func (p *Policy) decay() int64 {
	seconds := int32(0)
	if p != nil && p.Share != nil {
		seconds = aws.ToInt32(p.Share.ShareDecaySeconds)
	}
	if seconds == 0 {
		seconds = leastDecay
	}
	return int64(seconds) * 1000
}

// weight returns the weight factor of a share identifier, 1 by default.
func (p *Policy) weight(id string) float64 {
	if p.Share == nil {
		return 1
	}
	for _, s := range p.Share.ShareDistribution {
		if Glob(s.ShareIdentifier, id) && s.WeightFactor != nil {
			return float64(*s.WeightFactor)
		}
	}
	return 1
}

// usable returns the part of capacity, in thousandths of a vCPU, that active shares may use
// together: computeReservation keeps (reservation/100)^active of it free.
func (p *Policy) usable(capacity int64, active int) int64 {
	reservation := int32(0)
	if p.Share != nil {
		reservation = aws.ToInt32(p.Share.ComputeReservation)
	}
	return capacity - int64(float64(capacity)*math.Pow(float64(reservation)/100, float64(active)))
}
