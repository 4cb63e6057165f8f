package model

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// A multi-node job is one task here, with its nodes as parts. They start together or not at all,
// the main node first. When the main node ends, all end. Each runs as a process on the local machine.

// NumNodes returns how many nodes a job has; in may be nil.
func NumNodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) int32 {
	if in != nil && in.NodeOverrides != nil && in.NodeOverrides.NumNodes != nil {
		return *in.NodeOverrides.NumNodes
	}
	return aws.ToInt32(d.NodeProperties.NumNodes)
}

// nodes returns the nodes of a multi-node job with the overrides of its request, which may be
// nil.
func nodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Part {
	n, main := NumNodes(d, in), aws.ToInt32(d.NodeProperties.MainNode)
	all := make([]Part, n)
	for i := range n {
		c := &types.ContainerProperties{}
		if r := RangeOfNode(d.NodeProperties, i, n); r != nil {
			c = r.Container
		}
		if in != nil && in.NodeOverrides != nil {
			for _, o := range in.NodeOverrides.NodePropertyOverrides {
				if from, to, ok := NodeRange(o.TargetNodes, n); ok && from <= i && i <= to {
					c = Override(c, o.ContainerOverrides)
				}
			}
		}
		all[i] = Part{Container: c, Node: true, Declared: types.TaskContainerProperties{Name: aws.String(strconv.Itoa(int(i))),
			Essential: aws.Bool(i == main), Image: c.Image, Environment: c.Environment}}
		if i != main {
			all[i].Declared.DependsOn = []types.TaskContainerDependency{
				{ContainerName: aws.String(strconv.Itoa(int(main))), Condition: aws.String(OnStart)}}
		}
	}
	return all
}

// RangeOfNode returns the properties of node i of n. Of nested ranges, the narrowest applies. It
// is nil if no range has the node.
func RangeOfNode(p *types.NodeProperties, i, n int32) *types.NodeRangeProperty {
	var best *types.NodeRangeProperty
	width := n
	for k := range p.NodeRangeProperties {
		r := &p.NodeRangeProperties[k]
		if from, to, ok := NodeRange(r.TargetNodes, n); ok && from <= i && i <= to && (best == nil || to-from < width) {
			best, width = r, to-from
		}
	}
	return best
}

// NodeRange parses targetNodes of n nodes: "2", "0:3", ":3" or "2:".
func NodeRange(text *string, n int32) (from, to int32, ok bool) {
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
