package attempt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Effect is what a member that an executor does not apply means for the job.
type Effect int

const (
	// Harmless means that the job's result does not depend on the member.
	Harmless Effect = iota
	// Differs means that the job runs, but may succeed here and fail on AWS, or the reverse. The status
	// reason of its attempt names the member.
	Differs
	// Prevents means that the result could be wrong without the member. The job does not start.
	Prevents
)

// Member is a member of a container that an executor does not apply.
type Member struct {
	// Name is the member's, with a detail if only a part of it is not applied.
	Name   string
	Effect Effect
	// Why, of a member that prevents the start, is the problem and what you can do about it.
	Why string
}

// Error types of Amazon ECS before the text of a reason (ECS developer guide, "Amazon ECS stopped
// tasks error messages"). Retry strategies match on them.
const (
	errorResource  = "ResourceInitializationError"
	errorContainer = "CannotCreateContainerError"
)

// Reason returns the container's reason, in AWS's style, of a job that m prevents from starting.
func (m Member) Reason() string {
	if strings.HasPrefix(m.Name, "mountPoints") {
		return errorResource + ": " + m.Why
	}
	return errorContainer + ": " + m.Why
}

// Prevented returns the first member that prevents a start; nil if there is none.
func Prevented(members []Member) *Member {
	if i := slices.IndexFunc(members, func(m Member) bool { return m.Effect == Prevents }); i >= 0 {
		return &members[i]
	}
	return nil
}

// Given returns those members of a table whose row is given.
func Given(table map[Member]bool) []Member {
	var members []Member
	for m, given := range table {
		if given {
			members = append(members, m)
		}
	}
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// UnhonouredEverywhere returns the members of a container that no executor applies.
func UnhonouredEverywhere(c *types.ContainerProperties) []Member {
	members := Given(map[Member]bool{
		// The size of Fargate's disk. A job that needs more than this machine has fails on its own.
		{Name: "ephemeralStorage"}: c.EphemeralStorage != nil,
		// A version of Fargate's agent and kernel.
		{Name: "fargatePlatformConfiguration"}: c.FargatePlatformConfiguration != nil,
		// A shell for people, beside the job.
		{Name: "enableExecuteCommand"}: aws.ToBool(c.EnableExecuteCommand),
		// AWS's agent uses the role to pull the image, to read secrets and to write logs. Here you do.
		{Name: "executionRoleArn"}: c.ExecutionRoleArn != nil,
		// Calls to AWS are made with your own permissions, or rejected there: they are not left out.
		{Name: "jobRoleArn"}: c.JobRoleArn != nil,
		// A public address and an interface in a subnet. The job uses this machine's network.
		{Name: "networkConfiguration"}: c.NetworkConfiguration != nil,
		// The login to a registry. A pull that needs it fails here, unless you are logged in.
		{Name: "repositoryCredentials"}: c.RepositoryCredentials != nil,
		// A machine of another architecture. A program of another one does not start.
		{Name: "runtimePlatform"}: c.RuntimePlatform != nil,
	})
	// Where the log goes says nothing about the result: the engine keeps it.
	for _, name := range UnhonouredLogging(c.LogConfiguration) {
		members = append(members, Member{Name: name})
	}
	return members
}

// RemoteVolume returns the mount point of a volume that only AWS has. path is that of the mount point.
func RemoteVolume(path string, v types.Volume) Member {
	where := "S3 Files"
	if e := v.EfsVolumeConfiguration; e != nil {
		where = "EFS " + aws.ToString(e.FileSystemId)
	}
	return Member{Name: "mountPoints", Effect: Prevents,
		Why: fmt.Sprintf("mount point %s: volume %s is in %s, which this machine cannot mount; "+
			"for local runs, give the volume a directory on this machine: host.sourcePath", path, aws.ToString(v.Name),
			where)}
}

// UnhonouredLogging returns the members of a log configuration that have no effect with any executor.
func UnhonouredLogging(c *types.LogConfiguration) []string {
	switch {
	case c == nil:
		return nil
	case c.LogDriver != types.LogDriverAwslogs:
		return []string{"logConfiguration"}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		if !model.HonoursLogOption(name) {
			names = append(names, "logConfiguration.options."+name)
		}
	}
	if len(c.SecretOptions) > 0 {
		names = append(names, "logConfiguration.secretOptions")
	}
	return names
}

// UnhonouredTask returns the members of a task of several containers that have no effect. contained
// means that its containers are containers here, and not processes.
func UnhonouredTask(t *types.EcsTaskProperties, contained bool) []Member {
	members := Given(map[Member]bool{
		{Name: "enableExecuteCommand"}: aws.ToBool(t.EnableExecuteCommand), // as above
		{Name: "ephemeralStorage"}:     t.EphemeralStorage != nil,
		{Name: "executionRoleArn"}:     t.ExecutionRoleArn != nil,
		{Name: "networkConfiguration"}: t.NetworkConfiguration != nil,
		{Name: "platformVersion"}:      t.PlatformVersion != nil,
		{Name: "runtimePlatform"}:      t.RuntimePlatform != nil,
		{Name: "taskRoleArn"}:          t.TaskRoleArn != nil,
	})
	// Processes share the namespaces of the engine, whatever the mode. Containers have their own
	// each, and could wait for one another indefinitely.
	for name, mode := range map[string]*string{"ipcMode": t.IpcMode, "pidMode": t.PidMode} {
		m := Member{Name: name}
		if contained && mode != nil && *mode != "none" {
			m.Effect = Prevents
			m.Why = fmt.Sprintf("%s %s: containers cannot share this namespace here; run the job as processes: --executor process", name, *mode)
		}
		if mode != nil {
			members = append(members, m)
		}
	}
	if contained {
		members = append(members, sharedVolumes(t)...)
	}
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// sharedVolumes returns the volumes without a path that several containers mount. Each container
// would get a volume of its own.
func sharedVolumes(t *types.EcsTaskProperties) []Member {
	var members []Member
	for _, v := range t.Volumes {
		if v.Host != nil && aws.ToString(v.Host.SourcePath) != "" || v.EfsVolumeConfiguration != nil ||
			v.S3filesVolumeConfiguration != nil {
			continue
		}
		name, users := aws.ToString(v.Name), 0
		for _, c := range t.Containers {
			if slices.ContainsFunc(c.MountPoints,
				func(p types.MountPoint) bool { return aws.ToString(p.SourceVolume) == name }) {
				users++
			}
		}
		if users > 1 {
			members = append(members, Member{Name: "mountPoints of volume " + name, Effect: Prevents,
				Why: fmt.Sprintf("volume %s is shared by %d containers and has no path: give it host.sourcePath, and allow that with --allow-mount DIRECTORY", name, users)})
		}
	}
	return members
}

// SecretsOf returns the secrets of a container, those of its log configuration last.
func SecretsOf(c *types.ContainerProperties) []types.Secret {
	all := slices.Clone(c.Secrets)
	if c.LogConfiguration != nil {
		all = append(all, c.LogConfiguration.SecretOptions...)
	}
	return all
}

// MissingSecret is the reason, in AWS's style, of a container with a secret that has no value. The
// beginning is that of the ECS agent (ECS developer guide, "ResourceInitializationError").
func MissingSecret(s types.Secret, why error) error {
	return fmt.Errorf(errorResource+": unable to pull secrets or registry auth: secret %s has no value: %w",
		aws.ToString(s.Name), why)
}

// ErrNoValue is why a secret has no value if nothing else is known.
var ErrNoValue = errors.New("submit the job with --secrets-from env or --secrets-from file:PATH; " +
	"the local engine keeps values in memory only, so a restart loses them")
