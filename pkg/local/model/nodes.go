package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// A multi-node job is one task here, with the containers of all nodes as parts, in the order of the nodes.
// They start together or not at all, the main node first. When the main node ends, all end. Each container
// runs as a process on the local machine.

// NumNodes returns how many nodes a job has; in may be nil.
func NumNodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) int32 {
	if in != nil && in.NodeOverrides != nil && in.NodeOverrides.NumNodes != nil {
		return *in.NodeOverrides.NumNodes
	}
	return aws.ToInt32(d.NodeProperties.NumNodes)
}

// nodes returns the containers of a multi-node job with the overrides of its request, which may be
// nil. Its nodes must not be pods.
func nodes(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Part {
	var all [][]Part
	for i, n := int32(0), NumNodes(d, in); i < n; i++ {
		all = append(all, NodeParts(RangeOfNode(d.NodeProperties, i, n), overrideOfNode(in, i, n)))
	}
	return joinNodes(all, mainNode(d))
}

// mainNode returns the index of the main node; 0 if the job has no nodes.
func mainNode(d *awsbatch.RegisterJobDefinitionInput) int {
	if d.NodeProperties == nil {
		return 0
	}
	return int(aws.ToInt32(d.NodeProperties.MainNode))
}

// joinNodes returns the containers of all nodes as parts of one job. The other nodes wait for the main node to start.
func joinNodes(nodes [][]Part, main int) []Part {
	var all []Part
	for node, parts := range nodes {
		before, index := len(all), strconv.Itoa(node)
		for _, p := range parts {
			p.Node, p.After = node, slices.Clone(p.After) // containers of a pod share a list
			switch {
			case p.Pod != nil:
				for k := range p.Pod.EmptyDirs { // each node has volumes of its own
					p.Pod.EmptyDirs[k].Volume = index + "-" + p.Pod.EmptyDirs[k].Volume
				}
			case p.Task == nil:
				p.Declared.Name = &index
			}
			for k := range p.After {
				p.After[k].Part += before
			}
			all = append(all, p)
		}
	}
	first := leading(all, main)
	for i := range all {
		if all[i].Node != main {
			all[i].After = append(all[i].After, Dependency{first, OnStart})
		}
	}
	return all
}

// NodeParts returns the containers of one node of a range. Both arguments may be nil.
func NodeParts(r *types.NodeRangeProperty, o *types.NodePropertyOverride) []Part {
	if o == nil {
		o = &types.NodePropertyOverride{}
	}
	if r != nil && r.EcsProperties != nil {
		return TaskParts(r.EcsProperties, o.EcsPropertiesOverride)
	}
	c := &types.ContainerProperties{}
	if r != nil && r.Container != nil {
		c = r.Container
	}
	c = Override(c, o.ContainerOverrides)
	return []Part{{Container: c, Declared: types.TaskContainerProperties{Image: c.Image, Environment: c.Environment}}}
}

// overrideOfNode returns the override of a request, which may be nil, for node i of n; nil if it has none. Its targets
// are ranges of the definition, so the same one applies.
func overrideOfNode(in *awsbatch.SubmitJobInput, i, n int32) *types.NodePropertyOverride {
	if in == nil || in.NodeOverrides == nil {
		return nil
	}
	return narrowest(in.NodeOverrides.NodePropertyOverrides,
		func(o *types.NodePropertyOverride) *string { return o.TargetNodes }, i, n)
}

// RangeOfNode returns the properties of node i of n; nil if no range has the node.
func RangeOfNode(p *types.NodeProperties, i, n int32) *types.NodeRangeProperty {
	return narrowest(p.NodeRangeProperties, func(r *types.NodeRangeProperty) *string { return r.TargetNodes }, i, n)
}

// narrowest returns the narrowest of the ranges around node i of n, which applies if ranges are nested (API reference
// of NodeRangeProperty); nil if there is none.
func narrowest[T any](ranges []T, target func(*T) *string, i, n int32) (best *T) {
	width := n
	for k := range ranges {
		r := &ranges[k]
		if from, to, ok := NodeRange(target(r), n); ok && from <= i && i <= to && (best == nil || to-from < width) {
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
