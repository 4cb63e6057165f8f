package model

import (
	"github.com/aws/aws-sdk-go-v2/aws"
)

// IsMultiNode reports whether the parts of the job are nodes.
func (j *Job) IsMultiNode() bool { return len(j.Parts) > 0 && j.Parts[0].Node }

// Nodes returns the number of nodes of the job; 0 if it is not a multi-node job.
func (j *Job) Nodes() int {
	if j.IsMultiNode() {
		return len(j.Parts)
	}
	return 0
}

// MainNode returns the index of the main node. The job must have nodes.
func (j *Job) MainNode() int32 { return aws.ToInt32(j.Definition.Request.NodeProperties.MainNode) }

// NodeState returns the state of node i: the job's state, unless the node ended on its own.
func (t *Task) NodeState(i int) State {
	a := t.Last()
	if a == nil || !t.State.Ended() || i >= len(a.Containers) || int32(i) == t.Job.MainNode() {
		return t.State
	}
	switch end := a.Containers[i]; {
	case end.Stopped:
		return t.State
	case end.Exit != nil && *end.Exit == 0:
		return Succeeded
	}
	return Failed
}

// StateOf returns the state of node i of a job, or of the task itself if i is negative.
func (t *Task) StateOf(i int) State {
	if i < 0 {
		return t.State
	}
	return t.NodeState(i)
}

// IDOf returns the id of node i of a job, or of the task itself if i is negative.
func (t *Task) IDOf(i int) string {
	if i < 0 {
		return t.ID()
	}
	return NodeID(t.Job.ID, i)
}
