package container

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// linux converts linuxParameters to flags; memory is the hard limit in MiB.
func (x *Executor) linux(l *types.LinuxParameters, memory int64) ([]string, error) {
	if l == nil {
		l = &types.LinuxParameters{}
	}
	// Without maxSwap a job gets no swap: instances of Batch have none, and docker alone would give
	// it as much swap as memory.
	swap := []string{fmt.Sprintf("--memory-swap=%dm", memory+int64(aws.ToInt32(l.MaxSwap)))}
	if l.MaxSwap != nil && l.Swappiness != nil {
		swap = append(swap, fmt.Sprintf("--memory-swappiness=%d", *l.Swappiness))
	}
	args := swap
	if l.SharedMemorySize != nil {
		args = append(args, fmt.Sprintf("--shm-size=%dm", *l.SharedMemorySize))
	}
	if aws.ToBool(l.InitProcessEnabled) {
		args = append(args, "--init")
	}
	for _, t := range l.Tmpfs {
		arg, err := tmpfs(t)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	for _, d := range l.Devices {
		arg, err := x.device(d)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// tmpfsOptions are the mount options that a tmpfs may have here; those that end with = have a
// value. The list is Batch's, without the options that change the kind of mount (bind, remount,
// shared and similar).
var tmpfsOptions = []string{"ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "sync", "async", "dirsync",
	"atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
	"mode=", "uid=", "gid=", "nr_inodes=", "nr_blocks="}

// tmpfs returns the flag for a tmpfs mount. The error names an option that is not supported.
func tmpfs(t types.Tmpfs) (string, error) {
	path := aws.ToString(t.ContainerPath)
	if err := checkPath(path); err != nil {
		return "", fmt.Errorf("tmpfs: %w", err)
	}
	options := []string{fmt.Sprintf("size=%dm", aws.ToInt32(t.Size))}
	for _, o := range t.MountOptions {
		if o == "defaults" {
			continue
		}
		name, _, hasValue := strings.Cut(o, "=")
		if hasValue {
			name += "="
		}
		if !slices.Contains(tmpfsOptions, name) || strings.Contains(o, ",") {
			return "", fmt.Errorf("tmpfs at %s: mount option %q is not supported here", path, o)
		}
		options = append(options, o)
	}
	return "--tmpfs=" + path + ":" + strings.Join(options, ","), nil
}

// device returns the flag for a device, which only --allow-privileged permits.
func (x *Executor) device(d types.Device) (string, error) {
	host := aws.ToString(d.HostPath)
	target := aws.ToString(d.ContainerPath)
	if target == "" {
		target = host
	}
	for _, path := range []string{host, target} {
		if err := checkPath(path); err != nil {
			return "", fmt.Errorf("device: %w", err)
		}
	}
	if !x.options.AllowPrivileged {
		return "", fmt.Errorf("the job uses device %s on this machine; to allow it: --allow-privileged", host)
	}
	permissions := ""
	for _, p := range d.Permissions {
		switch p {
		case types.DeviceCgroupPermissionRead:
			permissions += "r"
		case types.DeviceCgroupPermissionWrite:
			permissions += "w"
		case types.DeviceCgroupPermissionMknod:
			permissions += "m"
		default:
			return "", fmt.Errorf("device %s: unknown permission %q", host, p)
		}
	}
	if permissions == "" {
		permissions = "rwm"
	}
	return "--device=" + host + ":" + target + ":" + permissions, nil
}
