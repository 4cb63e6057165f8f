package forecast

import (
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// instance is a machine of the fleet.
type instance struct {
	environment, kind int
	size              model.Amount
	jobs              []int32 // that run on it; empty on the machine of an engine
	stamp             uint32  // changes whenever a job comes or goes, so that a planned end lapses
	life              uint32  // of the number: a later instance may have the same
	from              int64   // when it was requested, and AWS begins to bill it
	freed             int64   // when a job last left
	open, hadJobs     bool
	gone              bool // the number is unused
}

// fleet is the instances of a run. It implements model.Fleet.
type fleet struct {
	s            *Simulator
	environments map[*model.Environment]int
	instances    []instance
	frees        []model.Amount // the free part of each instance
	// serving has the instances in service of each environment; booting those that come.
	serving [][]int
	booting []int
	unused  []int // numbers of instances that are gone
	// vcpus are the thousandths of vCPUs of an environment's instances, in service or booting.
	vcpus []int64
	// free is the sum over the instances in service.
	free model.Amount

	// placed are the instances that this pass chose, in order; -1 on Fargate.
	placed []int
	// aside are the reservations of this pass, failed the requests that no machine fits.
	aside  []reservation
	failed []failure
	// blocked counts the jobs of this pass that wait.
	blocked int
}

// reservation is capacity that is set aside during a pass.
type reservation struct {
	instance int
	amount   model.Amount
}

// failure is a request that no instance of an environment fits in this pass.
type failure struct {
	environment int
	need        model.Amount
}

// mostBlocked bounds how many jobs that do not fit one pass examines, so that a pass on a large fleet does not
// examine the whole queue. AWS Batch examines the front of a queue too: jobs at the head that cannot start block the
// queue (user guide, "Blocked job queue events").
const mostBlocked = 8

func newFleet(s *Simulator) *fleet {
	f := &fleet{s: s, environments: map[*model.Environment]int{}, serving: make([][]int, len(s.state.Environments)),
		vcpus: make([]int64, len(s.state.Environments))}
	if s.local {
		f.instances = []instance{{size: *s.state.Machine, open: true}}
		f.frees = []model.Amount{*s.state.Machine}
		f.free = *s.state.Machine
	}
	return f
}

// add adds an instance that does not serve yet and returns its number.
func (f *fleet) add(environment, kind int, now int64) int {
	size := f.s.state.Environments[environment].Types[kind].Size
	v := instance{environment: environment, kind: kind, size: size, from: now}
	f.vcpus[environment] += size.MilliCPU
	if n := len(f.unused); n > 0 {
		i := f.unused[n-1]
		f.unused = f.unused[:n-1]
		v.stamp, v.life = f.instances[i].stamp+1, f.instances[i].life+1
		f.instances[i], f.frees[i] = v, size
		return i
	}
	f.instances, f.frees = append(f.instances, v), append(f.frees, size)
	return len(f.instances) - 1
}

// open puts an instance into service.
func (f *fleet) open(i int) {
	v := &f.instances[i]
	v.open = true
	f.serving[v.environment] = append(f.serving[v.environment], i)
	f.free = plus(f.free, f.frees[i])
}

// remove takes an instance away. Its jobs must have left.
func (f *fleet) remove(i int) {
	v := &f.instances[i]
	list := f.serving[v.environment]
	at := slices.Index(list, i)
	f.serving[v.environment] = slices.Delete(list, at, at+1)
	f.free = minus(f.free, f.frees[i])
	f.vcpus[v.environment] -= v.size.MilliCPU
	v.open, v.gone = false, true
	v.stamp++
	f.unused = append(f.unused, i)
}

// occupy reserves (sign 1) or releases (sign -1) a job's request on an instance.
func (f *fleet) occupy(i int, need model.Amount, sign int64) {
	v := &f.instances[i]
	d := model.Amount{MilliCPU: sign * need.MilliCPU, MemoryMiB: sign * need.MemoryMiB, GPUs: sign * need.GPUs}
	f.frees[i], f.free = minus(f.frees[i], d), minus(f.free, d)
	v.stamp++
	v.hadJobs = true
}

func plus(a, b model.Amount) model.Amount {
	return model.Amount{MilliCPU: a.MilliCPU + b.MilliCPU, MemoryMiB: a.MemoryMiB + b.MemoryMiB, GPUs: a.GPUs + b.GPUs}
}

func minus(a, b model.Amount) model.Amount {
	return model.Amount{MilliCPU: a.MilliCPU - b.MilliCPU, MemoryMiB: a.MemoryMiB - b.MemoryMiB, GPUs: a.GPUs - b.GPUs}
}

// begin starts a pass of the scheduler.
func (f *fleet) begin() {
	f.placed, f.failed, f.blocked = f.placed[:0], f.failed[:0], 0
}

// end releases what the pass set aside.
func (f *fleet) end() {
	for _, a := range f.aside {
		f.frees[a.instance] = plus(f.frees[a.instance], a.amount)
		f.free = plus(f.free, a.amount)
	}
	f.aside = f.aside[:0]
}

// Exhausted reports that no further job starts in this pass.
func (f *fleet) Exhausted() bool {
	if f.blocked > mostBlocked {
		return true
	}
	return !f.s.fargate && (f.free.MilliCPU <= 0 || f.free.MemoryMiB <= 0)
}

// Place reserves what a job requests on an instance of an environment: the fullest one that fits, which leaves
// large gaps for large jobs.
func (f *fleet) Place(v *model.Environment, need model.Amount) bool {
	if f.s.local {
		if !f.frees[0].Covers(need) {
			return false
		}
		f.reserve(0, need)
		return true
	}
	environment := f.environments[v]
	if f.s.state.Environments[environment].IsFargate() {
		f.placed = append(f.placed, -1)
		return true
	}
	if f.free.MilliCPU < need.MilliCPU {
		return false
	}
	for _, x := range f.failed {
		if x.environment == environment && need.Covers(x.need) {
			return false
		}
	}
	best, left := -1, int64(math.MaxInt64)
	for _, i := range f.serving[environment] {
		// Most instances of a busy fleet have too few free vCPUs, so that comes first.
		if free := &f.frees[i]; free.MilliCPU >= need.MilliCPU && free.MilliCPU < left && free.Covers(need) {
			if best, left = i, free.MilliCPU; left == need.MilliCPU {
				break // none can be fuller
			}
		}
	}
	if best < 0 {
		f.failed = append(f.failed, failure{environment, need})
		return false
	}
	f.reserve(best, need)
	return true
}

// reserve places a job on an instance.
func (f *fleet) reserve(i int, need model.Amount) {
	f.occupy(i, need, 1)
	f.placed = append(f.placed, i)
}

// SetAside keeps the free part of a request on the instance where the job starts first. An environment that may
// still start instances keeps nothing: the job gets one of those.
func (f *fleet) SetAside(v *model.Environment, need model.Amount) {
	if f.s.local {
		f.keep(0, need)
		return
	}
	f.blocked++
	environment := f.environments[v]
	e := &f.s.state.Environments[environment]
	if e.IsFargate() || f.vcpus[environment] < e.MaxvCpus*1000 {
		return
	}
	best, free := -1, int64(-1)
	for _, i := range f.serving[environment] {
		if f.frees[i].MilliCPU > free && f.instances[i].size.Covers(need) {
			best, free = i, f.frees[i].MilliCPU
		}
	}
	if best >= 0 {
		f.keep(best, need)
	}
}

// keep sets aside the free part of a request on an instance.
func (f *fleet) keep(i int, need model.Amount) {
	free := &f.frees[i]
	part := model.Amount{MilliCPU: max(min(free.MilliCPU, need.MilliCPU), 0),
		MemoryMiB: max(min(free.MemoryMiB, need.MemoryMiB), 0),
		GPUs:      max(min(free.GPUs, need.GPUs), 0)}
	*free, f.free = minus(*free, part), minus(f.free, part)
	f.aside = append(f.aside, reservation{i, part})
}

// mayGo reports whether minvCpus allows that an instance goes.
func (f *fleet) mayGo(i int) bool {
	v := &f.instances[i]
	return f.vcpus[v.environment]-v.size.MilliCPU >= f.s.state.Environments[v.environment].MinvCpus*1000
}
