package container

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Unopened returns an executor that can only tell what it does not apply, without looking for the
// program. o.Program is Docker or Podman, or Either.
func Unopened(o Options) (attempt.Executor, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	return &Executor{client: client{kind: o.Program}, options: o}, nil
}

// Unhonoured returns the members that a container does not get here, and those that creation
// rejects.
func (x *Executor) Unhonoured(c *types.ContainerProperties) []attempt.Member {
	members := attempt.UnhonouredEverywhere(c)
	// A volume that no mount point names is not used.
	if len(c.Volumes) > 0 && len(c.MountPoints) == 0 {
		members = append(members, attempt.Member{Name: "volumes"})
	}
	for _, m := range c.MountPoints {
		i := slices.IndexFunc(c.Volumes,
			func(v types.Volume) bool { return aws.ToString(v.Name) == aws.ToString(m.SourceVolume) })
		if i >= 0 && !isLocal(c.Volumes[i]) {
			members = append(members, attempt.RemoteVolume(aws.ToString(m.ContainerPath), c.Volumes[i]))
		}
	}
	// The same checks as for the creation of the container, which would fail.
	_, mounts := x.mounts(c)
	_, linux := x.linux(c.LinuxParameters, memoryOf(c))
	_, rights := x.rights(c)
	_, limits := limits(c)
	for name, err := range map[string]error{"mountPoints": mounts, "linuxParameters": linux, "privileged": rights,
		"ulimits": limits} {
		if err != nil {
			members = append(members, attempt.Member{Name: name, Effect: attempt.Prevents, Why: err.Error()})
		}
	}
	slices.SortStableFunc(members, func(a, b attempt.Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}
