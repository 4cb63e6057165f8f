package local

import (
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// policy is a fair-share scheduling policy.
type policy struct {
	name  string
	share *types.FairsharePolicy // may be nil: all shares weigh the same
}

func (m *model) createPolicy(in *awsbatch.CreateSchedulingPolicyInput) error {
	name := aws.ToString(in.Name)
	if name == "" || m.policies[name] != nil {
		return fmt.Errorf("create scheduling policy %q: it exists, or has no name", name)
	}
	m.policies[name] = &policy{name, in.FairsharePolicy}
	m.tag(resourceOf(kindPolicy, name), in.Tags)
	return nil
}

func (m *model) updatePolicy(in *awsbatch.UpdateSchedulingPolicyInput) error {
	p := m.policies[resourceName(aws.ToString(in.Arn), kindPolicy)]
	if p == nil {
		return fmt.Errorf("update scheduling policy %q: no such policy", aws.ToString(in.Arn))
	}
	if in.FairsharePolicy != nil { // one that was set cannot be removed
		p.share = in.FairsharePolicy
	}
	return nil
}

// leastDecay is the decay period in seconds that shareDecaySeconds 0 stands for
// (API reference of FairsharePolicy).
const leastDecay = 600

// decay is the decay period of a queue's policy in milliseconds.
func (m *model) decay(queue string) int64 {
	seconds := int32(0)
	if p := m.policyOf(queue); p != nil && p.share != nil {
		seconds = aws.ToInt32(p.share.ShareDecaySeconds)
	}
	if seconds == 0 {
		seconds = leastDecay
	}
	return int64(seconds) * 1000
}

// policyOf is the policy of a queue; nil: first in, first out.
func (m *model) policyOf(name string) *policy {
	q, ok := m.queue(name)
	if !ok || q.policy == "" {
		return nil
	}
	return m.policies[q.policy]
}

// weight is the weight factor of a share identifier, 1 where none is given.
func (p *policy) weight(id string) float64 {
	if p.share == nil {
		return 1
	}
	for _, s := range p.share.ShareDistribution {
		if glob(s.ShareIdentifier, id) && s.WeightFactor != nil {
			return float64(*s.WeightFactor)
		}
	}
	return 1
}

// usable is the part of capacity, in thousandths of a vCPU, that active shares may
// use together: computeReservation keeps (reservation/100)^active of it free.
func (p *policy) usable(capacity int64, active int) int64 {
	reservation := int32(0)
	if p.share != nil {
		reservation = aws.ToInt32(p.share.ComputeReservation)
	}
	return capacity - int64(float64(capacity)*math.Pow(float64(reservation)/100, float64(active)))
}
