package batchapi

import (
	"cmp"
	"fmt"
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
		return failed("Node properties of multinode job is required.")
	case in.EksProperties != nil:
		return failed("Cannot use both nodeProperties and eksProperties")
	case in.ContainerProperties != nil || in.EcsProperties != nil:
		return wire.ClientException("Only one of containerProperties, ecsProperties and nodeProperties can be given.")
	case aws.ToInt32(p.NumNodes) < 1 || aws.ToInt32(p.NumNodes) > maxNodes:
		return failed(fmt.Sprintf("Number of nodes must be between 1 and %d.", maxNodes))
	case p.MainNode == nil || *p.MainNode < 0 || *p.MainNode >= *p.NumNodes:
		return failed("Main node index is out of range, must be less than numNodes.")
	}
	for _, r := range p.NodeRangeProperties {
		_, to, ok := model.NodeRange(r.TargetNodes, *p.NumNodes)
		if strings.Trim(aws.ToString(r.TargetNodes), "0123456789:") != "" {
			return failed("targetNodes should contain only digits.")
		}
		if !ok || to >= *p.NumNodes {
			return wire.ClientException("targetNodes %q is not a range of the %d nodes.", aws.ToString(r.TargetNodes),
				*p.NumNodes)
		}
		if err := checkNodeRange(&r); err != nil {
			return err
		}
	}
	isPod := func(r types.NodeRangeProperty) bool { return r.EksProperties != nil }
	if slices.ContainsFunc(p.NodeRangeProperties, isPod) {
		first := namespaceOf(p.NodeRangeProperties[0].EksProperties)
		for _, r := range p.NodeRangeProperties {
			switch {
			case !isPod(r):
				return wire.ClientException("Either all node ranges have eksProperties, or none has.")
			case namespaceOf(r.EksProperties) != first:
				return wire.ClientException("All node ranges must have the same namespace.")
			}
		}
		if err := checkPodMembers(in); err != nil {
			return err
		}
	}
	// Multi-node parallel jobs need EC2 (user guide, "Multi-node parallel jobs").
	if slices.Contains(in.PlatformCapabilities, types.PlatformCapabilityFargate) {
		return failed("Fargate does not support MNP jobs")
	}
	if covered(p, *p.NumNodes) != nil {
		return failed("Node Range Properties target nodes have missing ranges")
	}
	return nil
}

// namespaceOf returns the namespace of a pod; "" if it names none.
func namespaceOf(p *types.EksProperties) string {
	if p == nil || p.PodProperties == nil || p.PodProperties.Metadata == nil {
		return ""
	}
	return aws.ToString(p.PodProperties.Metadata.Namespace)
}

// checkNodeRange rejects the containers of a node range that Batch rejects. Each node has its own amounts; the
// job reserves their sum.
func checkNodeRange(r *types.NodeRangeProperty) error {
	switch {
	case r.Container != nil && r.EcsProperties != nil:
		return failed("NodeRangeProperties can not use both ecsProperties and container fields")
	case r.EksProperties != nil && (r.Container != nil || r.EcsProperties != nil):
		return wire.ClientException("A node range can have only one of container, ecsProperties and eksProperties.")
	case r.EksProperties != nil: // resources and variables are checked with those of all nodes, see checkPod
		return cmp.Or(checkPodProperties(r.EksProperties), checkConsumables(r.ConsumableResourceProperties))
	case r.EcsProperties != nil:
		if err := checkTask(r.EcsProperties); err != nil {
			return err
		}
	case r.Container == nil || aws.ToString(r.Container.Image) == "":
		return wire.ClientException("ECS Container Image must be provided.")
	default:
		if err := checkVariables(r.Container.Environment); err != nil {
			return err
		}
	}
	need, err := model.Requests(model.NodeParts(r, nil))
	return cmp.Or(err, checkAmount(need, false), checkConsumables(r.ConsumableResourceProperties))
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
	}
	n := model.NumNodes(d, in)
	if n < 1 || n > maxNodes || n <= aws.ToInt32(d.NodeProperties.MainNode) {
		return wire.ClientException("numNodes must be between 1 and %d, and more than mainNode.", maxNodes)
	}
	if err := covered(d.NodeProperties, n); err != nil || o == nil {
		return err
	}
	if o.NumNodes != nil {
		if err := checkOpenRange(d.NodeProperties, n); err != nil {
			return err
		}
	}
	for _, v := range o.NodePropertyOverrides {
		_, to, ok := model.NodeRange(v.TargetNodes, n)
		if !ok || to >= n {
			return wire.ClientException("targetNodes %q is not a range of the %d nodes.", aws.ToString(v.TargetNodes),
				n)
		}
		same := func(r types.NodeRangeProperty) bool { return aws.ToString(r.TargetNodes) == *v.TargetNodes }
		at := slices.IndexFunc(d.NodeProperties.NodeRangeProperties, same)
		if at < 0 {
			return wire.ClientException("NodeOverride targets should match job definition. Non matching targets - %s",
				*v.TargetNodes)
		}
		if err := checkNodeOverride(&d.NodeProperties.NodeRangeProperties[at], &v); err != nil {
			return err
		}
	}
	return nil
}

// checkNodeOverride rejects an override that does not match the kind of its node range, or its containers.
func checkNodeOverride(r *types.NodeRangeProperty, v *types.NodePropertyOverride) error {
	if err := checkConsumables(v.ConsumableResourcePropertiesOverride); err != nil {
		return err
	}
	switch target := aws.ToString(v.TargetNodes); {
	case r.EcsProperties != nil && v.ContainerOverrides != nil:
		return wire.ClientException("containerOverrides cannot be used for targetNodes %q: the node range has ecsProperties.", target)
	case r.EksProperties != nil && v.ContainerOverrides != nil:
		return wire.ClientException("containerOverrides cannot be used for targetNodes %q: the node range has eksProperties.", target)
	case r.EksProperties == nil && v.EksPropertiesOverride != nil:
		return wire.ClientException("eksPropertiesOverride cannot be used for targetNodes %q: the node range has no eksProperties.", target)
	case r.EcsProperties == nil && v.EcsPropertiesOverride != nil:
		return wire.ClientException("ecsPropertiesOverride cannot be used for targetNodes %q: the node range has no ecsProperties.", target)
	case v.ContainerOverrides != nil:
		return checkVariables(v.ContainerOverrides.Environment)
	case v.EcsPropertiesOverride != nil:
		return checkTaskOverride(r.EcsProperties, v.EcsPropertiesOverride)
	case v.EksPropertiesOverride != nil:
		return checkPodOverride(r.EksProperties, v.EksPropertiesOverride)
	}
	return nil
}

// checkOpenRange rejects a number of nodes in a request if the definition has no open range, or one
// that starts after them (API reference of NodeOverrides).
func checkOpenRange(p *types.NodeProperties, n int32) error {
	isOpen := false
	for _, r := range p.NodeRangeProperties {
		if !strings.HasSuffix(aws.ToString(r.TargetNodes), ":") {
			continue
		}
		if from, _, _ := model.NodeRange(r.TargetNodes, maxNodes); from >= n {
			return wire.ClientException("numNodes must be more than the start of targetNodes %q, got %d.",
				*r.TargetNodes, n)
		}
		isOpen = true
	}
	if !isOpen {
		return wire.ClientException("numNodes can be overridden only where targetNodes of a node range has no end, such as 0:.")
	}
	return nil
}
