package replay

import (
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// properties returns the container in the form of a definition: its description without its
// outcome.
func properties(d *types.ContainerDetail) *types.ContainerProperties {
	return &types.ContainerProperties{
		Command:                      d.Command,
		EnableExecuteCommand:         d.EnableExecuteCommand,
		Environment:                  d.Environment,
		EphemeralStorage:             d.EphemeralStorage,
		ExecutionRoleArn:             d.ExecutionRoleArn,
		FargatePlatformConfiguration: d.FargatePlatformConfiguration,
		Image:                        d.Image,
		InstanceType:                 d.InstanceType,
		JobRoleArn:                   d.JobRoleArn,
		LinuxParameters:              linux(d.LinuxParameters),
		LogConfiguration:             d.LogConfiguration,
		Memory:                       d.Memory, //lint:ignore SA1019 older jobs are described with it
		MountPoints:                  d.MountPoints,
		NetworkConfiguration:         d.NetworkConfiguration,
		Privileged:                   d.Privileged,
		ReadonlyRootFilesystem:       d.ReadonlyRootFilesystem,
		RepositoryCredentials:        d.RepositoryCredentials,
		ResourceRequirements:         d.ResourceRequirements,
		RuntimePlatform:              d.RuntimePlatform,
		Secrets:                      d.Secrets,
		Ulimits:                      d.Ulimits,
		User:                         d.User,
		Vcpus:                        d.Vcpus, //lint:ignore SA1019 older jobs are described with it
		Volumes:                      d.Volumes,
	}
}

// linux returns nil where the job set nothing: AWS Batch describes every container on EC2 with
// linuxParameters, mostly empty ones.
func linux(l *types.LinuxParameters) *types.LinuxParameters {
	if l == nil || len(l.Devices) == 0 && len(l.Tmpfs) == 0 && l.InitProcessEnabled == nil && l.MaxSwap == nil &&
		l.SharedMemorySize == nil && l.Swappiness == nil {
		return nil
	}
	return l
}

// clusters match the names of the ECS clusters of compute environments: the usual one, an older
// one, and that of the local engine's own environment. They are compiled when they are first
// needed, which keeps the start of the program fast.
var clusters = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^AWSBatch-(.+)-` + uuid + `$`),
		regexp.MustCompile(`^(.+)_Batch_` + uuid + `$`),
		regexp.MustCompile(`^AWSBatch-(.+)$`),
	}
})

// uuid is the expression for a UUID in a cluster's name.
const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// environmentOf returns the compute environment in which an attempt ran. Only the ARNs of its task
// and instance contain it: arn:aws:ecs:region:account:task/CLUSTER/id.
func environmentOf(c *types.AttemptContainerDetail) string {
	if c == nil {
		return ""
	}
	for _, arn := range []*string{c.TaskArn, c.ContainerInstanceArn} {
		parts := strings.Split(aws.ToString(arn), "/")
		if len(parts) != 3 {
			continue
		}
		for _, cluster := range clusters() {
			if m := cluster.FindStringSubmatch(parts[1]); m != nil {
				return m[1]
			}
		}
	}
	return ""
}
