package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

var errEssential = errors.New("an essential container of the task ended")

// containerEnd is how one container of a task ended.
type containerEnd struct {
	Name   string `json:"name"`
	Exit   *int32 `json:"exit,omitempty"` // nil: it has none, or never started
	Reason string `json:"reason,omitempty"`
	// Stopped: it was asked to end because the task did.
	Stopped bool `json:"stopped,omitempty"`
}

// taskRun runs the containers of one task: each when those it depends on have come
// far enough, all in the same directory. When an essential one ends, its end is that
// of the task, and the others are asked to end.
type taskRun struct {
	engine  *Engine
	task    *task
	parts   []part
	stop    context.CancelCauseFunc
	kill    <-chan struct{}
	begun   func(handle string) // told once, by the first container that runs
	once    sync.Once
	gpus    [][]string
	started []chan struct{}
	ended   []chan struct{}

	mu      sync.Mutex
	ends    []containerEnd
	decided *outcome // by the first essential container that ended
	logCut  bool     // of any container
}

// carryOutTask is carryOut for a task of several containers.
func (e *Engine) carryOutTask(ctx context.Context, t *task, base Attempt, begun func(string)) outcome {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	kill, over := KillAfter(ctx, e.hurry)
	defer over()
	g := &taskRun{engine: e, task: t, parts: t.job.parts, stop: stop, kill: kill, begun: begun,
		ends: make([]containerEnd, len(t.job.parts))}
	gpus := base.GPUs
	for _, p := range g.parts {
		need, _ := asked(p.container) // was refused before, if it can be
		g.gpus, gpus = append(g.gpus, gpus[:need.GPUs]), gpus[need.GPUs:]
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
	o := *g.decided
	o.Containers, o.LogCut = g.ends, g.logCut
	return o
}

// conclude keeps how container i ended, and ends the task with an essential one.
func (g *taskRun) conclude(i int, o outcome) {
	g.mu.Lock()
	g.logCut = g.logCut || o.LogCut
	g.ends[i] = containerEnd{Name: g.parts[i].name(), Exit: o.Exit, Reason: o.Reason, Stopped: g.decided != nil}
	if g.parts[i].essential() && g.decided == nil {
		g.decided = &o
	}
	g.mu.Unlock()
	close(g.ended[i])
	if g.parts[i].essential() {
		g.stop(errEssential)
	}
}

// runPart waits until container i may start and runs it.
func (g *taskRun) runPart(ctx context.Context, i int, base Attempt) outcome {
	p := &g.parts[i]
	cannotStart := func(err error) outcome {
		return outcome{Reason: "CannotStartContainerError: " + err.Error(), StatusReason: reasonNotStarted}
	}
	if err := g.await(ctx, p); err != nil {
		return cannotStart(err)
	}
	command, err := substitute(p.container.Command, g.task.job.parameters())
	if err != nil {
		return cannotStart(err)
	}
	log, err := g.engine.openLog(ctx, g.task, partStream(base.ID, i))
	if err != nil {
		return cannotStart(err)
	}
	a := base
	a.ID = partStream(base.ID, i)
	a.Container, a.Command, a.GPUs, a.Kill = p.container, command, g.gpus[i], g.kill
	name := func(v types.KeyValuePair) string { return aws.ToString(v.Name) }
	a.Environment = mergedBy(p.container.Environment, base.Environment, name)
	if p.node {
		a.Environment = mergedBy(a.Environment, g.task.job.nodeVariables(i), name)
	}
	a.Started = func(handle string) {
		g.once.Do(func() { g.begun(handle) })
		close(g.started[i])
	}
	x, err := g.engine.executorOf(ctx, g.task.job)
	if err != nil {
		log.close()
		return cannotStart(err)
	}
	exit, launched, err := g.engine.execute(ctx, x, g.task, a, log.file)
	o := outcome{StatusReason: reasonExited, LogCut: log.close()}
	if exit >= 0 {
		o.Exit = aws.Int32(int32(exit))
	}
	if err != nil {
		o.Reason = err.Error()
	}
	if !launched {
		o.StatusReason = reasonNotStarted
	}
	return o
}

// await returns when all that p depends on has come far enough, or why it never will.
func (g *taskRun) await(ctx context.Context, p *part) error {
	for _, d := range p.declared.DependsOn {
		on := find(g.parts, *d.ContainerName)
		reached := g.ended[on]
		if *d.Condition == onStart {
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

// held reports, once container on has come far enough or ended, whether a condition
// on it holds.
func (g *taskRun) held(on int, condition string) error {
	name := g.parts[on].name()
	select {
	case <-g.started[on]:
	default:
		return fmt.Errorf("container %s, on which it depends, did not start", name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if exit := g.ends[on].Exit; condition == onSuccess && (exit == nil || *exit != 0) {
		return fmt.Errorf("container %s, on which it depends, did not succeed", name)
	}
	return nil
}

// partStream is the name of the log files of container i of an attempt, and its id
// for an executor.
func partStream(stream string, i int) string { return stream + "-" + strconv.Itoa(i) }

// streams is the log streams of the task's newest attempt: one for each container.
func (t *task) streams() []logRef {
	a, at := t.last(), len(t.attempts)-1
	if len(t.job.parts) == 0 {
		return []logRef{{name: t.logStream(a), file: a.stream, task: t, attempt: at}}
	}
	var all []logRef
	for i := range t.job.parts {
		all = append(all, logRef{name: t.partLogStream(a, i), file: partStream(a.stream, i), task: t, attempt: at})
	}
	return all
}

// partLogStream is the name of the stream of container i in CloudWatch Logs.
func (t *task) partLogStream(a *attempt, i int) string {
	if t.job.parts[i].node {
		return t.job.definition.name() + "/default/" + partStream(a.stream, i)
	}
	return t.job.definition.name() + "/" + t.job.parts[i].name() + "/" + a.stream
}

// describeTask is the job's containers with what the newest attempt says.
func (t *task) describeTask() *types.EcsPropertiesDetail {
	p := t.job.definition.request.EcsProperties.TaskProperties[0]
	d := types.EcsTaskDetails{
		EnableExecuteCommand: p.EnableExecuteCommand,
		EphemeralStorage:     p.EphemeralStorage,
		ExecutionRoleArn:     p.ExecutionRoleArn,
		IpcMode:              p.IpcMode,
		NetworkConfiguration: p.NetworkConfiguration,
		PidMode:              p.PidMode,
		PlatformVersion:      p.PlatformVersion,
		RuntimePlatform:      p.RuntimePlatform,
		TaskRoleArn:          p.TaskRoleArn,
		Volumes:              p.Volumes,
	}
	a := t.last()
	if a != nil {
		d.TaskArn, d.ContainerInstanceArn = aws.String(a.taskARN()), a.instanceARN()
	}
	for i := range t.job.parts {
		c := t.job.parts[i].declared
		detail := types.TaskContainerDetails{
			Command:                append([]string{}, c.Command...),
			DependsOn:              append([]types.TaskContainerDependency{}, c.DependsOn...),
			Environment:            append([]types.KeyValuePair{}, c.Environment...),
			Essential:              aws.Bool(t.job.parts[i].essential()),
			FirelensConfiguration:  c.FirelensConfiguration,
			Image:                  c.Image,
			LinuxParameters:        c.LinuxParameters,
			LogConfiguration:       c.LogConfiguration,
			MountPoints:            append([]types.MountPoint{}, c.MountPoints...),
			Name:                   c.Name,
			NetworkInterfaces:      []types.NetworkInterface{},
			Privileged:             c.Privileged,
			ReadonlyRootFilesystem: c.ReadonlyRootFilesystem,
			RepositoryCredentials:  c.RepositoryCredentials,
			ResourceRequirements:   append([]types.ResourceRequirement{}, c.ResourceRequirements...),
			Secrets:                append([]types.Secret{}, c.Secrets...),
			StartTimeout:           c.StartTimeout,
			StopTimeout:            c.StopTimeout,
			Ulimits:                append([]types.Ulimit{}, c.Ulimits...),
			User:                   c.User,
		}
		if a != nil {
			detail.LogStreamName = aws.String(t.partLogStream(a, i))
			if i < len(a.containers) {
				detail.ExitCode, detail.Reason = a.containers[i].Exit, optional(a.containers[i].Reason)
			}
		}
		d.Containers = append(d.Containers, detail)
	}
	return &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{d}}
}

// describeTaskAttempt is an attempt of several containers.
func (t *task) describeTaskAttempt(a *attempt) []types.AttemptEcsTaskDetails {
	d := types.AttemptEcsTaskDetails{TaskArn: aws.String(a.taskARN()), ContainerInstanceArn: a.instanceARN()}
	for i := range t.job.parts {
		c := types.AttemptTaskContainerDetails{Name: t.job.parts[i].declared.Name, LogStreamName: aws.String(t.partLogStream(a, i)),
			NetworkInterfaces: []types.NetworkInterface{}}
		if i < len(a.containers) {
			c.ExitCode, c.Reason = a.containers[i].Exit, optional(a.containers[i].Reason)
		}
		d.Containers = append(d.Containers, c)
	}
	return []types.AttemptEcsTaskDetails{d}
}
