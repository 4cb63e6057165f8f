package model

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stable"
)

// Work is what a job runs and requests: its definition with the request's overrides.
type Work struct {
	// Container is the only container; of several, the leading one.
	Container *types.ContainerProperties
	// Parts are the containers of a task that has several or of a pod, or the nodes; else empty.
	Parts    []Part
	Pod      *types.EksPodPropertiesDetail // nil for other jobs
	Need     Amount                        // of each attempt
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
	if d.Request.EksProperties != nil {
		return podWork(d.Request.EksProperties, in.EksPropertiesOverride, consumes)
	}
	c, parts, need, err := requests(d, in)
	return &Work{Container: c, Parts: parts, Need: need, Consumes: consumes}, err
}

// requests returns what the containers of a job are and request together.
func requests(d *Definition, in *awsbatch.SubmitJobInput) (container *types.ContainerProperties, all []Part, need Amount, err error) {
	all = Parts(d.Request, in)
	if len(all) == 0 {
		container = Override(d.Request.ContainerProperties, in.ContainerOverrides)
		need, err = Requested(container)
		return container, nil, need, err
	}
	for i := range all {
		one, err := Requested(all[i].Container)
		if err != nil {
			return nil, nil, need, err
		}
		need = need.plus(one)
	}
	return leading(all).Container, all, need, nil
}

// podWork returns the work of a job of a pod. It accepts what older engines accepted: the journal must stay readable.
func podWork(p *types.EksProperties, over *types.EksPropertiesOverride, consumes []Requirement) (*Work, error) {
	pod, err := PodOf(p, over)
	if err != nil {
		return nil, err
	}
	w := &Work{Container: &types.ContainerProperties{}, Pod: pod, Parts: podParts(pod), Consumes: consumes}
	w.Need = podNeed(w.Parts)
	if at := slices.IndexFunc(w.Parts, func(p Part) bool { return p.Essential() }); at >= 0 {
		w.Container = w.Parts[at].Container
	}
	return w, nil
}

// requirements returns what a job requests: the request's list overrides the definition's.
func requirements(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) []Requirement {
	p := d.ConsumableResourceProperties
	if in.ConsumableResourcePropertiesOverride != nil {
		p = in.ConsumableResourcePropertiesOverride
	}
	if p == nil {
		return nil
	}
	var all []Requirement
	for _, r := range p.ConsumableResourceList {
		all = append(all, Requirement{ResourceName(aws.ToString(r.ConsumableResource), KindConsumable), aws.ToInt64(r.Quantity)})
	}
	stable.Sort(all, func(a, b Requirement) int { return strings.Compare(a.Name, b.Name) })
	return all
}
