package batchapi

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// maxNodes is the largest number of nodes of a job. It limits the work for a request.
const maxNodes = 1000

// checkNodes rejects nodeProperties that Batch rejects.
func checkNodes(in *awsbatch.RegisterJobDefinitionInput) error {
	p := in.NodeProperties
	switch {
	case in.Type != types.JobDefinitionTypeMultinode:
		return nil
	case p == nil:
		return wire.ClientException("nodeProperties are required for a job definition of type multinode.")
	case in.ContainerProperties != nil || in.EcsProperties != nil || in.EksProperties != nil:
		return wire.ClientException("Only one of containerProperties, ecsProperties, eksProperties and nodeProperties can be given.")
	case in.ConsumableResourceProperties != nil:
		return cannot("consumableResourceProperties of a multi-node job definition")
	case aws.ToInt32(p.NumNodes) < 1 || aws.ToInt32(p.NumNodes) > maxNodes:
		return wire.ClientException("numNodes must be between 1 and %d.", maxNodes)
	case p.MainNode == nil || *p.MainNode < 0 || *p.MainNode >= *p.NumNodes:
		return wire.ClientException("mainNode must be at least 0 and less than numNodes.")
	}
	var refused error
	for _, r := range p.NodeRangeProperties {
		_, to, ok := model.NodeRange(r.TargetNodes, *p.NumNodes)
		switch {
		case !ok || to >= *p.NumNodes:
			return wire.ClientException("targetNodes %q is not a range of the %d nodes.", aws.ToString(r.TargetNodes), *p.NumNodes)
		case r.EcsProperties != nil:
			return cannot("ecsProperties of a node range")
		case r.EksProperties != nil:
			return cannot("eksProperties of a node range")
		case r.ConsumableResourceProperties != nil:
			return cannot("consumableResourceProperties of a node range")
		case r.Container == nil || aws.ToString(r.Container.Image) == "":
			return wire.ClientException("ECS Container Image must be provided.")
		}
		// Each node has its own amounts; the job reserves their sum.
		a, err := model.Requested(r.Container)
		if err != nil {
			return err
		}
		refused = gravest(refused, checkVariables(r.Container.Environment), checkAmount(a, false))
	}
	// Multi-node parallel jobs need EC2 (user guide, "Multi-node parallel jobs").
	if slices.Contains(in.PlatformCapabilities, types.PlatformCapabilityFargate) {
		refused = gravest(refused, faulty("Multi-node parallel jobs cannot run on Fargate."))
	}
	return gravest(covered(p, *p.NumNodes), refused)
}

// covered rejects ranges that leave out one of n nodes: that node would have no container.
func covered(p *types.NodeProperties, n int32) error {
	for i := range n {
		if model.RangeOfNode(p, i, n) == nil {
			return wire.ClientException("Node %d is in no range of nodeRangeProperties.", i)
		}
	}
	return nil
}

// checkNodeOverrides rejects overrides of nodes that Batch rejects, and overrides of nodes for a
// job without nodes.
func checkNodeOverrides(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) error {
	o := in.NodeOverrides
	switch {
	case d.NodeProperties == nil && o != nil:
		return wire.ClientException("nodeOverrides need a job definition of type multinode.")
	case d.NodeProperties == nil:
		return nil
	case in.ContainerOverrides != nil || in.EcsPropertiesOverride != nil:
		return wire.ClientException("Only nodeOverrides can be used with a job definition of type multinode.")
	case in.ArrayProperties != nil:
		return wire.ClientException("A multi-node parallel job cannot be an array.")
	case in.ConsumableResourcePropertiesOverride != nil:
		return cannot("consumableResourcePropertiesOverride of a multi-node job")
	}
	n := model.NumNodes(d, in)
	if n < 1 || n > maxNodes || n <= aws.ToInt32(d.NodeProperties.MainNode) {
		return wire.ClientException("numNodes must be between 1 and %d, and more than mainNode.", maxNodes)
	}
	if err := covered(d.NodeProperties, n); err != nil || o == nil {
		return err
	}
	var refused error
	if o.NumNodes != nil {
		refused = checkOpenRange(d.NodeProperties, n)
	}
	targets := map[string]bool{}
	for _, r := range d.NodeProperties.NodeRangeProperties {
		targets[aws.ToString(r.TargetNodes)] = true
	}
	for _, v := range o.NodePropertyOverrides {
		_, to, ok := model.NodeRange(v.TargetNodes, n)
		switch {
		case !ok || to >= n:
			return wire.ClientException("targetNodes %q is not a range of the %d nodes.", aws.ToString(v.TargetNodes), n)
		case v.EcsPropertiesOverride != nil || v.EksPropertiesOverride != nil || v.ConsumableResourcePropertiesOverride != nil:
			return cannot("overrides of nodes other than containerOverrides")
		case !targets[aws.ToString(v.TargetNodes)]:
			refused = gravest(refused, faulty("NodeOverride targets should match job definition. Non matching targets - %s", *v.TargetNodes))
		}
		if v.ContainerOverrides != nil {
			refused = gravest(refused, checkVariables(v.ContainerOverrides.Environment))
		}
	}
	return refused
}

// checkOpenRange rejects a number of nodes in a request if the definition has no open range, or one
// that starts after them (API reference of NodeOverrides).
func checkOpenRange(p *types.NodeProperties, n int32) error {
	refused := faulty("numNodes can be overridden only where targetNodes of a node range has no end, such as 0:.")
	for _, r := range p.NodeRangeProperties {
		if !strings.HasSuffix(aws.ToString(r.TargetNodes), ":") {
			continue
		}
		if from, _, _ := model.NodeRange(r.TargetNodes, maxNodes); from >= n {
			return faulty("numNodes must be more than the start of targetNodes %q, got %d.", *r.TargetNodes, n)
		}
		refused = nil
	}
	return refused
}
