package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Scaling has the figures of the scale-up model that AWS Batch does not report. All are draws, and
// the more they spread, the wider is the forecast. The rules are those of the AWS Batch user guide and API reference:
//
//   - AWS Batch "regularly" compares the RUNNABLE jobs with the capacity of the environments and starts instances
//     for them (AWS HPC workshops, "AWS Batch: Job lifecycle"). How often is not documented.
//   - The environments of a queue are tried in their order. The next one takes what the first cannot provide (user
//     guide, "Compute environments").
//   - BEST_FIT starts the cheapest instance type that fits the job. BEST_FIT_PROGRESSIVE prefers types with lower
//     cost per vCPU. SPOT_CAPACITY_OPTIMIZED prefers types that EC2 interrupts less, and
//     SPOT_PRICE_CAPACITY_OPTIMIZED regards price too (API reference of ComputeResource, allocationStrategy).
//     Which Spot pools are deep is unknown, so a draw chooses.
//   - All but BEST_FIT on demand may exceed maxvCpus, by one instance at most (same place, maxvCpus).
//   - minvCpus stay in service, also without jobs (same place, minvCpus).
//   - An instance that had jobs is kept for minScaleDownDelayMinutes after the last one (API reference of
//     ComputeScalingPolicy). Without this policy, AWS Batch stops idle instances soon; how soon is not documented.
type Scaling struct {
	// Notice is how long AWS Batch takes to notice RUNNABLE jobs: between the two, uniformly.
	NoticeLeast, NoticeMost int64
	// Boot is how long an instance takes from the decision until it runs jobs: a lognormal distribution with this
	// median and the standard deviation of the logarithm. BootGPU is its median for types with GPUs, whose AMI
	// is larger.
	Boot, BootGPU int64
	BootSpread    float64
	// Scarce is the probability, for each draw and environment, that EC2 lacks capacity for now. Instances then
	// take ScarceFactor times as long. Spot environments have twice the probability.
	Scarce, ScarceFactor float64
	// Idle is how long an instance stays without jobs and without a scaling policy: between half of it and
	// one and a half.
	Idle int64
	// Start is the median time from placement until the container runs, and StartFargate that of Fargate, which
	// has no cached image. StartSpread is the standard deviation of the logarithm.
	Start, StartFargate int64
	StartSpread         float64
}

// DefaultScaling are assumptions: orders of magnitude that users report, not figures of AWS. An EC2 instance with
// an ECS AMI registers one to five minutes after the request, one with GPUs later; Fargate starts in about half
// a minute. A median and a spread of 0.4 put nine draws of ten between one half and the double.
func DefaultScaling() Scaling {
	return Scaling{
		NoticeLeast: 10_000, NoticeMost: 60_000,
		Boot: 150_000, BootGPU: 240_000, BootSpread: 0.4,
		Scarce: 0.05, ScarceFactor: 6,
		Idle:  300_000,
		Start: 4_000, StartFargate: 35_000, StartSpread: 0.5,
	}
}

// lognormal draws with a median and a spread.
func lognormal(r *rand.Rand, median int64, spread float64) int64 {
	if median <= 0 || spread <= 0 {
		return max(median, 0)
	}
	return int64(float64(median) * math.Exp(spread*r.NormFloat64()))
}

// boot draws how long an instance of a type takes in an environment.
func (r *run) boot(environment int, t InstanceType) int64 {
	s := &r.s.state.Scaling
	median := s.Boot
	if t.Size.GPUs > 0 {
		median = s.BootGPU
	}
	ms := lognormal(r.rand, median, s.BootSpread)
	if r.scarce[environment] {
		ms = int64(float64(ms) * s.ScarceFactor)
	}
	return ms
}

// startDelay draws how long a container takes to start.
func (r *run) startDelay(environment int) int64 {
	s := &r.s.state.Scaling
	if r.s.state.Environments[environment].IsFargate() {
		return lognormal(r.rand, s.StartFargate, s.StartSpread)
	}
	return lognormal(r.rand, s.Start, s.StartSpread)
}

// perInstance returns how many jobs of a size an amount fits.
func perInstance(size, need model.Amount) int64 {
	n := int64(math.MaxInt32)
	for _, d := range [...]struct{ have, want int64 }{{size.MilliCPU, need.MilliCPU}, {size.MemoryMiB, need.MemoryMiB}, {size.GPUs, need.GPUs}} {
		if d.want > 0 {
			n = min(n, d.have/d.want)
		}
	}
	return n
}

