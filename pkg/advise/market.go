package advise

import (
	"math"
	"slices"
	"strconv"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Market combines the queues of jobs with the prices of their machines.
type Market struct {
	// Platform is the platform file, and State what the target reports; either may be nil.
	Platform *document.Platform
	State    *plan.TargetState
	// Prices are nil for those of the catalog.
	Prices *catalog.Prices
	// Queue replaces the queue of every job; "" for its own.
	Queue string
	// Fargate is for jobs that only run there, and Arch their architecture; "" is unknown.
	Fargate bool
}

// Saving compares two sizes in the job's queue.
type Saving struct {
	// HourBefore and HourAfter are the cost of an hour of the job's share of the smallest machine, on demand, in US
	// dollars. Unknown says why there is no price.
	HourBefore float64 `json:"usdPerHourBefore"`
	HourAfter  float64 `json:"usdPerHourAfter"`
	Unknown    string  `json:"unknown,omitempty"`
	// Hours are those of the attempts, USDBefore their cost, and USD the difference: negative for a larger size.
	Hours     float64 `json:"hours"`
	USDBefore float64 `json:"usdBefore"`
	USD       float64 `json:"usd"`
	// Places are the environments of the queue.
	Places []Place `json:"places,omitempty"`

	before, after cost.Rate
}

// Place compares two sizes of a job in one compute environment.
type Place struct {
	Environment string `json:"environment,omitempty"`
	// Before and After are the smallest instance types that fit; "" on Fargate. PerBefore and PerAfter are how many
	// such jobs one of them runs at once, and AtOnceBefore and AtOnceAfter how many the environment runs up to its
	// maxvCpus; 0 is unknown.
	Before       string `json:"before,omitempty"`
	After        string `json:"after,omitempty"`
	PerBefore    int    `json:"perInstanceBefore,omitempty"`
	PerAfter     int    `json:"perInstanceAfter,omitempty"`
	AtOnceBefore int    `json:"atOnceBefore,omitempty"`
	AtOnceAfter  int    `json:"atOnceAfter,omitempty"`
}

// total sets the saving for some attempts.
func (s *Saving) total(attempts []history.Attempt) {
	for _, a := range attempts {
		s.Hours += a.Duration().Hours()
		if seconds := a.Duration().Seconds(); s.Unknown == "" && a.StartedAt > 0 {
			before := s.before.ShareUSD(seconds)
			s.USDBefore += before
			s.USD += before - s.after.ShareUSD(seconds)
		}
	}
}

// review places a job of some size in a queue.
func (m Market) review(queue string, r history.Resources, fargate bool) plan.JobReview {
	name := "advise"
	if m.Queue != "" {
		queue = m.Queue
	}
	need := func(typ types.ResourceType, value string) types.ResourceRequirement {
		return types.ResourceRequirement{Type: typ, Value: &value}
	}
	requirements := []types.ResourceRequirement{need(types.ResourceTypeVcpu, number(r.VCPUs)),
		need(types.ResourceTypeMemory, strconv.FormatInt(r.MemoryMiB, 10))}
	if r.GPUs > 0 {
		requirements = append(requirements, need(types.ResourceTypeGpu, strconv.Itoa(r.GPUs)))
	}
	register := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{ResourceRequirements: requirements}}
	if fargate {
		register.PlatformCapabilities = []types.PlatformCapability{types.PlatformCapabilityFargate}
	}
	one := &plan.Plan{Name: name, Jobs: []*plan.Job{{Name: name, Register: register, Queue: plan.Choice{Queue: queue},
		Submit: &awsbatch.SubmitJobInput{JobName: &name, JobQueue: &queue, JobDefinition: &name}}}}
	return one.Review(m.State, m.Platform, m.Prices).Jobs[0]
}

// number writes a number of vCPUs as AWS does.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// isFargate reports whether jobs of a queue run on Fargate.
func (m Market) isFargate(queue string, r history.Resources) bool {
	if m.Fargate {
		return true
	}
	fits := m.review(queue, r, false).Environments
	return len(fits) > 0 && !slices.ContainsFunc(fits, func(f plan.EnvironmentFit) bool { return !f.IsFargate() })
}

