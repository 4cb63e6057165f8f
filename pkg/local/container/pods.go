package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// podLabel identifies the volumes of a pod.
const podLabel = "batchctl.pod"

// podFlags returns the flags and the command that only containers of pods have. As in Kubernetes, a
// command of the container replaces the entrypoint of the image and its command.
func (x *Executor) podFlags(a attempt.Attempt) (flags, command []string, err error) {
	if a.Pod == nil {
		return nil, a.Command, nil
	}
	command = a.Command
	if argv := a.Pod.Entrypoint; len(argv) > 0 {
		flags = append(flags, "--entrypoint="+argv[0])
		command = a.Argv()[1:]
	}
	if a.Pod.NoNewPrivileges {
		flags = append(flags, "--security-opt=no-new-privileges")
	}
	for _, v := range a.Pod.EmptyDirs {
		if err := checkPath(v.Path); err != nil {
			return nil, nil, fmt.Errorf("mount path of volume %s: %w", v.Volume, err)
		}
		arg := "--mount=type=volume,source=" + podVolume(a.PodID, v.Volume) + ",destination=" + v.Path
		if v.ReadOnly {
			arg += ",ro" // podman 4 does not know readonly for volumes
		}
		flags = append(flags, arg)
	}
	return flags, command, nil
}

// podVolume returns the name of an emptyDir volume of a pod.
func podVolume(pod, volume string) string {
	return nameOf(attempt.Attempt{ID: pod + "-" + volume})
}

// createVolumes creates the emptyDir volumes of a container, unless another container of the pod has done so.
func (x *Executor) createVolumes(ctx context.Context, a attempt.Attempt) error {
	if a.Pod == nil {
		return nil
	}
	x.volumes.Lock()
	defer x.volumes.Unlock()
	for _, v := range a.Pod.EmptyDirs {
		if err := x.createVolume(ctx, a, v); err != nil {
			return fmt.Errorf("emptyDir volume %s: %w", v.Volume, err)
		}
	}
	return nil
}

// createVolume creates a volume that every user can write to, as in Kubernetes.
func (x *Executor) createVolume(ctx context.Context, a attempt.Attempt, v model.EmptyDir) error {
	name := podVolume(a.PodID, v.Volume)
	if _, err := x.output(ctx, "volume", "inspect", "--", name); err == nil {
		return nil
	}
	args := []string{"volume", "create", "--label=" + podLabel + "=" + a.PodID}
	if v.InMemory {
		options := "mode=0777"
		if v.SizeMiB > 0 {
			options += fmt.Sprintf(",nr_blocks=%d", v.SizeMiB<<8) // of 4 KiB; podman takes size for a quota of the disk
		}
		args = append(args, "--opt=type=tmpfs", "--opt=device=tmpfs", "--opt=o="+options)
	}
	if _, err := x.output(ctx, append(args, "--", name)...); err != nil || v.InMemory {
		return err
	}
	place, err := x.output(ctx, "volume", "inspect", "--format={{.Mountpoint}}", "--", name)
	if err == nil {
		err = os.Chmod(strings.TrimSpace(place), 0o777)
	}
	// The daemon's directories are closed to other users than root. The container's root can still write.
	if user := aws.ToString(a.Container.User); err != nil && user != "" && user != "0" &&
		!strings.HasPrefix(user, "0:") {
		return fmt.Errorf("make it writable for user %s: %w", user, err)
	}
	return nil
}

// ClearPod removes the volumes of a pod whose containers have ended.
func (x *Executor) ClearPod(id string) error { return x.clearVolumes(id) }

// clearVolumes removes the volumes of a pod.
func (c client) clearVolumes(id string) error {
	list, err := c.quickly("volume", "ls", "--quiet", "--filter", "label="+podLabel+"="+id)
	if err != nil {
		return fmt.Errorf("find the volumes of a pod: %w", err)
	}
	for _, name := range strings.Fields(list) {
		_, removed := c.quickly("volume", "rm", "--", name)
		err = errors.Join(err, removed)
	}
	return err
}
