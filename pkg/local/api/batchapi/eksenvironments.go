package batchapi

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// checkEKS rejects an environment on EKS that Batch rejects, and image types of the other
// orchestration (API reference of EksConfiguration, ComputeResource and Ec2Configuration; rules
// ce-eks-* and ce-imagetype-platform).
func checkEKS(in *awsbatch.CreateComputeEnvironmentInput) error {
	r, eks := in.ComputeResources, in.EksConfiguration
	if err := checkImageTypes(r, eks != nil); err != nil || eks == nil {
		return err
	}
	namespace := aws.ToString(eks.KubernetesNamespace)
	switch {
	case aws.ToString(eks.EksClusterArn) == "" || namespace == "":
		return wire.ClientException("eksClusterArn and kubernetesNamespace are required in eksConfiguration.")
	case !eksCluster().MatchString(*eks.EksClusterArn):
		return wire.ClientException("eksClusterArn must be an EKS cluster ARN.")
	case namespace == "default":
		return wire.ClientException("kubernetesNamespace cannot be the default Kubernetes namespace")
	case strings.HasPrefix(namespace, "kube-"):
		return wire.ClientException("kubernetesNamespace cannot be a reserved Kubernetes system namespace")
	case !kubernetesNamespace().MatchString(namespace):
		return wire.ClientException("kubernetesNamespace must be a valid Kubernetes namespace.")
	case in.Type != types.CETypeManaged || r == nil: // your own nodes (user guide, unmanaged compute environments)
		return nil
	case r.Type != types.CRTypeEc2 && r.Type != types.CRTypeSpot:
		return wire.ClientException("Supported compute types for EKS compute environments are [EC2, SPOT]")
	case r.AllocationStrategy == "":
		return wire.ClientException("allocationStrategy is required for EKS Compute Environments.")
	case r.AllocationStrategy == types.CRAllocationStrategyBestFit:
		return wire.ClientException("allocationStrategy BEST_FIT is not supported for EKS Compute Environments.")
	}
	return nil
}

// checkImageTypes rejects image types of ECS for an environment on EKS, and the reverse.
func checkImageTypes(r *types.ComputeResource, onEKS bool) error {
	if r == nil {
		return nil
	}
	for _, c := range r.Ec2Configuration {
		if image := aws.ToString(c.ImageType); strings.HasPrefix(image, "EKS_") != onEKS && image != "" {
			return wire.ClientException("Invalid imageType in ComputeResources.ec2Configuration")
		}
	}
	return nil
}

var (
	eksCluster          = lazy(`^arn:aws[a-z-]*:eks:[a-z0-9-]+:[0-9]{12}:cluster/.+$`)
	kubernetesNamespace = lazy(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)
