package model

import (
	"sort"
)

// IsMultiNode reports whether the job has nodes.
func (j *Job) IsMultiNode() bool { return j.Definition.Request.NodeProperties != nil }

// Nodes returns the number of nodes of the job; 0 if it is not a multi-node job.
func (j *Job) Nodes() int {
	if j.IsMultiNode() {
		return int(NumNodes(j.Definition.Request, j.Request))
	}
	return 0
}

// MainNode returns the index of the main node; 0 if it is not a multi-node job.
func (j *Job) MainNode() int { return mainNode(j.Definition.Request) }

// PartsOf returns the indexes of the parts of a node: of its first one, and of the one after its last. A job
// without nodes has all parts in node 0.
func (w *Work) PartsOf(node int) (from, to int) {
	first := func(node int) int {
		return sort.Search(len(w.Parts), func(i int) bool { return w.Parts[i].Node >= node })
	}
	return first(node), first(node + 1)
}

// NodeEnd returns how node i ended in an attempt: the end of its first essential container that was not
// stopped, because the node ended with that. A pod ends with its last container; there it is the first container
// that failed on its own, else one that was stopped, else the last one. It is nil if the attempt has no such record.
func (t *Task) NodeEnd(a *Attempt, i int) (end *ContainerEnd) {
	from, to := t.Job.PartsOf(i)
	for k := from; k < min(to, len(a.Containers)); k++ {
		c, p := &a.Containers[k], &t.Job.Parts[k]
		decides := p.Essential()
		if p.Pod != nil {
			decides = c.Exit == nil || *c.Exit != 0 || c.Reason != ""
		}
		if decides && (end == nil || end.Stopped && !c.Stopped) {
			end = c
		}
	}
	if last := min(to, len(a.Containers)) - 1; end == nil && last >= from {
		return &a.Containers[last]
	}
	return end
}

// NodeState returns the state of node i: the job's state, unless the node ended on its own.
func (t *Task) NodeState(i int) State {
	a := t.Last()
	if a == nil || !t.State.Ended() || i == t.Job.MainNode() {
		return t.State
	}
	switch end := t.NodeEnd(a, i); {
	case end == nil || end.Stopped:
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
