package forecast

import (
	"cmp"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// adopt brings a run to the time of its State: the past usage of shares, the jobs that run, and the instances in
// service. Which instances there are is unknown: AWS Batch reports only their vCPUs.
func (r *run) adopt() {
	for _, v := range r.past() {
		v()
	}
	if r.s.local {
		return
	}
	for i := range r.s.state.Environments {
		r.fill(i)
	}
}

// past returns the starts and ends before the time of the State, in the order of time.
func (r *run) past() []func() {
	type moment struct {
		at int64
		do func()
	}
	var all []moment
	s := r.s.state
	for i := range s.Past {
		p := &s.Past[i]
		ended := p.Started + p.Exact
		if p.Queue < 0 || p.Queue >= len(s.Queues) || s.Queues[p.Queue].Policy == nil || ended > s.Now {
			continue // only shares have a usage
		}
		t := r.dispatcher.NewTask(int64(-1-i), model.JobSpec{Queue: s.Queues[p.Queue].Name, Share: p.Share,
			Need: model.Amount{MilliCPU: p.Need.MilliCPU}})
		all = append(all, moment{p.Started, func() { r.dispatcher.Adopt(p.Started, t, nil) }},
			moment{ended, func() { r.dispatcher.Finish(ended, t, nil) }})
	}
	for i := range s.Jobs {
		if s.Jobs[i].Started > 0 {
			all = append(all, moment{s.Jobs[i].Started, func() { r.resume(i) }})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	do := make([]func(), len(all))
	for i, m := range all {
		do[i] = m.do
	}
	return do
}

// resume adds a job that runs.
func (r *run) resume(job int) {
	s := r.s.state
	j := &s.Jobs[job]
	environment, at := r.s.whereabouts(job), -1
	switch {
	case environment < 0:
		return // a job of another kind of environment: nothing waits for its capacity
	case r.s.local:
		at = 0
		r.fleet.occupy(0, j.Need, 1)
	case !s.Environments[environment].IsFargate():
		if at = r.instanceFor(environment, j.Need); at < 0 {
			return
		}
		r.fleet.occupy(at, j.Need, 1)
	}
	started := min(j.Started, s.Now)
	r.dispatcher.Adopt(started, r.task(job), r.handles[environment])
	r.occupy(job, environment, at, started, s.Now-started)
	r.emit(Event{At: started, Kind: Started, Job: job, Environment: environment, Instance: at})
}

// whereabouts returns the environment of a running job: as AWS Batch reports it, else the first that fits.
func (s *Simulator) whereabouts(job int) int {
	state := s.state
	j := &state.Jobs[job]
	if at := slices.IndexFunc(state.Environments,
		func(e Environment) bool { return e.Name == j.Environment }); at >= 0 {
		return at
	}
	if s.local {
		names := state.Queues[j.Queue].Environments
		return slices.IndexFunc(state.Environments, func(e Environment) bool {
			return len(names) > 0 &&
				e.Name == names[0]
		})
	}
	for _, e := range s.shapes[s.shapeOf[job]].environments {
		if state.Environments[e].IsFargate() || len(s.fittingTypes(e, j.Need)) > 0 {
			return e
		}
	}
	return -1
}

// instanceFor returns an instance in service that fits a running job. It adds one if there is none.
func (r *run) instanceFor(environment int, need model.Amount) int {
	for _, i := range r.fleet.serving[environment] {
		if r.fleet.frees[i].Covers(need) {
			return i
		}
	}
	t := r.choose(environment, need, 1, math.MaxInt64)
	if t < 0 {
		return -1
	}
	i := r.fleet.add(environment, t, r.now)
	r.offer(&r.fleet.instances[i], 1)
	r.fleet.open(i)
	return i
}

// fill adds the instances of an environment that are in service without a job, and those of minvCpus.
func (r *run) fill(environment int) {
	e := &r.s.state.Environments[environment]
	if e.IsFargate() || len(e.Types) == 0 {
		return
	}
	for _, i := range r.fleet.serving[environment] {
		r.idle(i)
	}
	for wanted := max(e.DesiredvCpus, e.MinvCpus) * 1000; r.fleet.vcpus[environment] < wanted; {
		t := e.spare(wanted - r.fleet.vcpus[environment])
		ready := r.now
		if r.s.awaits(environment) {
			// Jobs that fit would not wait beside free instances, so these still boot.
			ready += int64(r.rand.Float64() * float64(r.boot(environment, e.Types[t])))
		}
		r.launch(environment, t, ready)
	}
}

// spare returns the type of an instance in service of which only the vCPUs are known: the largest that does not
// exceed them, else the smallest.
func (e *Environment) spare(vcpus int64) int {
	best := -1
	list := e.Types
	for i, t := range list {
		if t.Size.MilliCPU <= vcpus && (best < 0 || t.Size.MilliCPU > list[best].Size.MilliCPU) {
			best = i
		}
	}
	if best >= 0 {
		return best
	}
	best = 0
	for i, t := range list {
		if t.Size.MilliCPU < list[best].Size.MilliCPU {
			best = i
		}
	}
	return best
}

// awaits reports whether a job waits for an environment.
func (s *Simulator) awaits(environment int) bool {
	for i := range s.state.Jobs {
		j := &s.state.Jobs[i]
		if j.Submitted > s.state.Now {
			break
		}
		if j.Started == 0 && slices.Contains(s.shapes[s.shapeOf[i]].environments, environment) &&
			j.Platform != types.PlatformCapabilityFargate {
			return true
		}
	}
	return false
}
