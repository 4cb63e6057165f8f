package model

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/stable"
)

// ECSTask is the ECS task that AWS Batch would start for an attempt. Each node of a multi-node job
// is a task of its own, because a task runs on one instance.
type ECSTask struct {
	Task    *Task
	Attempt int // index of the attempt
	Node    int // index of the node; 0 if the job has none
}

// Of returns the attempt that the task is for.
func (e ECSTask) Of() *Attempt { return &e.Task.Attempts[e.Attempt] }

// ID returns the id of the task, which is also the last part of the names of its log streams.
func (e ECSTask) ID() string { return e.Task.ecsID(e.Of(), e.Node) }

// ecsID returns the id of the ECS task of an attempt, or of one node of it.
func (t *Task) ecsID(a *Attempt, node int) string {
	if t.Job.IsMultiNode() {
		return PartStream(a.Stream, node)
	}
	return a.Stream
}

// ECSTaskARN returns the ARN of the ECS task of an attempt, or of one node of it.
func (t *Task) ECSTaskARN(a *Attempt, node int) string {
	return ECSPrefix + "task/" + a.Environment.Cluster() + "/" + t.ecsID(a, node)
}

// ARN returns the ARN of the task.
func (e ECSTask) ARN() string { return e.Task.ECSTaskARN(e.Of(), e.Node) }

// Ends reports whether the task has ended, or is being ended.
func (e ECSTask) Ends() bool {
	return e.Of().StoppedAt != 0 || e.Task.Terminated || e.Task.Job.Terminated
}

// FindECSTask returns the ECS task with an id; ok is false if it does not exist.
func (m *Model) FindECSTask(id string) (e ECSTask, ok bool) {
	t := m.streams[id]
	if t == nil || !t.Job.hasECSTask() {
		return ECSTask{}, false
	}
	for k := range t.Attempts {
		for node := range max(t.Job.Nodes(), 1) {
			if e := (ECSTask{t, k, node}); e.ID() == id {
				return e, true
			}
		}
	}
	return ECSTask{}, false
}

// Nodes returns the number of nodes of the job; 0 if it is not a multi-node job.
func (j *Job) Nodes() int {
	if j.IsMultiNode() {
		return len(j.Parts)
	}
	return 0
}

// hasECSTask reports whether AWS Batch would start ECS tasks for the job: not for pods, nor for training
// jobs of SageMaker.
func (j *Job) hasECSTask() bool { return j.Pod == nil && j.Service == nil }

// ActiveECSTasks yields the ECS tasks of attempts that have not ended, in no particular order.
func (m *Model) ActiveECSTasks() iter.Seq[ECSTask] {
	return func(yield func(ECSTask) bool) {
		for t := range m.active {
			if !t.Job.hasECSTask() {
				continue
			}
			for node := range max(t.Job.Nodes(), 1) {
				if !yield(ECSTask{t, len(t.Attempts) - 1, node}) {
					return
				}
			}
		}
	}
}

// ECSTasksBefore yields a position in the log streams and the ECS task there, from the newest one
// before a position; a negative position is the end. A stream that begins no task has a nil Task.
func (m *Model) ECSTasksBefore(position int) iter.Seq2[int, ECSTask] {
	if position < 0 || position > len(m.LogStreams) {
		position = len(m.LogStreams)
	}
	return func(yield func(int, ECSTask) bool) {
		for i, s := range slices.Backward(m.LogStreams[:position]) {
			if !yield(i, s.ecsTask()) {
				return
			}
		}
	}
}

// ecsTask returns the ECS task of a stream. Of a task with several containers, only the first
// stream has it.
func (s *LogStream) ecsTask() ECSTask {
	if s.Task == nil || !s.Task.Job.hasECSTask() {
		return ECSTask{}
	}
	part := 0
	if _, number, ok := strings.Cut(strings.TrimPrefix(s.File, s.Task.Attempts[s.Attempt].Stream), "-"); ok {
		part, _ = strconv.Atoi(number)
	}
	if part > 0 && !s.Task.Job.IsMultiNode() {
		return ECSTask{}
	}
	return ECSTask{s.Task, s.Attempt, part}
}

// Instances returns the container instances of a cluster on which attempts have run, in order of
// their executors.
func (m *Model) Instances(cluster string) []Instance {
	var all []Instance
	for i := range maps.Keys(m.instances) {
		if i.Environment.Cluster() == cluster {
			all = append(all, i)
		}
	}
	stable.Sort(all, func(a, b Instance) int { return strings.Compare(a.Executor, b.Executor) })
	return all
}

// noteInstance remembers the container instance of an attempt. An environment on EKS has none, nor has a
// training job.
func (m *Model) noteInstance(t *Task, a *Attempt) {
	if t.Job.Service == nil && !a.Environment.IsFargate() && (a.Environment == nil || a.Environment.Platform() != PlatformEKS) {
		m.instances[Instance{a.Environment, a.Executor}] = true
	}
}

// environmentOfAttempt returns the environment with a name for an attempt; nil for none. An
// attempt keeps its cluster if the options of a later engine no longer configure the environment.
func (m *Model) environmentOfAttempt(name string) *Environment {
	v := m.Environments[name]
	if v != nil || name == "" {
		return v
	}
	if v = m.former[name]; v == nil {
		v = &Environment{Name: name}
		m.former[name] = v
	}
	return v
}

// ClusterEnvironment returns the environment of an ECS cluster; nil if the environment no longer
// exists. known is false for a cluster that never existed.
func (m *Model) ClusterEnvironment(cluster string) (v *Environment, known bool) {
	for _, v := range m.Environments {
		if v.Cluster() == cluster && v.Platform() != PlatformEKS {
			return v, true
		}
	}
	if slices.Contains(m.GoneClusters, cluster) {
		return nil, true
	}
	for i := range m.instances {
		if i.Environment.Cluster() == cluster {
			return nil, true
		}
	}
	return nil, false
}

// Free returns what a new attempt could still use in an environment of a machine.
func (m *Model) Free(v *Environment, machine Amount) Amount {
	free := machine.less(m.used)
	free.MilliCPU = max(min(free.MilliCPU, v.limit(nil)-v.used), 0)
	return free
}

// Offers returns what an environment of a machine offers: its limit applies to vCPUs only.
func (v *Environment) Offers(machine Amount) Amount {
	machine.MilliCPU = min(machine.MilliCPU, v.limit(nil))
	return machine
}

// FreeGPUs returns the devices that no attempt uses.
func (m *Model) FreeGPUs(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return m.busy[d] })
}
