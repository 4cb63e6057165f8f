package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// errEssential is why the other containers of a task are asked to end.
var errEssential = errors.New("an essential container of the task ended")

// group runs the containers of one task: each when its dependencies have reached their condition,
// all in the same directory. When an essential container ends, its result is that of the task, and
// the others are asked to end.
type group struct {
	life *Life
	// whole is the context of the attempt: its timeout still runs after the task is asked to end.
	whole   context.Context
	parts   []model.Part
	stop    context.CancelCauseFunc
	kill    <-chan struct{}
	once    sync.Once
	gpus    [][]string
	started []chan struct{}
	ended   []chan struct{}

	mu      sync.Mutex
	ends    []model.ContainerEnd
	decided *model.Outcome // by the first essential container that ended
	results []model.Outcome
	logCut  bool     // of any container
	without []string // of any container
}

// carryOutTask runs a task of several containers, as carryOut runs one.
func (l *Life) carryOutTask(ctx context.Context, base Attempt) model.Outcome {
	whole, parts := ctx, l.Task.Job.Parts
	if o := l.lackingParts(ctx, base, parts); o != nil {
		return *o
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	kill, over := KillAfter(ctx, StopTimeout, l.Hurry)
	defer over()
	g := &group{life: l, whole: whole, parts: parts, stop: stop, kill: kill, ends: make([]model.ContainerEnd, len(parts)),
		results: make([]model.Outcome, len(parts))}
	gpus := base.GPUs
	for _, p := range g.parts {
		need, _ := model.Requested(p.Container) // SubmitJob has checked it
		g.gpus = append(g.gpus, gpus[:need.GPUs])
		if p.Pod == nil || !p.Pod.Init { // init containers have ended before the containers start
			gpus = gpus[need.GPUs:]
		}
		g.started, g.ended = append(g.started, make(chan struct{})), append(g.ended, make(chan struct{}))
	}
	var group sync.WaitGroup
	for i := range g.parts {
		group.Go(func() {
			o := g.runPart(ctx, i, base)
			g.conclude(i, o)
		})
	}
	group.Wait()
	if l.Task.Job.Pod != nil {
		return podOutcome(g)
	}
	o := *g.decided
	o.Containers, o.LogCut, o.Without = g.ends, g.logCut, g.without
	return o
}

// lackingParts returns the outcome of a task with a container that cannot start here; nil if there is
// none. As on AWS, no container starts then, not even if that one is not essential.
func (l *Life) lackingParts(ctx context.Context, base Attempt, parts []model.Part) *model.Outcome {
	x, err := l.Executor(ctx)
	if err != nil {
		return nil // runPart reports it
	}
	if e := l.Task.Job.Definition.Request.EcsProperties; e != nil {
		if m := Prevented(UnhonouredTask(&e.TaskProperties[0], Contained(x))); m != nil {
			o := lacking(errors.New(m.Reason()))
			return &o
		}
	}
	ends := make([]model.ContainerEnd, len(parts))
	var first error
	for i := range parts {
		a := base
		a.Container = parts[i].Container
		ends[i].Name = parts[i].Name()
		if err := l.provide(x, &a); err != nil {
			ends[i].Reason = err.Error()
			first = cmp.Or(first, err)
		}
	}
	if first == nil {
		return nil
	}
	o := lacking(first)
	o.Containers = ends
	return &o
}

// conclude records how container i ended, and ends the task with an essential one.
func (g *group) conclude(i int, o model.Outcome) {
	g.mu.Lock()
	g.logCut = g.logCut || o.LogCut
	for _, name := range o.Without {
		if !slices.Contains(g.without, name) {
			g.without = append(g.without, name)
		}
	}
	g.ends[i] = model.ContainerEnd{Name: g.parts[i].Name(), Exit: o.Exit, Reason: o.Reason, Stopped: g.decided != nil, ImageDigest: o.ImageDigest}
	g.results[i] = o
	decides := g.parts[i].Essential() && g.parts[i].Pod == nil // a pod ends with its last container
	if decides && g.decided == nil {
		g.decided = &o
	}
	g.mu.Unlock()
	close(g.ended[i])
	if decides {
		g.stop(errEssential)
	}
}

// runPart waits until container i may start and runs it.
func (g *group) runPart(ctx context.Context, i int, base Attempt) model.Outcome {
	p := &g.parts[i]
	// DescribeJobs names the log stream in any case, so it exists even if the container never starts.
	log, err := g.life.createLog(ctx, model.PartStream(base.ID, i))
	if err != nil {
		return NotStarted(err)
	}
	command, err := model.Substitute(p.Container.Command, g.life.Task.Job.Parameters())
	if waited := g.await(ctx, p); waited != nil || err != nil {
		log.Close()
		return NotStarted(cmp.Or(waited, err))
	}
	a := base
	a.ID = model.PartStream(base.ID, i)
	a.Container, a.Command, a.GPUs, a.Kill = p.Container, command, g.gpus[i], g.kill
	a.Environment = merged(p.Container.Environment, base.Environment)
	if p.Pod != nil {
		if a, err = inPod(a, p.Pod, base, g.life.Task.Job.Parameters()); err != nil {
			log.Close()
			return NotStarted(err)
		}
	}
	if p.Node {
		a.Environment = merged(a.Environment, nodeVariables(g.life.Task.Job, i))
	}
	digest := ""
	a.Pulled = func(d string) { digest = d }
	a.Started = func(handle string) {
		g.once.Do(func() { g.life.begun(g.whole, handle, "") })
		close(g.started[i])
	}
	x, err := g.life.Executor(ctx)
	if err != nil {
		log.Close()
		return NotStarted(err)
	}
	if err := g.life.provide(x, &a); err != nil {
		log.Close()
		return lacking(err)
	}
	exit, launched, err := g.life.execute(ctx, x, measured(a, p.Name(), log), log.File)
	o := model.Outcome{StatusReason: model.ReasonExited, LogCut: log.Close(), Without: without(x, a.Container), ImageDigest: digest}
	if exit >= 0 {
		o.Exit = aws.Int32(int32(exit))
	}
	if err != nil {
		o.Reason = err.Error()
	}
	if !launched {
		o.StatusReason = model.ReasonNotStarted
	}
	return o
}

// await returns when the dependencies of p have reached their condition, or why they never will.
func (g *group) await(ctx context.Context, p *model.Part) error {
	for _, d := range p.Declared.DependsOn {
		on := model.FindPart(g.parts, *d.ContainerName)
		reached := g.ended[on]
		if *d.Condition == model.OnStart {
			reached = g.started[on]
		}
		select {
		case <-reached:
		case <-g.ended[on]: // without a start
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := g.held(on, *d.Condition); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// held returns nil if a condition on container on is met, and else why it never will be. The
// container must have reached the condition or ended.
func (g *group) held(on int, condition string) error {
	name := g.parts[on].Name()
	select {
	case <-g.started[on]:
	default:
		return fmt.Errorf("its dependency, container %s, did not start", name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if exit := g.ends[on].Exit; condition == model.OnSuccess && (exit == nil || *exit != 0) {
		return fmt.Errorf("its dependency, container %s, did not succeed", name)
	}
	return nil
}
