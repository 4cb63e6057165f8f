package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Simulator is a State that is ready for runs. Several goroutines may run it.
type Simulator struct {
	state   *State
	local   bool // one machine, as in an engine
	fargate bool // an environment starts jobs without instances

	shapes  []shape
	shapeOf []int32 // of each job
	// shapesByPriority are the shapes in the order in which scaling serves them.
	shapesByPriority []int
	tasks            []*model.Task // of each job, if there are few enough
	estimates        []estimate    // of each Durations
	// base has the waiting jobs of the start; every run copies it.
	base    *model.Dispatcher
	fits    []bool    // of each shape: whether its jobs ever start
	choices []choices // by environment
}

// shape is what scaling knows of jobs: their queue and their size.
type shape struct {
	queue        int
	platform     types.PlatformCapability
	need         model.Amount
	environments []int // in which they may run, in order
	// task is the size that Fargate bills for one of the jobs: its smallest at or above the need.
	task model.Amount
}

// choices are the instance types of an environment that fit a size, by price per vCPU.
type choices map[model.Amount][]int

// keptTasks is how many jobs have a task for all runs; a larger State creates them for each run, to save memory.
const keptTasks = 50_000

// New prepares a State. It must not change afterwards.
func New(state *State) (*Simulator, error) {
	s := &Simulator{state: state, local: state.Machine != nil}
	names := map[string]int{}
	for i, e := range state.Environments {
		names[e.Name] = i
		s.fargate = s.fargate || !s.local && e.IsFargate()
	}
	for _, q := range state.Queues {
		for _, name := range q.Environments {
			if _, ok := names[name]; !ok {
				return nil, fmt.Errorf("queue %s: unknown compute environment %s", q.Name, name)
			}
		}
	}
	byShape := map[shapeKey]int32{}
	s.shapeOf = make([]int32, len(state.Jobs))
	s.choices = make([]choices, len(state.Environments))
	for i, j := range state.Jobs {
		if j.Queue < 0 || j.Queue >= len(state.Queues) {
			return nil, fmt.Errorf("job %s: unknown queue", j.ID)
		}
		key := shapeKey{j.Queue, j.Platform, j.Need}
		at, ok := byShape[key]
		if !ok {
			at = int32(len(s.shapes))
			byShape[key] = at
			s.shapes = append(s.shapes, s.shapeFor(key, names))
		}
		s.shapeOf[i] = at
		if e, ok := names[j.Environment]; ok && j.Started > 0 && !state.Environments[e].IsFargate() {
			s.prepareTypes(e, j.Need)
		}
	}
	for _, d := range state.Durations {
		s.estimates = append(s.estimates, d.estimate())
	}
	for i := range s.shapes {
		s.shapesByPriority = append(s.shapesByPriority, i)
		s.fits = append(s.fits, s.fitsAnywhere(&s.shapes[i]))
	}
	slices.SortStableFunc(s.shapesByPriority, func(a, b int) int {
		return cmp.Compare(state.Queues[s.shapes[b].queue].Priority, state.Queues[s.shapes[a].queue].Priority)
	})
	if len(state.Jobs) <= keptTasks {
		s.base, _ = s.dispatcher(nil)
		for i := range state.Jobs {
			s.tasks = append(s.tasks, s.newTask(s.base, i))
			s.enter(s.base, s.tasks[i], i, state.Now)
		}
	}
	return s, nil
}

// enter submits a job that waits at a time.
func (s *Simulator) enter(d *model.Dispatcher, t *model.Task, job int, now int64) {
	switch j := &s.state.Jobs[job]; {
	case j.Started > 0 || j.Submitted > now:
	case s.Fits(job):
		d.Submit(t)
	default:
		d.Park(t)
	}
}

// shapeKey identifies a shape.
type shapeKey struct {
	queue    int
	platform types.PlatformCapability
	need     model.Amount
}

// shapeFor returns a shape with the environments that may run it.
func (s *Simulator) shapeFor(key shapeKey, names map[string]int) shape {
	v := shape{queue: key.queue, platform: key.platform, need: key.need}
	if vcpus, memory, ok := catalog.FargateFit(float64(key.need.MilliCPU)/1000,
		int(min(key.need.MemoryMiB, math.MaxInt32))); ok && key.need.GPUs == 0 {
		v.task = model.Amount{MilliCPU: int64(vcpus * 1000), MemoryMiB: int64(memory)}
	}
	for _, name := range s.state.Queues[key.queue].Environments {
		at := names[name]
		e := &s.state.Environments[at]
		if e.Disabled || s.local || e.IsFargate() != (key.platform == types.PlatformCapabilityFargate) {
			continue
		}
		if !e.IsFargate() {
			s.prepareTypes(at, key.need)
		}
		v.environments = append(v.environments, at)
	}
	return v
}

