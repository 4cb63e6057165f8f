package forecast

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/local/model"
)

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
		*free = model.Amount{MilliCPU: free.MilliCPU - k*need.MilliCPU, MemoryMiB: free.MemoryMiB - k*need.MemoryMiB,
			GPUs: free.GPUs - k*need.GPUs}
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
	i := r.fleet.add(environment, t, r.now)
	r.offer(&r.fleet.instances[i], 1)
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
	if e := &r.s.state.Environments[v.environment]; e.IsSpot() && e.ReclaimsPerHour > 0 {
		rate := e.ReclaimsPerHour
		hours := r.rand.ExpFloat64() / rate
		r.push(pending{at: r.now + int64(min(hours*3_600_000, 1<<50)), kind: dueReclaim, instance: int32(i),
			stamp: v.life})
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
