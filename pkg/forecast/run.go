package forecast

import (
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// dispatcher returns a dispatcher without jobs, and its environments.
func (s *Simulator) dispatcher(f *fleet) (*model.Dispatcher, []*model.Environment) {
	var queues []*model.Queue
	var policies []*model.Policy
	var environments []*model.Environment
	capacity := model.Amount{}
	for _, e := range s.state.Environments {
		environments = append(environments, &model.Environment{Name: e.Name, Request: requestOf(e, s.local)})
		capacity.MilliCPU += e.MaxvCpus * 1000
	}
	if s.local {
		capacity = *s.state.Machine
	}
	for _, q := range s.state.Queues {
		v := &model.Queue{QueueSpec: model.QueueSpec{Name: q.Name, Priority: q.Priority, Environments: q.Environments}}
		if q.Policy != nil {
			v.Policy = q.Name
			policies = append(policies, &model.Policy{Name: q.Name, Share: q.Policy})
		}
		queues = append(queues, v)
	}
	return model.NewDispatcher(queues, environments, policies, capacity, f), environments
}

// placement is what a run knows of a job that runs.
type placement struct {
	started     int64
	from        int64 // when AWS begins to bill a Fargate task: at its placement, so before the image is there
	runs        bool
	instance    int32
	environment int16
	tries       uint16
}

// run is one simulation.
type run struct {
	conditions
	now         int64
	on          func(Event) bool
	stopped     bool
	fleet       *fleet
	dispatcher  *model.Dispatcher
	handles     []*model.Environment
	agenda      agenda
	order       uint32
	next        int // the next job to submit
	attempts    []placement
	live        map[int]*model.Task // the tasks of a large State
	waiting     []int32             // jobs of each shape that wait
	waits, runs int
	coarse      bool
	passed      int64 // when the scheduler last ran
	scaling     bool  // a decision about scaling is planned
	comesAt     int64 // the time of which comes tells
	comes       bool
	totals      Totals
}

// Totals are the sums of a run.
type Totals struct {
	// Until is when the run stopped.
	Until int64
	// Cost is in USD, VCPUHours is what instances and Fargate offered, UsedVCPUHours what jobs used of it.
	Cost, VCPUHours, UsedVCPUHours float64
	// Tasks is the part of Cost of each job that runs on Fargate; nil if no environment is on Fargate.
	Tasks []float64
	// Unstarted is how many jobs had not started when the run stopped.
	Unstarted int
	offered   int64 // thousandths of a vCPU now
	used      int64
}

// longest bounds a run without a limit, in case a queue never becomes empty: ten years.
const longest = 10 * 365 * 24 * 3_600_000

// Options are how long a run is and how exact.
type Options struct {
	// Until is when the run stops at the latest; 0 for no limit.
	Until int64
	// Coarse lets the scheduler run once for several jobs that end, while a queue is long: for each 400th
	// part of the waiting jobs. The jobs that start then count from the time at which their instance became free.
	Coarse bool
}

// Run simulates until no job is left, the time is over, or on returns false. on gets the events in the order in which
// they are decided. A Started has the time at which the container runs, which is later than its placement; the jobs
// that run at the start have times before it.
func (s *Simulator) Run(seed uint64, o Options, on func(Event) bool) Totals {
	r := s.start(seed, on)
	r.coarse = o.Coarse
	until, limited := o.Until, o.Until != 0
	if !limited {
		until = s.state.Now + longest
	}
	jobs := s.state.Jobs
	for !r.stopped {
		at := int64(math.MaxInt64)
		if len(r.agenda) > 0 {
			at = r.agenda[0].at
		}
		submits := r.next < len(jobs) && max(jobs[r.next].Submitted, s.state.Now) <= at
		switch {
		case submits:
			at = max(jobs[r.next].Submitted, s.state.Now)
		case len(r.agenda) == 0:
			at = until
		case r.next == len(jobs) && r.totals.used == 0 && !r.dispatcher.Waits():
			at = until // only idle instances are left
		}
		if at >= until {
			break
		}
		r.advance(at)
		if submits {
			r.submitAll(at)
		} else {
			r.happen(r.agenda.pop())
		}
	}
	if limited && !r.stopped {
		r.advance(until)
	}
	r.settle()
	r.totals.Until = r.now
	for _, n := range r.waiting {
		r.totals.Unstarted += int(n)
	}
	for _, j := range jobs[r.next:] {
		if j.Chance == 0 { // others have not come in this draw
			r.totals.Unstarted++
		}
	}
	return r.totals
}

// start returns a run at the time of its State, with the jobs that run.
func (s *Simulator) start(seed uint64, on func(Event) bool) *run {
	r := &run{conditions: newConditions(s, seed), now: s.state.Now, on: on, fleet: newFleet(s),
		attempts: make([]placement, len(s.state.Jobs)), live: map[int]*model.Task{},
		waiting: make([]int32, len(s.shapes))}
	if s.fargate {
		r.totals.Tasks = make([]float64, len(s.state.Jobs))
	}
	r.dispatcher, r.handles = s.dispatcher(r.fleet)
	if s.base != nil {
		r.dispatcher.CopyWaiting(s.base)
	}
	for i, v := range r.handles {
		r.fleet.environments[v] = i
	}
	r.adopt()
	r.skip()
	return r
}

// task returns the task of a job.
func (r *run) task(job int) *model.Task {
	if r.s.tasks != nil {
		return r.s.tasks[job]
	}
	t := r.live[job]
	if t == nil {
		t = r.s.newTask(r.dispatcher, job)
		r.live[job] = t
	}
	return t
}

func (r *run) push(p pending) {
	r.order++
	p.order = r.order
	r.agenda.push(p)
}

func (r *run) emit(e Event) {
	if r.on != nil && !r.stopped && !r.on(e) {
		r.stopped = true
	}
}

// advance moves the clock and adds up the vCPUs of the time.
func (r *run) advance(to int64) {
	hours := float64(to-r.now) / 3_600_000
	t := &r.totals
	t.VCPUHours += hours * float64(t.offered) / 1000
	t.UsedVCPUHours += hours * float64(t.used) / 1000
	r.now = to
}

// submitAll submits the jobs of a time and runs the scheduler.
func (r *run) submitAll(at int64) {
	isGuess := r.s.state.Jobs[r.next].Chance > 0
	r.enterAll(at)
	if !isGuess || !r.coarse || r.waits < coarseWaits || r.runs == 0 {
		r.schedule()
	}
}

// coarseWaits is how many jobs wait when a coarse run combines passes of the scheduler.
const coarseWaits = 400

// enterAll submits the jobs of a time.
func (r *run) enterAll(at int64) {
	jobs := r.s.state.Jobs
	for ; r.next < len(jobs) && max(jobs[r.next].Submitted, r.s.state.Now) == at && !r.stopped; r.next++ {
		if r.skip(); r.next == len(jobs) || max(jobs[r.next].Submitted, r.s.state.Now) != at {
			break
		}
		if jobs[r.next].Started > 0 {
			continue
		}
		copied := r.s.base != nil && jobs[r.next].Submitted <= r.s.state.Now // is in the queue from the start
		if !copied {
			r.s.enter(r.dispatcher, r.task(r.next), r.next, at)
		}
		if !r.s.Fits(r.next) {
			r.totals.Unstarted++
			continue
		}
		r.wait(r.next, 1)
		r.emit(Event{At: at, Kind: Submitted, Job: r.next, Environment: -1, Instance: -1})
	}
	r.skip()
}

// wait counts a job that waits (n is 1) or no longer does (n is -1).
func (r *run) wait(job int, n int32) {
	r.waiting[r.s.shapeOf[job]] += n
	r.waits += int(n)
}

// schedule runs one pass of the scheduler, and plans a decision about scaling if jobs wait.
func (r *run) schedule() {
	r.fleet.begin()
	placed := 0
	r.dispatcher.Schedule(r.now, func(t *model.Task, v *model.Environment) {
		r.begin(int(t.Job.Seq), r.fleet.environments[v], r.fleet.placed[placed])
		placed++
	})
	r.fleet.end()
	r.passed = r.now
	if !r.scaling && !r.s.local && r.mayScale() {
		s := &r.s.state.Scaling
		r.scaling = true
		r.push(pending{at: r.now + s.NoticeLeast + int64(r.rand.Float64()*float64(s.NoticeMost-s.NoticeLeast)),
			kind: dueScale})
	}
}

// mayScale reports whether a job waits for an environment that is below its maxvCpus.
func (r *run) mayScale() bool {
	for i, n := range r.waiting {
		if n == 0 {
			continue
		}
		for _, e := range r.s.shapes[i].environments {
			if v := &r.s.state.Environments[e]; !v.IsFargate() && r.fleet.vcpus[e] < v.MaxvCpus*1000 &&
				len(r.s.fittingTypes(e, r.s.shapes[i].need)) > 0 {
				return true
			}
		}
	}
	return false
}

// begin starts a job that the scheduler placed.
func (r *run) begin(job, environment, at int) {
	r.wait(job, -1)
	started := r.now
	if r.coarse && at >= 0 && r.fleet.instances[at].freed > r.passed {
		started = r.fleet.instances[at].freed
	}
	if !r.s.local {
		started += r.startDelay(environment)
	}
	r.occupy(job, environment, at, started, 0)
	r.emit(Event{At: started, Kind: Started, Job: job, Environment: environment, Instance: at})
}

// occupy records that a job runs, and plans its end.
func (r *run) occupy(job, environment, at int, started, elapsed int64) {
	a := &r.attempts[job]
	a.started, a.from, a.environment, a.instance, a.runs = started, min(r.now, started), int16(environment), int32(at),
		true
	a.tries++
	j := &r.s.state.Jobs[job]
	ms := j.Exact
	if ms <= 0 {
		ms = r.s.state.Durations[j.Durations].draw(r.rand, elapsed, r.factors[j.Durations], r.s.estimates[j.Durations])
	}
	r.push(pending{at: max(started+ms, r.now), kind: dueEnd, job: int32(job), stamp: uint32(a.tries)})
	r.charge(job, 1)
	r.runs++
	if at >= 0 && !r.s.local {
		v := &r.fleet.instances[at]
		v.jobs = append(v.jobs, int32(job))
	}
}

// charge adds (sign 1) or removes (sign -1) what a running job uses.
func (r *run) charge(job int, sign int64) {
	a, j := &r.attempts[job], &r.s.state.Jobs[job]
	r.totals.used += sign * j.Need.MilliCPU
	if a.instance < 0 {
		r.totals.offered += sign * j.Need.MilliCPU
	}
}

// bill adds the cost of a machine until now, and returns it. What it cost before the time of the State is no part of
// the run.
func (r *run) bill(m catalog.Meter, perHour float64, from int64) float64 {
	cost := m.USD(perHour, float64(r.now-from)/1000, 1)
	if start := r.s.state.Now; from < start {
		cost -= m.USD(perHour, float64(start-from)/1000, 1)
	}
	r.totals.Cost += cost
	return cost
}

// billTask adds the cost of a Fargate task.
func (r *run) billTask(job int) {
	a := &r.attempts[job]
	task, size := r.s.state.Jobs[job].Task, r.s.shapes[r.s.shapeOf[job]].task
	r.totals.Tasks[job] += r.bill(catalog.FargateMeter(task.platform()),
		r.s.state.Environments[a.environment].Fargate.hour(size, task), a.from)
}

// billInstance adds the cost of an instance.
func (r *run) billInstance(v *instance) {
	r.bill(catalog.InstanceMeter(), r.s.state.Environments[v.environment].Types[v.kind].Hour, v.from)
}

// settle adds the cost of what still runs at the end.
func (r *run) settle() {
	if r.s.local {
		return
	}
	for i := range r.attempts {
		if a := &r.attempts[i]; a.runs && a.instance < 0 {
			r.billTask(i)
		}
	}
	for i := range r.fleet.instances {
		if v := &r.fleet.instances[i]; !v.gone {
			r.billInstance(v)
		}
	}
}

// happen carries out a pending event.
func (r *run) happen(p pending) {
	i := int(p.instance)
	switch p.kind {
	case dueEnd:
		if job := int(p.job); uint32(r.attempts[job].tries) == p.stamp {
			r.finish(job)
			r.finishMore()
			r.schedule()
		}
	case dueReady:
		r.ready(i)
		r.schedule()
	case dueIdle:
		if v := &r.fleet.instances[i]; v.open && len(v.jobs) == 0 && v.stamp == p.stamp && r.fleet.mayGo(i) {
			r.terminate(i)
		}
	case dueReclaim:
		if v := &r.fleet.instances[i]; v.open && v.life == p.stamp {
			r.reclaim(i)
			r.schedule()
		}
	case dueScale:
		r.scale()
	}
}

// finishMore ends the jobs for which a coarse run has no pass of their own.
func (r *run) finishMore() {
	if !r.coarse {
		return
	}
	for n := min(r.waits/coarseWaits, r.runs/20); n > 0 && len(r.agenda) > 0; n-- {
		next := r.agenda[0]
		if next.kind != dueEnd {
			return
		}
		for r.next < len(r.s.state.Jobs) && r.s.state.Jobs[r.next].Submitted <= next.at && !r.stopped {
			if r.s.state.Jobs[r.next].Chance == 0 {
				return
			}
			r.enterAll(r.s.state.Jobs[r.next].Submitted)
		}
		r.advance(next.at)
		if job := int(r.agenda.pop().job); uint32(r.attempts[job].tries) == next.stamp {
			r.finish(job)
		}
	}
}

// finish ends a job.
func (r *run) finish(job int) {
	a := r.leave(job)
	r.dispatcher.Finish(r.now, r.task(job), r.handles[a.environment])
	delete(r.live, job)
	r.emit(Event{At: r.now, Kind: Ended, Job: job, Environment: int(a.environment), Instance: int(a.instance)})
}

// leave frees what a running job uses of its instance.
func (r *run) leave(job int) placement {
	r.charge(job, -1)
	r.runs--
	r.attempts[job].runs = false
	a := r.attempts[job]
	if a.instance < 0 {
		r.billTask(job)
	} else {
		i := int(a.instance)
		r.fleet.occupy(i, r.s.state.Jobs[job].Need, -1)
		r.fleet.instances[i].freed = r.now
		if v := &r.fleet.instances[i]; !r.s.local {
			at := slices.Index(v.jobs, int32(job))
			v.jobs[at] = v.jobs[len(v.jobs)-1]
			v.jobs = v.jobs[:len(v.jobs)-1]
			r.idle(i)
		}
	}
	return a
}

// terminate takes an instance out of service.
func (r *run) terminate(i int) {
	v := &r.fleet.instances[i]
	r.emit(Event{At: r.now, Kind: Terminated, Job: -1, Environment: v.environment, Instance: i})
	r.offer(v, -1)
	r.billInstance(v)
	r.fleet.remove(i)
}

// offer adds (sign 1) or removes (sign -1) the vCPUs of an instance.
func (r *run) offer(v *instance, sign int64) { r.totals.offered += sign * v.size.MilliCPU }

// reclaim ends the jobs of a Spot instance, which return to their queues, and the instance.
func (r *run) reclaim(i int) {
	for len(r.fleet.instances[i].jobs) > 0 {
		job := int(r.fleet.instances[i].jobs[0])
		a := r.leave(job)
		r.attempts[job].tries++ // its planned end lapses
		r.dispatcher.Release(r.now, r.task(job), r.handles[a.environment])
		r.dispatcher.Requeue(r.task(job))
		r.wait(job, 1)
		r.emit(Event{At: r.now, Kind: Interrupted, Job: job, Environment: int(a.environment), Instance: i})
	}
	environment, kind := r.fleet.instances[i].environment, r.fleet.instances[i].kind
	r.terminate(i)
	e := &r.s.state.Environments[environment]
	if r.fleet.vcpus[environment] < e.MinvCpus*1000 {
		r.launch(environment, kind, r.now+r.boot(environment, e.Types[kind]))
	}
}