// prepareTypes records the instance types of an environment that fit a size.
func (s *Simulator) prepareTypes(environment int, need model.Amount) {
	if s.choices[environment] == nil {
		s.choices[environment] = choices{}
	}
	if _, ok := s.choices[environment][need]; ok {
		return
	}
	list := s.state.Environments[environment].Types
	fitting := []int{}
	for i, t := range list {
		if t.Size.Covers(need) {
			fitting = append(fitting, i)
		}
	}
	perVCPU := func(i int) float64 { return list[i].Hour / float64(max(list[i].Size.MilliCPU, 1)) }
	slices.SortFunc(fitting, func(a, b int) int {
		return cmp.Or(cmp.Compare(perVCPU(a), perVCPU(b)), cmp.Compare(list[a].Size.MilliCPU, list[b].Size.MilliCPU),
			strings.Compare(list[a].Name, list[b].Name))
	})
	// samePrice is no order: a may cost the same as b, and b as c, but a less than c. So each group has the types that
	// cost the same as its first one.
	for rest := fitting; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(i int) bool { return !samePrice(list[rest[0]], list[i]) })
		if n < 0 {
			n = len(rest)
		}
		slices.SortStableFunc(rest[:n],
			func(a, b int) int { return cmp.Compare(list[a].Size.MilliCPU, list[b].Size.MilliCPU) })
		rest = rest[n:]
	}
	s.choices[environment][need] = fitting
}

// fittingTypes returns the instance types of an environment that fit a size.
func (s *Simulator) fittingTypes(environment int, need model.Amount) []int {
	return s.choices[environment][need]
}

// Fits reports whether a job may ever start: an environment of its queue has a machine that fits.
func (s *Simulator) Fits(job int) bool { return s.fits[s.shapeOf[job]] }

// fitsAnywhere is Fits for a shape.
func (s *Simulator) fitsAnywhere(v *shape) bool {
	if s.local {
		return s.state.Machine.Covers(v.need) && slices.ContainsFunc(s.state.Environments, func(e Environment) bool {
			return slices.Contains(s.state.Queues[v.queue].Environments, e.Name) && !e.Disabled &&
				(e.MaxvCpus == 0 || e.MaxvCpus*1000 >= v.need.MilliCPU)
		})
	}
	for _, at := range v.environments {
		e := &s.state.Environments[at]
		if e.MaxvCpus*1000 < v.need.MilliCPU {
			continue
		}
		// An instance beyond maxvCpus starts unless BEST_FIT chooses it. Instances in service are of unknown types.
		inService := e.DesiredvCpus > 0 || e.MinvCpus > 0
		if e.IsFargate() && v.task.MilliCPU > 0 || slices.ContainsFunc(s.fittingTypes(at, v.need), func(i int) bool {
			return !e.keepsLimit() || inService || e.Types[i].Size.MilliCPU <= e.MaxvCpus*1000
		}) {
			return true
		}
	}
	return false
}

// keepsLimit reports whether AWS Batch starts no instance that exceeds the environment's maxvCpus.
func (e *Environment) keepsLimit() bool {
	return (e.Strategy == types.CRAllocationStrategyBestFit || e.Strategy == "") && !e.IsSpot()
}

// requestOf returns the request that would create an environment, as far as the scheduler reads it. nil is the
// whole machine of an engine.
func requestOf(e Environment, local bool) *awsbatch.CreateComputeEnvironmentInput {
	state := types.CEStateEnabled
	if e.Disabled {
		state = types.CEStateDisabled
	}
	if local && e.MaxvCpus == 0 && !e.Disabled {
		return nil
	}
	in := &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: aws.String(e.Name), State: state}
	if !local || e.MaxvCpus > 0 {
		in.ComputeResources = &types.ComputeResource{Type: e.Type,
			MaxvCpus: aws.Int32(int32(min(e.MaxvCpus, math.MaxInt32)))}
	}
	return in
}

func (s *Simulator) newTask(d *model.Dispatcher, i int) *model.Task {
	j := &s.state.Jobs[i]
	platform := j.Platform
	if platform == "" {
		platform = types.PlatformCapabilityEc2
	}
	return d.NewTask(int64(i), model.JobSpec{Queue: s.state.Queues[j.Queue].Name, Share: j.Share, Priority: j.Priority,
		Platform: platform, Need: j.Need, Kind: int(s.shapeOf[i])})
}

// samePrice reports whether two types cost the same for a vCPU, within a per cent.
func samePrice(a, b InstanceType) bool {
	x, y := a.Hour/float64(a.Size.MilliCPU), b.Hour/float64(b.Size.MilliCPU)
	return math.Abs(x-y) <= 0.01*max(x, y)
}
