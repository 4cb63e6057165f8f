package model

import (
	"strconv"
	"strings"
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

// ecsID returns the id of the ECS task or of the pod of an attempt, or of one node of it.
func (t *Task) ecsID(a *Attempt, node int) string {
	if t.Job.IsMultiNode() {
		return PartStream(a.Stream, node)
	}
	return a.Stream
}

// ARN returns the ARN of the task.
func (e ECSTask) ARN() string { return e.Task.ECSTaskARN(e.Of(), e.Node) }

// ECSTaskARN returns the ARN of the ECS task of an attempt, or of one node of it.
func (t *Task) ECSTaskARN(a *Attempt, node int) string {
	return ECSPrefix + "task/" + a.Environment.Cluster() + "/" + t.ecsID(a, node)
}

// Ends reports whether the task has ended, or is being ended.
func (e ECSTask) Ends() bool {
	return e.Of().StoppedAt != 0 || e.Task.Terminated || e.Task.Job.Terminated
}

// hasECSTask reports whether AWS Batch would start ECS tasks for the job: not for pods, nor for training
// jobs of SageMaker.
func (j *Job) hasECSTask() bool { return !j.IsPod() && j.Service == nil }

// ecsTask returns the ECS task of a stream. Of a task with several containers, only the stream of the
// first one has it.
func (s *LogStream) ecsTask() ECSTask {
	if s.Task == nil || !s.Task.Job.hasECSTask() {
		return ECSTask{}
	}
	part := 0
	if _, number, ok := strings.Cut(strings.TrimPrefix(s.File, s.Task.Attempts[s.Attempt].Stream), "-"); ok {
		part, _ = strconv.Atoi(number)
	}
	node := 0
	if part < len(s.Task.Job.Parts) {
		node = s.Task.Job.Parts[part].Node
	}
	if first, _ := s.Task.Job.PartsOf(node); part != first {
		return ECSTask{}
	}
	return ECSTask{s.Task, s.Attempt, node}
}
