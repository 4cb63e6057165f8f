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
		all = append(all, NodeParts(RangeOfNode(d.NodeProperties, i, n), overridesOfNode(in, i, n)...))
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

// NodeParts returns the containers of one node of a range. Of several overrides, the last one wins.
func NodeParts(r *types.NodeRangeProperty, overrides ...types.NodePropertyOverride) []Part {
	if r != nil && r.EcsProperties != nil {
		var own []*types.EcsPropertiesOverride
		for _, o := range overrides {
			own = append(own, o.EcsPropertiesOverride)
		}
		return TaskParts(r.EcsProperties, own...)
	}
	c := &types.ContainerProperties{}
	if r != nil && r.Container != nil {
		c = r.Container
	}
	for _, o := range overrides {
		c = Override(c, o.ContainerOverrides)
	}
	return []Part{{Container: c, Declared: types.TaskContainerProperties{Image: c.Image, Environment: c.Environment}}}
}

// overridesOfNode returns the overrides of a request, which may be nil, for node i of n.
func overridesOfNode(in *awsbatch.SubmitJobInput, i, n int32) (all []types.NodePropertyOverride) {
	if in == nil || in.NodeOverrides == nil {
		return nil
	}
	for _, o := range in.NodeOverrides.NodePropertyOverrides {
		if from, to, ok := NodeRange(o.TargetNodes, n); ok && from <= i && i <= to {
			all = append(all, o)
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
