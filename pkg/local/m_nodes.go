package local

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// A multi-node job is one task here, whose parts are its nodes: they start together
// or not at all, the others after the main node, and the end of the main node is
// the end of all. Each runs as a process of this machine.

// numNodes is how many nodes a job has; in may be nil.
func numNodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) int32 {
	if in != nil && in.NodeOverrides != nil && in.NodeOverrides.NumNodes != nil {
		return *in.NodeOverrides.NumNodes
	}
	return aws.ToInt32(d.NodeProperties.NumNodes)
}

// nodes are the nodes of a multi-node job with the overrides of its request, which
// may be nil.
func nodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []part {
	n, main := numNodes(d, in), aws.ToInt32(d.NodeProperties.MainNode)
	all := make([]part, n)
	for i := range n {
		c := &types.ContainerProperties{}
		if r := rangeOf(d.NodeProperties, i, n); r != nil {
			c = r.Container
		}
		if in != nil && in.NodeOverrides != nil {
			for _, o := range in.NodeOverrides.NodePropertyOverrides {
				if from, to, ok := nodeRange(o.TargetNodes, n); ok && from <= i && i <= to {
					c = override(c, o.ContainerOverrides)
				}
			}
		}
		all[i] = part{container: c, node: true, declared: types.TaskContainerProperties{Name: aws.String(strconv.Itoa(int(i))),
			Essential: aws.Bool(i == main), Image: c.Image, Environment: c.Environment}}
		if i != main {
			all[i].declared.DependsOn = []types.TaskContainerDependency{
				{ContainerName: aws.String(strconv.Itoa(int(main))), Condition: aws.String(onStart)}}
		}
	}
	return all
}

// rangeOf is the properties of node i of n: of nested ranges the narrowest holds.
func rangeOf(p *types.NodeProperties, i, n int32) *types.NodeRangeProperty {
	var best *types.NodeRangeProperty
	width := n
	for k := range p.NodeRangeProperties {
		r := &p.NodeRangeProperties[k]
		if from, to, ok := nodeRange(r.TargetNodes, n); ok && from <= i && i <= to && (best == nil || to-from < width) {
			best, width = r, to-from
		}
	}
	return best
}

// nodeRange reads targetNodes: "2", "0:3", ":3" or "2:", of n nodes.
func nodeRange(text *string, n int32) (from, to int32, ok bool) {
	first, last, isRange := strings.Cut(aws.ToString(text), ":")
	number := func(s string, absent int32) int32 {
		if s == "" && isRange {
			return absent
		}
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return -1
		}
		return int32(v)
	}
	from = number(first, 0)
	if to = from; isRange {
		to = number(last, n-1)
	}
	return from, to, from >= 0 && to >= from
}

func (j *job) isMultiNode() bool { return len(j.parts) > 0 && j.parts[0].node }

// mainNode is the index of the main node.
func (j *job) mainNode() int32 { return aws.ToInt32(j.definition.request.NodeProperties.MainNode) }

func nodeID(job string, i int) string { return fmt.Sprintf("%s#%d", job, i) }

// node finds the node of an id job#index; t is nil when there is none.
func (m *model) node(id string) (t *task, i int) {
	name, text, ok := strings.Cut(id, "#")
	j := m.jobs[name]
	i, err := strconv.Atoi(text)
	if !ok || err != nil || j == nil || !j.isMultiNode() || i < 0 || i >= len(j.parts) || strconv.Itoa(i) != text {
		return nil, 0
	}
	return &j.task, i
}

// nodeState is the state of node i: that of the job, but for a node that came to
// an end of its own.
func (t *task) nodeState(i int) state {
	a := t.last()
	if a == nil || !t.state.ended() || i >= len(a.containers) || int32(i) == t.job.mainNode() {
		return t.state
	}
	switch end := a.containers[i]; {
	case end.Stopped:
		return t.state
	case end.Exit != nil && *end.Exit == 0:
		return succeeded
	}
	return failed
}