// choose returns the index of the instance type that an environment starts next for n jobs of a size; -1 if none
// fits. room is what maxvCpus leaves, in thousandths of a vCPU.
func (r *run) choose(environment int, need model.Amount, n, room int64) int {
	e := &r.s.state.Environments[environment]
	fitting := r.s.fittingTypes(environment, need)
	if len(fitting) == 0 || room <= 0 {
		return -1
	}
	within := func(i int) bool { return e.Types[i].Size.MilliCPU <= room }
	if !slices.ContainsFunc(fitting, within) {
		if e.Strategy == types.CRAllocationStrategyBestFit && !e.IsSpot() || e.Strategy == "" && !e.IsSpot() {
			return -1
		}
		// By one instance at most, so by the smallest that fits.
		return slices.MinFunc(fitting, func(a, b int) int { return cmp.Compare(e.Types[a].Size.MilliCPU, e.Types[b].Size.MilliCPU) })
	}
	switch e.Strategy {
	case types.CRAllocationStrategySpotCapacityOptimized, types.CRAllocationStrategySpotPriceCapacityOptimized:
		pools := fitting // by price per vCPU
		if e.Strategy == types.CRAllocationStrategySpotPriceCapacityOptimized {
			pools = fitting[:(len(fitting)+1)/2]
		}
		// The pool of this draw, else the first that maxvCpus allows.
		if i := pools[int(r.pool[environment]*float64(len(pools)))]; within(i) {
			return i
		}
	case types.CRAllocationStrategyBestFit, "":
		// The cheapest instance for one job, whatever the number of jobs.
		best := -1
		for _, i := range fitting {
			if within(i) && (best < 0 || cmp.Or(cmp.Compare(e.Types[i].Hour, e.Types[best].Hour), cmp.Compare(e.Types[i].Size.MilliCPU, e.Types[best].Size.MilliCPU)) < 0) {
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

// samePrice reports whether two types cost the same for a vCPU, within a per cent.
func samePrice(a, b InstanceType) bool {
	x, y := a.Hour/float64(a.Size.MilliCPU), b.Hour/float64(b.Size.MilliCPU)
	return math.Abs(x-y) <= 0.01*max(x, y)
}

// scale starts the instances that the RUNNABLE jobs need, queue by queue in the order of their priority.
func (r *run) scale() {
	r.scaling = false
	coming := map[int][]model.Amount{} // the free parts of booting instances, by environment
	for _, i := range r.fleet.booting {
		v := &r.fleet.instances[i]
		coming[v.environment] = append(coming[v.environment], r.fleet.frees[i])
	}
	for _, shape := range r.s.shapesByPriority {
		n := int64(r.waiting[shape])
		for _, environment := range r.s.shapes[shape].environments {
			if n <= 0 {
				break
			}
			n = r.scaleFor(environment, r.s.shapes[shape].need, n, coming)
		}
	}
}

// scaleFor starts the instances of one environment for n jobs of a size, and returns how many jobs it leaves.
func (r *run) scaleFor(environment int, need model.Amount, n int64, coming map[int][]model.Amount) int64 {
	e := &r.s.state.Environments[environment]
	if r.s.local || e.IsFargate() {
		return n
	}
	take := func(free *model.Amount) {
		k := min(perInstance(*free, need), n)
		*free = model.Amount{MilliCPU: free.MilliCPU - k*need.MilliCPU, MemoryMiB: free.MemoryMiB - k*need.MemoryMiB, GPUs: free.GPUs - k*need.GPUs}
		n -= k
	}
	for i := range coming[environment] {
		if n <= 0 {
			return 0
		}
		take(&coming[environment][i])
	}
	for n > 0 {
		t := r.choose(environment, need, n, e.MaxvCpus*1000-r.fleet.vcpus[environment])
		if t < 0 {
			return n
		}
		size := e.Types[t].Size
		r.launch(environment, t, r.now+r.boot(environment, e.Types[t]))
		take(&size)
		coming[environment] = append(coming[environment], size)
	}
	return n
}

// launch starts an instance that is ready at a time.
func (r *run) launch(environment, t int, ready int64) {
	i := r.fleet.add(environment, t)
	r.pay(&r.fleet.instances[i], 1)
	r.emit(Event{At: r.now, Kind: Launched, Job: -1, Environment: environment, Instance: i})
	if ready <= r.now {
		r.ready(i)
		return
	}
	r.fleet.booting = append(r.fleet.booting, i)
	r.push(pending{at: ready, kind: dueReady, instance: int32(i)})
}

// ready puts an instance into service.
func (r *run) ready(i int) {
	if at := slices.Index(r.fleet.booting, i); at >= 0 {
		r.fleet.booting = slices.Delete(r.fleet.booting, at, at+1)
	}
	r.fleet.open(i)
	v := &r.fleet.instances[i]
	r.emit(Event{At: r.now, Kind: Ready, Job: -1, Environment: v.environment, Instance: i})
	r.idle(i)
	if rate := r.s.state.Environments[v.environment].ReclaimsPerHour; rate > 0 {
		hours := r.rand.ExpFloat64() / rate
		r.push(pending{at: r.now + int64(min(hours*3_600_000, 1<<50)), kind: dueReclaim, instance: int32(i), stamp: v.life})
	}
}

// idle notes that an instance has no jobs from now on, and when it may go.
func (r *run) idle(i int) {
	v := &r.fleet.instances[i]
	if r.s.local || len(v.jobs) > 0 {
		return
	}
	keep := int64(0)
	if e := &r.s.state.Environments[v.environment]; e.KeepIdle > 0 && v.hadJobs {
		keep = e.KeepIdle
	} else {
		keep = int64(float64(r.s.state.Scaling.Idle) * (0.5 + r.rand.Float64()))
	}
	r.push(pending{at: r.now + keep, kind: dueIdle, instance: int32(i), stamp: v.stamp})
}

// mayGo reports whether minvCpus allows that an instance goes.
func (r *run) mayGo(i int) bool {
	v := &r.fleet.instances[i]
	return r.fleet.vcpus[v.environment]-v.size.MilliCPU >= r.s.state.Environments[v.environment].MinvCpus*1000
}