// snapped returns a proposal with the sizes that the machines of the queue offer. p.MemoryMiB is the least that it
// needs.
func (m Market) snapped(queue string, now history.Resources, p Proposal) *Proposal {
	fargate := m.isFargate(queue, now)
	if fargate && now.VCPUs > 0 {
		if vcpus, memory, ok := catalog.FargateFit(p.VCPUs, int(p.MemoryMiB)); ok {
			p.VCPUs, p.MemoryMiB = vcpus, int64(memory)
		}
	} else {
		p.MemoryMiB = m.onInstances(queue, now, p)
	}
	size := history.Resources{VCPUs: p.VCPUs, MemoryMiB: p.MemoryMiB, GPUs: now.GPUs}
	p.Saving = m.saving(m.review(queue, now, fargate), m.review(queue, size, fargate))
	return &p
}

// onInstances returns the memory rounded to a plain figure, or less if an instance then fits one job more: UsableMiB
// divided by the number of jobs, which the ECS agent leaves to each.
func (m Market) onInstances(queue string, now history.Resources, p Proposal) int64 {
	rounded := roundedMiB(p.MemoryMiB)
	size := func(mib int64) history.Resources {
		return history.Resources{VCPUs: p.VCPUs, MemoryMiB: mib, GPUs: now.GPUs}
	}
	tight, loose := m.review(queue, size(p.MemoryMiB), false), m.review(queue, size(rounded), false)
	for i, fit := range tight.Environments {
		if !fit.Proven() || fit.IsFargate() || i >= len(loose.Environments) {
			continue
		}
		held := fit.Holds[0]
		other := loose.Environments[i]
		if other.Proven() && other.Holds[0].Instance.Name == held.Instance.Name &&
			other.Holds[0].PerInstance >= held.PerInstance {
			continue
		}
		rounded = min(rounded, max(p.MemoryMiB, int64(held.Instance.UsableMiB()/held.PerInstance)))
	}
	return rounded
}

// roundedMiB rounds up by at most 3 %: to 16 MiB below 1 GiB, to 64 MiB below 8 GiB, then to 256 MiB.
func roundedMiB(mib int64) int64 {
	unit := int64(16)
	switch {
	case mib > 8<<10:
		unit = 256
	case mib > 1<<10:
		unit = 64
	}
	return max(catalog.MinMemoryMiB, (mib+unit-1)/unit*unit)
}

// saving compares two placements.
func (m Market) saving(before, after plan.JobReview) *Saving {
	s := &Saving{}
	region, isLocal := "", false
	if m.State != nil {
		region, isLocal = m.State.Region, m.State.Local
	}
	old, size := cost.RateOf(before, m.Prices, region, isLocal), cost.RateOf(after, m.Prices, region, isLocal)
	switch {
	case old.Free != "":
		s.Unknown = old.Free
	case old.Unknown != "" || size.Unknown != "":
		s.Unknown = old.Unknown
		if s.Unknown == "" {
			s.Unknown = size.Unknown
		}
	default:
		s.HourBefore, s.HourAfter, s.before, s.after = old.Share, size.Share, old, size
	}
	for i, fit := range before.Environments {
		if i < len(after.Environments) && fit.Proven() && after.Environments[i].Proven() {
			s.Places = append(s.Places, placeOf(fit, after.Environments[i]))
		}
	}
	return s
}

// placeOf compares two fits of one environment.
func placeOf(before, after plan.EnvironmentFit) Place {
	b, a := before.Holds[0], after.Holds[0]
	return Place{Environment: before.Name, Before: b.Instance.Name, After: a.Instance.Name, PerBefore: b.PerInstance,
		PerAfter:     a.PerInstance,
		AtOnceBefore: before.AtOnce, AtOnceAfter: after.AtOnce}
}

// Parallel is by how much more jobs run at once in the environment that gains most: 2 for twice as many; 0 if it is
// unknown.
func (s *Saving) Parallel() (gain float64) {
	for _, p := range s.Places {
		if p.AtOnceBefore > 0 {
			gain = math.Max(gain, float64(p.AtOnceAfter)/float64(p.AtOnceBefore))
		}
	}
	return gain
}

// Rate returns what a job of this size costs in its queue. ok is false if nothing is known about the queue's machines
// or their prices.
func (m Market) Rate(queue string, r history.Resources) (rate cost.Rate, ok bool) {
	v := m.review(queue, r, m.isFargate(queue, r))
	if len(v.Environments) == 0 {
		return rate, false
	}
	rate = cost.RateOf(v, m.Prices, "", false)
	return rate, rate.Unknown == "" && rate.Free == "" && rate.On != ""
}
