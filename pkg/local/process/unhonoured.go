package process

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Unhonoured returns the members of a container that are not applied to a process.
func (p Executor) Unhonoured(c *types.ContainerProperties) []attempt.Member {
	l := c.LinuxParameters
	if l == nil {
		l = &types.LinuxParameters{}
	}
	members := attempt.Given(map[attempt.Member]bool{
		// By design: the command runs with the programs on this machine. One that is missing is an error.
		{Name: "image"}: !isWorkloads(aws.ToString(c.Image)),
		// The engine ends and reaps everything that the command leaves, as an init process does.
		{Name: "linuxParameters.initProcessEnabled"}: aws.ToBool(l.InitProcessEnabled),
		// The machine's own swap and shared memory are seldom smaller.
		{Name: "linuxParameters.maxSwap"}:          l.MaxSwap != nil,
		{Name: "linuxParameters.swappiness"}:       l.Swappiness != nil,
		{Name: "linuxParameters.sharedMemorySize"}: l.SharedMemorySize != nil,
		// Only AWS ends the job that needs more. Every job has a memory limit, so a status reason would say nothing.
		{Name: "the memory as a limit"}: !canWatchMemory,
		// A process of yours has fewer permissions than a privileged container, unless you are root. Programs that try
		// without them fail, or leave out a step.
		{Name: "privileged", Effect: attempt.Differs}: aws.ToBool(c.Privileged) && os.Geteuid() != 0,
		// What writes to the file system fails only on AWS.
		{Name: "readonlyRootFilesystem", Effect: attempt.Differs}: aws.ToBool(c.ReadonlyRootFilesystem),
		// Files may be readable and writable for one user and not for the other.
		{Name: "user", Effect: attempt.Differs}: c.User != nil && !isOwnUser(*c.User),
		// A volume that no mount point names is not used. The mount points follow.
		{Name: "volumes"}: len(c.Volumes) > 0 && len(c.MountPoints) == 0,
	})
	members = append(members, attempt.UnhonouredEverywhere(c)...)
	for _, t := range l.Tmpfs {
		// The command would write to a directory that others use, or fail.
		members = append(members,
			prevents("linuxParameters.tmpfs", "a process does not get a file system in memory at "+
				aws.ToString(t.ContainerPath)))
	}
	for _, d := range l.Devices {
		members = append(members, deviceMembers(d)...)
	}
	for _, m := range c.MountPoints {
		members = append(members, mountMembers(c, m)...)
	}
	// A program that needs a limit fails on the one system or on the other.
	for _, name := range unhonouredUlimits(c.Ulimits) {
		members = append(members, attempt.Member{Name: name, Effect: attempt.Differs})
	}
	slices.SortStableFunc(members, func(a, b attempt.Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// prevents returns a member without which a process must not start.
func prevents(name, problem string) attempt.Member {
	return attempt.Member{Name: name, Effect: attempt.Prevents, Why: problem +
		"; run the job in a container: --executor " + attempt.Containers()}
}

// isOwnUser reports whether a container's user is the user of this process.
func isOwnUser(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	uid := os.Geteuid()
	return name == strconv.Itoa(uid) || name == "root" && uid == 0
}

// deviceMembers returns what a process lacks of a device: nothing if it has the same path here.
func deviceMembers(d types.Device) []attempt.Member {
	host := aws.ToString(d.HostPath)
	if inside := aws.ToString(d.ContainerPath); inside != "" && inside != host {
		return []attempt.Member{prevents("linuxParameters.devices", "a process does not find device "+host+" at "+
			inside)}
	}
	if _, err := os.Stat(host); err != nil {
		return []attempt.Member{prevents("linuxParameters.devices", "device "+host+" does not exist on this machine")}
	}
	return nil
}

// mountMembers returns what a process lacks of a mount point: nothing if its path in the container
// is the mounted directory on this machine too.
func mountMembers(c *types.ContainerProperties, m types.MountPoint) []attempt.Member {
	const name = "mountPoints"
	inside, volume := aws.ToString(m.ContainerPath), aws.ToString(m.SourceVolume)
	i := slices.IndexFunc(c.Volumes, func(v types.Volume) bool { return aws.ToString(v.Name) == volume })
	if i < 0 {
		return []attempt.Member{{Name: name, Effect: attempt.Prevents,
			Why: fmt.Sprintf("mount point %s: there is no volume %q", inside, volume)}}
	}
	if v := c.Volumes[i]; v.EfsVolumeConfiguration != nil || v.S3filesVolumeConfiguration != nil {
		return []attempt.Member{attempt.RemoteVolume(inside, v)}
	}
	source := ""
	if h := c.Volumes[i].Host; h != nil {
		source = aws.ToString(h.SourcePath)
	}
	if source == "" {
		return []attempt.Member{prevents(name, "mount point "+inside+": a process gets no empty volume there")}
	}
	there, err := os.Stat(source)
	if err != nil && path.Clean(source) == path.Clean(inside) {
		// A process that opens the directory gets an error. On AWS it exists: Docker creates it.
		return []attempt.Member{{Name: name, Effect: attempt.Differs}}
	}
	if err != nil {
		return []attempt.Member{prevents(name, "mount point "+inside+": "+source+" of volume "+volume+
			" does not exist on this machine")}
	}
	if here, err := os.Stat(inside); err != nil || !os.SameFile(here, there) {
		return []attempt.Member{prevents(name, "mount point "+inside+": a process does not find "+source+" there")}
	}
	if aws.ToBool(m.ReadOnly) {
		// What writes there fails only on AWS.
		return []attempt.Member{{Name: name + ".readOnly", Effect: attempt.Differs}}
	}
	return nil
}
