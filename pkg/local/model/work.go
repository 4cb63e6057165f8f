package model

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Work is what a job runs and requests: its definition with the request's overrides.
type Work struct {
	// Container is the only container; of several, the leading one.
	Container *types.ContainerProperties
	// Parts are the containers of a task that has several, of a pod, or of nodes; else empty.
	Parts []Part
	// Pods are the pods of a job, by the index of the node; one if it has no nodes. Other jobs have none.
	Pods     []*types.EksPodPropertiesDetail
	Need     Amount // of each attempt
	Consumes []Requirement
}

// Requirement is how much of one consumable resource an attempt needs.
type Requirement struct {
	Name     string
	Quantity int64
}

// WorkOf returns what a job of the definition runs and requests with the overrides of its request.
// The error is Batch's answer to an invalid request.
func WorkOf(d *Definition, in *awsbatch.SubmitJobInput) (*Work, error) {
	consumes := requirements(d.Request, in)
	if d.Platform() == PlatformEKS {
		return podWork(d.Request, in, consumes)
	}
	c, parts, need, err := requests(d, in)
	return &Work{Container: c, Parts: parts, Need: need, Consumes: consumes}, err
}

// requests returns what the containers of a job are and request together.
func requests(d *Definition,
	in *awsbatch.SubmitJobInput) (container *types.ContainerProperties, all []Part, need Amount, err error) {
	all = Parts(d.Request, in)
	if len(all) == 0 {
		container = Override(d.Request.ContainerProperties, in.ContainerOverrides)
		need, err = Requested(container)
		return container, nil, need, err
	}
	if need, err = Requests(all); err != nil {
		return nil, nil, need, err
	}
	return all[leading(all, mainNode(d.Request))].Container, all, need, nil
}

// Requests returns what containers request together. The error is that of Requested.
func Requests(all []Part) (need Amount, err error) {
	for i := range all {
		one, err := Requested(all[i].Container)
		if err != nil {
			return need, err
		}
		need = need.plus(one)
	}
	return need, nil
}

// podWork returns the work of a job of pods.
func podWork(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput,
	consumes []Requirement) (*Work, error) {
	w := &Work{Container: &types.ContainerProperties{}, Consumes: consumes}
	var nodes [][]Part
	add := func(p *types.EksProperties, over *types.EksPropertiesOverride) error {
		pod, err := PodOf(p, over)
		if err != nil {
			return err
		}
		parts := podParts(pod)
		w.Pods, w.Need, nodes = append(w.Pods, pod), w.Need.plus(podNeed(parts)), append(nodes, parts)
		return nil
	}
	if d.NodeProperties == nil {
		if err := add(d.EksProperties, in.EksPropertiesOverride); err != nil {
			return nil, err
		}
		w.Parts = nodes[0]
	} else {
		for i, n := int32(0), NumNodes(d, in); i < n; i++ {
			var own *types.EksPropertiesOverride
			if o := overrideOfNode(in, i, n); o != nil {
				own = o.EksPropertiesOverride
			}
			if err := add(RangeOfNode(d.NodeProperties, i, n).EksProperties, own); err != nil {
				return nil, err
			}
		}
		w.Parts = joinNodes(nodes, mainNode(d))
	}
	if at := leading(w.Parts, mainNode(d)); at >= 0 {
		w.Container = w.Parts[at].Container
	}
	return w, nil
}

// IsPod reports whether the job runs as pods.
func (w *Work) IsPod() bool { return len(w.Pods) > 0 }

// requirements returns what a job requests. The request's list overrides the definition's. A job with nodes
// requests the lists of all its nodes besides.
func requirements(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Requirement {
	lists := []*types.ConsumableResourceProperties{cmp.Or(in.ConsumableResourcePropertiesOverride,
		d.ConsumableResourceProperties)}
	if d.NodeProperties != nil {
		for i, n := int32(0), NumNodes(d, in); i < n; i++ {
			lists = append(lists, consumedByNode(d.NodeProperties, in, i, n))
		}
	}
	sums := map[string]int64{}
	for _, p := range lists {
		if p == nil {
			continue
		}
		for _, r := range p.ConsumableResourceList {
			name, more := ResourceName(aws.ToString(r.ConsumableResource), KindConsumable), aws.ToInt64(r.Quantity)
			sums[name] += min(more, math.MaxInt64-sums[name])
		}
	}
	var all []Requirement
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, Requirement{name, sums[name]})
	}
	return all
}

// consumedByNode returns what node i of n requests; nil for nothing.
func consumedByNode(p *types.NodeProperties, in *awsbatch.SubmitJobInput, i,
	n int32) (list *types.ConsumableResourceProperties) {
	if r := RangeOfNode(p, i, n); r != nil {
		list = r.ConsumableResourceProperties
	}
	if o := overrideOfNode(in, i, n); o != nil {
		list = cmp.Or(o.ConsumableResourcePropertiesOverride, list)
	}
	return list
}
