package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// conditions are the random circumstances of a run: where EC2 lacks capacity, and how long instances and jobs take.
type conditions struct {
	s       *Simulator
	rand    *rand.Rand
	scarce  []bool    // of each environment
	pool    []float64 // of each environment
	factors []float64 // of each Durations
	rate    float64   // of the jobs with a Chance, as a part of the usual one
}

// newConditions draws the conditions that hold for a whole run.
func newConditions(s *Simulator, seed uint64) conditions {
	c := conditions{s: s, rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	for _, e := range s.state.Environments {
		chance := s.state.Scaling.Scarce
		if e.IsSpot() {
			chance *= 2
		}
		c.scarce = append(c.scarce, c.rand.Float64() < chance)
		c.pool = append(c.pool, c.rand.Float64())
	}
	for _, v := range s.estimates {
		c.factors = append(c.factors, v.factor(c.rand))
	}
	if s.state.RateSpread > 0 {
		c.rate = math.Exp(s.state.RateSpread * c.rand.NormFloat64())
	}
	return c
}

// lognormal draws with a median and a spread.
func lognormal(r *rand.Rand, median int64, spread float64) int64 {
	if median <= 0 || spread <= 0 {
		return max(median, 0)
	}
	return int64(float64(median) * math.Exp(spread*r.NormFloat64()))
}

// boot draws how long an instance of a type takes in an environment.
func (c *conditions) boot(environment int, t InstanceType) int64 {
	s := &c.s.state.Scaling
	median := s.Boot
	if t.Size.GPUs > 0 {
		median = s.BootGPU
	}
	ms := lognormal(c.rand, median, s.BootSpread)
	if c.scarce[environment] {
		ms = int64(float64(ms) * s.ScarceFactor)
	}
	return ms
}

// startDelay draws how long a container takes to start.
func (c *conditions) startDelay(environment int) int64 {
	s := &c.s.state.Scaling
	if c.s.state.Environments[environment].IsFargate() {
		return lognormal(c.rand, s.StartFargate, s.StartSpread)
	}
	return lognormal(c.rand, s.Start, s.StartSpread)
}

// choose returns the index of the instance type that an environment starts next for n jobs of a size; -1 if none
// fits. room is what maxvCpus leaves, in thousandths of a vCPU.
func (c *conditions) choose(environment int, need model.Amount, n, room int64) int {
	e := &c.s.state.Environments[environment]
	fitting := c.s.fittingTypes(environment, need)
	if len(fitting) == 0 || room <= 0 {
		return -1
	}
	within := func(i int) bool { return e.Types[i].Size.MilliCPU <= room }
	if !slices.ContainsFunc(fitting, within) {
		if e.keepsLimit() {
			return -1
		}
		// By one instance at most, so by the smallest that fits.
		return slices.MinFunc(fitting,
			func(a, b int) int { return cmp.Compare(e.Types[a].Size.MilliCPU, e.Types[b].Size.MilliCPU) })
	}
	switch e.Strategy {
	case types.CRAllocationStrategySpotCapacityOptimized, types.CRAllocationStrategySpotPriceCapacityOptimized:
		pools := fitting // by price per vCPU
		if e.Strategy == types.CRAllocationStrategySpotPriceCapacityOptimized {
			pools = fitting[:(len(fitting)+1)/2]
		}
		// The pool of this draw, else the first that maxvCpus allows.
		if i := pools[int(c.pool[environment]*float64(len(pools)))]; within(i) {
			return i
		}
	case types.CRAllocationStrategyBestFit, "":
		// The cheapest instance for one job, whatever the number of jobs.
		best := -1
		for _, i := range fitting {
			if within(i) && (best < 0 || cmp.Or(cmp.Compare(e.Types[i].Hour, e.Types[best].Hour),
				cmp.Compare(e.Types[i].Size.MilliCPU, e.Types[best].Size.MilliCPU)) < 0) {
				best = i
			}
		}
		return best
	}
	// BEST_FIT_PROGRESSIVE: the lowest price per vCPU. Sizes of a family have the same; the largest that the
	// jobs fill is first.
	best := -1
	for _, i := range fitting {
		if !within(i) {
			continue
		}
		if best >= 0 && !samePrice(e.Types[i], e.Types[best]) {
			break
		}
		fills := perInstance(e.Types[i].Size, need) <= n
		if best < 0 || fills && e.Types[i].Size.MilliCPU > e.Types[best].Size.MilliCPU {
			best = i
		}
	}
	return best
}

// perInstance returns how many jobs of a size an amount fits.
func perInstance(size, need model.Amount) int64 {
	n := int64(math.MaxInt32)
	for _, d := range [...]struct{ have, want int64 }{{size.MilliCPU, need.MilliCPU}, {size.MemoryMiB, need.MemoryMiB},
		{size.GPUs, need.GPUs}} {
		if d.want > 0 {
			n = min(n, d.have/d.want)
		}
	}
	return n
}
