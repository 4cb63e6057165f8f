package container

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Unhonoured returns the members that only AWS can provide, and those that make the job fail at
// its start.
func (x *Executor) Unhonoured(c *types.ContainerProperties) []string {
	refused := !x.options.AllowPrivileged
	members := []struct {
		name  string
		given bool
	}{
		{"ephemeralStorage", c.EphemeralStorage != nil},
		{"fargatePlatformConfiguration", c.FargatePlatformConfiguration != nil},
		{"enableExecuteCommand", aws.ToBool(c.EnableExecuteCommand)},
		{"executionRoleArn", c.ExecutionRoleArn != nil},
		{"jobRoleArn", c.JobRoleArn != nil},
		{"networkConfiguration", c.NetworkConfiguration != nil},
		{"repositoryCredentials", c.RepositoryCredentials != nil},
		{"runtimePlatform", c.RuntimePlatform != nil},
		{"secrets", len(c.Secrets) > 0},
		{"volumes (of EFS or S3)", slices.ContainsFunc(c.Volumes, func(v types.Volume) bool { return !isLocal(v) })},
		{"privileged (the job will fail: needs --allow-privileged)", refused && aws.ToBool(c.Privileged)},
		{"linuxParameters.devices (the job will fail: needs --allow-privileged)", refused && c.LinuxParameters != nil && len(c.LinuxParameters.Devices) > 0},
	}
	var names []string
	for _, m := range members {
		if m.given {
			names = append(names, m.name)
		}
	}
	names = append(names, attempt.UnhonouredLogging(c.LogConfiguration)...)
	if _, err := x.mounts(c); err != nil {
		names = append(names, "mountPoints (the job will fail: "+err.Error()+")")
	}
	return names
}
