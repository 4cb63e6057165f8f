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

// errMainNode is why the other nodes of a job are asked to end.
var errMainNode = errors.New("the main node of the job ended")

// group runs the containers of one attempt: each when its dependencies have reached their condition,
// all in the same directory. Each node of a multi-node job is a task of its own; another job has one.
type group struct {
	life *Life
	// whole is the context of the attempt: its timeout still runs after the tasks are asked to end.
	whole   context.Context
	parts   []model.Part
	tasks   []task // by the index of the node
	stop    context.CancelCauseFunc
	once    sync.Once
	gpus    [][]string
	started []chan struct{}
	ended   []chan struct{}

	mu      sync.Mutex
	over    bool // the main node has ended
	ends    []model.ContainerEnd
	results []model.Outcome
	logCut  bool     // of any container
	without []string // of any container
}

// task is one task of a group. When an essential container ends, its result is that of the task, and the
// others are asked to end.
type task struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	kill <-chan struct{}
	// running counts the containers that have not ended, and decided is the result of the first essential
	// one that ended. The group's mutex guards both.
	running int
	decided *model.Outcome
}

// carryOutTask runs the containers of a job with several, as carryOut runs one.
func (l *Life) carryOutTask(ctx context.Context, base Attempt) model.Outcome {
	whole, parts := ctx, l.Task.Job.Parts
	if o := l.lackingParts(ctx, base, parts); o != nil {
		return *o
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g := &group{life: l, whole: whole, parts: parts, stop: stop, ends: make([]model.ContainerEnd, len(parts)),
		results: make([]model.Outcome, len(parts)),
		tasks:   make([]task, max(l.Task.Job.Nodes(), 1))}
	for i := range g.tasks {
		n := &g.tasks[i]
		n.ctx, n.stop = context.WithCancelCause(ctx)
		kill, over := KillAfter(n.ctx, StopTimeout, l.Hurry)
		defer over()
		n.kill = kill
	}
	g.share(base.GPUs)
	for _, p := range g.parts {
		g.tasks[p.Node].running++
		g.started, g.ended = append(g.started, make(chan struct{})), append(g.ended, make(chan struct{}))
	}
	var group sync.WaitGroup
	for i := range g.parts {
		group.Go(func() {
			o := g.runPart(g.tasks[g.parts[i].Node].ctx, i, base)
			g.conclude(i, o)
		})
	}
	group.Wait()
	if l.Task.Job.IsPod() {
		return podOutcome(g)
	}
	o := *g.tasks[l.Task.Job.MainNode()].decided
	o.Containers, o.LogCut, o.Without = g.ends, g.logCut, g.without
	return o
}

// share gives each container its GPUs. Init containers of a pod have ended before its containers start.
func (g *group) share(gpus []string) {
	for node := range g.tasks {
		left, most := gpus, int64(0)
		from, to := g.life.Task.Job.PartsOf(node)
		for i := from; i < to; i++ {
			p := &g.parts[i]
			need, _ := model.Requested(p.Container) // SubmitJob has checked it
			g.gpus = append(g.gpus, left[:need.GPUs])
			most = max(most, int64(len(gpus)-len(left))+need.GPUs)
			if p.Pod == nil || !p.Pod.Init {
				left = left[need.GPUs:]
			}
		}
		gpus = gpus[most:]
	}
}

// lackingParts returns the outcome of a task with a container that cannot start here; nil if there is
// none. As on AWS, no container starts then, not even if that one is not essential.
func (l *Life) lackingParts(ctx context.Context, base Attempt, parts []model.Part) *model.Outcome {
	x, err := l.Executor(ctx)
	if err != nil {
		return nil // runPart reports it
	}
	for _, task := range model.Tasks(parts) {
		if m := Prevented(UnhonouredTask(task, Contained(x))); m != nil {
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

// conclude records how container i ended. It ends the task with an essential container, and the job with the
// main node, which has ended when none of its containers runs.
func (g *group) conclude(i int, o model.Outcome) {
	p := &g.parts[i]
	n := &g.tasks[p.Node]
	g.mu.Lock()
	g.logCut = g.logCut || o.LogCut
	for _, name := range o.Without {
		if !slices.Contains(g.without, name) {
			g.without = append(g.without, name)
		}
	}
	g.ends[i] = model.ContainerEnd{Name: p.Name(), Exit: o.Exit, Reason: o.Reason, Stopped: g.over || n.decided != nil,
		ImageDigest: o.ImageDigest}
	g.results[i] = o
	decides := p.Essential() && p.Pod == nil // a pod ends with its last container
	if decides && n.decided == nil {
		n.decided = &o
	}
	n.running--
	over := n.running == 0 && p.Node == g.life.Task.Job.MainNode()
	g.over = g.over || over
	g.mu.Unlock()
	close(g.ended[i])
	if decides {
		n.stop(errEssential)
	}
	if over {
		g.stop(errMainNode)
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
	if j := g.life.Task.Job; j.IsMultiNode() {
		base.Environment = merged(base.Environment, nodeVariables(j, p.Node))
	}
	a := base
	a.ID = model.PartStream(base.ID, i)
	a.Container, a.Command, a.GPUs, a.Kill = p.Container, command, g.gpus[i], g.tasks[p.Node].kill
	a.Environment = merged(p.Container.Environment, base.Environment)
	if p.Pod != nil {
		if a, err = inPod(a, p.Pod, base, g.life.Task.Job.Parameters()); err != nil {
			log.Close()
			return NotStarted(err)
		}
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
	exit, launched, without, err := g.life.execute(ctx, x, measured(a, p.Name(), log), log.File)
	o := model.Outcome{StatusReason: model.ReasonExited, LogCut: log.Close(), Without: without, ImageDigest: digest}
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
	for _, d := range p.After {
		reached := g.ended[d.Part]
		if d.Condition == model.OnStart {
			reached = g.started[d.Part]
		}
		select {
		case <-reached:
		case <-g.ended[d.Part]: // without a start
		case <-ctx.Done():
			select {
			case <-g.ended[d.Part]: // a dependency that ended says more than what its end has stopped
			default:
				return context.Cause(ctx)
			}
		}
		if err := g.held(p, d); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// held returns nil if a dependency of p is met, and else why it never will be. The container that p
// depends on must have reached the condition or ended.
func (g *group) held(p *model.Part, d model.Dependency) error {
	on := &g.parts[d.Part]
	select {
	case <-g.started[d.Part]:
	default:
		if on.Node != p.Node {
			return errors.New("the main node did not start")
		}
		return fmt.Errorf("its dependency, container %s, did not start", on.Name())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if exit := g.ends[d.Part].Exit; d.Condition == model.OnSuccess && (exit == nil || *exit != 0) {
		return fmt.Errorf("its dependency, container %s, did not succeed", on.Name())
	}
	return nil
}
