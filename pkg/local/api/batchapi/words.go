//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package batchapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The messages below are AWS Batch's own, word for word, as public reports quote them. Clients match on some of them,
// so the engine must answer with them and not with its own words. Each names its source.

// wordsOfRules are the messages for requests that break a rule of validate, as badmintoncryer/cdk-preflight quotes them
// (rules/batch, meta.yaml of each rule, September 2026). Messages with a value of the request are not among them.
// RegisterJobDefinition answers in the form of failed.
var wordsOfRules = map[string]string{
	"ce-bid-range":                       "Bid percentage must be between 0 to 100.",
	"ce-fargate-no-allocationstrategy":   "allocationStrategy is not applicable for Fargate.",
	"ce-fargate-sg-max":                  "Fargate supports a maximum of 5 security groups.",
	"ce-fargate-subnets-max":             "Fargate supports a maximum of 16 subnets.",
	"ce-instancetypes-one-arch":          "arm-based instance type cannot be used with other instance types.",
	"ce-instancetypes-required":          "Resource instanceTypes are required.",
	"ce-lt-version":                      "LaunchTemplateVersion must be either empty or a number or $Default or $Latest.",
	"ce-securitygroups-required":         "Security group ids are required.",
	"ce-spot-fleet-role":                 "compute resource spotIamFleetRole is required.",
	"ce-unmanaged-slr":                   "Service Linked Role cannot be used with UNMANAGED Compute Environment.",
	"ec2-no-fargateplatform":             "fargatePlatformConfiguration not applicable for EC2.",
	"ec2-no-networkconfiguration":        "networkConfiguration not applicable for EC2.", // pplu/cfn-fargate-batch
	"ec2-no-runtimeplatform":             "runtimePlatform is not applicable for EC2.",
	"ecs-fargate-execution-role":         "executionRoleArn is required for Fargate jobs.",
	"ecs-firelens-needs-driver":          "When a firelensConfiguration object is specified, at least one container has to be configured with the awsfirelens log driver",
	"efs-accesspoint-rootdir":            `When using an EFS access point, the root directory must either be set to "/" or be omitted.`,
	"efs-accesspoint-transit-encryption": "EFS IAM access point requires TransitEncryption to be enabled.",
	"efs-iam-transit-encryption":         "EFS IAM authorization requires TransitEncryption to be enabled.",
	"efs-port-range":                     "TransitEncryptionPort must be a valid port number.",
	"fargate-ephemeral-range":            "Ephemeral storage for Fargate tasks can be only between range 21 GiB to 200 GiB",
	"fargate-execution-role":             "executionRoleArn is required for Fargate jobs.",
	"fargate-no-devices":                 "linuxParameter.devices is not allowed for Fargate.",
	"fargate-no-host-sourcepath":         "host.sourcePath should not be set for volumes in Fargate.",
	"fargate-no-maxswap":                 "linuxParameter.maxSwap is not allowed for Fargate.",
	"fargate-no-privileged":              "Fargate requires that the ‘privileged’ setting be ‘false’ at the container level.",
	"fargate-no-sharedmemorysize":        "linuxParameter.sharedMemorySize is not allowed for Fargate.",
	"fargate-no-tmpfs":                   "linuxParameter.tmpfs is not allowed for Fargate.",
	"fargate-no-ulimits":                 "ulimits is not applicable for Fargate.",
	"maxswap-requires-swappiness":        "When container specified swap memory, swappiness value is required.",
	"mnp-instancetypes-ecs-only":         "Using instanceTypes with nodeRangeProperty is only allowed for ecsProperties jobs.",
	"mnp-ranges-max-5":                   "Maximum allowed size of node range properties is 5",
	"queue-ce-duplicate":                 "Duplicate ComputeEnvironments within order list.",
	"queue-ce-duplicate-order":           "Duplicate ComputeEnvironment order values.",
	"queue-ce-order-max-3":               "Only 3 environments are allowed in job queue request.",
	"queue-service-env-single":           "Job queue can only have 1 service environment.",
	"s3files-requires-job-role":          "A jobRoleArn/taskRoleArn is required when using s3filesVolumeConfiguration.",
	"secretoptions-execution-role":       "executionRoleArn cannot be empty when using secrets or secretOptions",
	"secrets-execution-role":             "executionRoleArn cannot be empty when using secrets or secretOptions",
	"tmpfs-size-positive":                "Size of a tmpfs is invalid. The size is required and must be a positive integer.",
	"windows-x86-only":                   "Windows supported only by X86_64 cpuArchitecture",
}

// checkNamed rejects names together with maxResults. The report has the text for environments, and says that the same
// happens for queues and definitions (k1LoW/awspec#563).
func checkNamed(member string, names []string, maxResults *int32) error {
	if len(names) > 0 && maxResults != nil {
		return failed(member + " and MaxResults cannot both be set")
	}
	return nil
}

// unknownQueue is the answer to a job for a queue that does not exist, by the name or ARN that the request has
// (base2genomics/batchit#13; kislyuk/aegea creates the queue when it reads this).
func unknownQueue(asked string) error { return wire.ClientException("JobQueue %s not found.", asked) }

// checkFargateSize rejects vCPUs and memory that Fargate does not offer: for a definition (terraform-aws-modules/
// terraform-aws-batch#6), and for a job with its overrides (Netflix/metaflow#749). The containers of a task share one
// size, so their sum counts, as for the rules of validate.
func checkFargateSize(d *model.Definition, w *model.Work, isJob bool) error {
	if !d.Fargate() || d.Request.NodeProperties != nil {
		return nil
	}
	vcpus := float64(w.Need.MilliCPU) / 1000
	if slices.Contains(catalog.FargateMemory(vcpus), int(w.Need.MemoryMiB)) {
		return nil
	}
	text := fmt.Sprintf("Fargate resource requirements (%.2f vCPU, %d MiB) not valid.", vcpus, w.Need.MemoryMiB)
	if isJob {
		return wire.ClientException("%s", text)
	}
	return failed(text)
}

// checkWholeVCPUs rejects vCPUs of a container on EC2 that are no whole number, such as 1.0 (kestra-io/plugin-aws#504).
// No report says the same of tasks with several containers.
func checkWholeVCPUs(d *model.Definition, w *model.Work) error {
	if d.Fargate() || w.Container == nil || len(w.Parts) > 0 {
		return nil
	}
	for _, r := range w.Container.ResourceRequirements {
		if text := aws.ToString(r.Value); r.Type == types.ResourceTypeVcpu && strings.Contains(text, ".") {
			return failed("Value " + text +
				" for type VCPU in resourceRequirement is not valid. Please provide a numeric value.")
		}
	}
	return nil
}

// checkOverrides rejects overrides of a container that AWS Batch rejects on Fargate: the legacy members vcpus and
// memory (insitro/redun#95).
func checkOverrides(d *model.Definition, in *awsbatch.SubmitJobInput) error {
	o := in.ContainerOverrides
	switch {
	case o == nil || !d.Fargate():
		return nil
	case o.Vcpus != nil:
		return wire.ClientException("vcpus is not applicable for Fargate. Use resource requirements instead.")
	case o.Memory != nil:
		return wire.ClientException("memory is not applicable for Fargate. Use resource requirements instead.")
	}
	return nil
}

// checkCommand rejects a command of a job with an empty element (boto/boto3#3612).
func checkCommand(o *types.ContainerOverrides) error {
	if o != nil && slices.Contains(o.Command, "") {
		return wire.ClientException("Command cannot be empty")
	}
	return nil
}
