package container

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// namePrefix begins the name of every container of an engine.
const namePrefix = "batchctl-"

// nameOf returns the container's name. The attempt's id makes it unique among all attempts;
// jobLabel names the job.
func nameOf(a attempt.Attempt) string {
	return namePrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, a.ID)
}

// creation returns the call that creates the container of an attempt. Values follow their flag in
// the same argument, so that none can be taken for a flag. The error names what a job is not
// allowed to request here.
func (x *Executor) creation(name string, a attempt.Attempt) (call, error) {
	c := a.Container
	image := aws.ToString(c.Image)
	if err := checkImage(image); err != nil {
		return call{}, err
	}
	mounts, err := x.mounts(c)
	if err != nil {
		return call{}, err
	}
	staged, err := x.staged(a)
	if err != nil {
		return call{}, err
	}
	allowed, err := x.allowed(a)
	if err != nil {
		return call{}, err
	}
	special, command, err := x.podFlags(a)
	if a.Training != nil {
		special, command, err = trainingFlags(a)
	}
	if err != nil {
		return call{}, err
	}
	if slices.ContainsFunc(slices.Concat(a.Argv(), command),
		func(arg string) bool { return strings.ContainsRune(arg, 0) }) {
		return call{}, errors.New("the command has a NUL byte, which is not allowed in an argument")
	}
	var stop []string
	if x.kind == Podman { // podman rm would send the stop signal first, and wait
		stop = []string{"--stop-timeout=0"}
	}
	variables, err := environment(a)
	if err != nil {
		return call{}, err
	}
	_, around := x.groupAround(a)
	args := slices.Concat(
		[]string{"create", "--pull=never", "--log-driver=none", "--name=" + name,
			"--label=" + attemptLabel + "=" + a.ID, "--label=" + jobLabel + "=" + a.Job},
		stop, around, allowed, mounts, staged, x.gpus(a.GPUs), special, variables.flags, []string{"--", image}, command)
	return call{args: args, stdin: variables.file, env: variables.own}, nil
}

// trainingFlags returns the flags that only the container of a training job has, and its command. docker
// takes one word as the entrypoint, so the others come before the command.
func trainingFlags(a attempt.Attempt) (flags, command []string, err error) {
	v := a.Training
	if err := checkPath(filepath.ToSlash(v.Directory)); err != nil {
		return nil, nil, err
	}
	flags, command = []string{"--mount=type=bind,source=" + v.Directory + ",destination=/opt/ml",
		"--hostname=" + attempt.TrainingHost}, a.Command
	if v.Isolated {
		flags = append(flags, "--network=none")
	}
	if len(v.Entrypoint) > 0 {
		flags = append(flags, "--entrypoint="+v.Entrypoint[0])
		command = slices.Concat(v.Entrypoint[1:], a.Command)
	}
	return flags, command, nil
}

// transports are the prefixes before a colon that make podman read an image from somewhere other
// than a registry, above all from local files.
var transports = []string{"atomic", "containers-storage", "dir", "docker", "docker-archive", "docker-daemon", "oci",
	"oci-archive",
	"ostree", "sif", "tarball"}

// checkImage accepts what Batch accepts as an image and rejects what the programs accept beyond
// that.
func checkImage(image string) error {
	transport, _, _ := strings.Cut(image, ":")
	strange := strings.IndexFunc(image, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	if image == "" || strings.HasPrefix(image, "-") || strange >= 0 || slices.Contains(transports, transport) {
		return fmt.Errorf("%q is not the name of an image", image)
	}
	return nil
}

// isWorkloads reports whether an image is that of the shipped workloads.
func isWorkloads(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return image == "batchctl-workloads"
}

// memoryOf returns the container's hard limit in MiB.
func memoryOf(c *types.ContainerProperties) int64 {
	if v, err := strconv.ParseInt(requirement(c, types.ResourceTypeMemory), 10, 64); err == nil {
		return v
	}
	return int64(aws.ToInt32(c.Memory)) //lint:ignore SA1019 the deprecated member is part of the API that is served
}

// sharesOf returns the container's CPU shares, 1024 per vCPU: on EC2, a Batch job may use idle
// vCPUs of others. Linux allows 2 to 262144.
func sharesOf(c *types.ContainerProperties) int64 {
	vcpus, err := strconv.ParseFloat(requirement(c, types.ResourceTypeVcpu), 64)
	if err != nil {
		vcpus = float64(aws.ToInt32(c.Vcpus)) //lint:ignore SA1019 the deprecated member is part of the API that is served
	}
	return int64(min(max(vcpus*1024, 2), 262144))
}

// requirement returns the value of a resource requirement; "" if it is missing.
func requirement(c *types.ContainerProperties, kind types.ResourceType) string {
	for _, r := range c.ResourceRequirements {
		if r.Type == kind {
			return aws.ToString(r.Value)
		}
	}
	return ""
}

// allowed returns the flags for what the container may use and do. A training job has the whole machine,
// as it has its whole instance.
func (x *Executor) allowed(a attempt.Attempt) ([]string, error) {
	rights, err := x.rights(a.Container)
	if err != nil || a.Training != nil {
		return rights, err
	}
	limits, err := limits(a.Container)
	if err != nil {
		return nil, err
	}
	linux, err := x.linux(a.Container.LinuxParameters, memoryOf(a.Container))
	return slices.Concat(limits, rights, linux), err
}

// limits returns the flags for memory, CPU shares and ulimits.
func limits(c *types.ContainerProperties) ([]string, error) {
	args := []string{fmt.Sprintf("--cpu-shares=%d", sharesOf(c)), fmt.Sprintf("--memory=%dm", memoryOf(c))}
	for _, u := range c.Ulimits {
		name := aws.ToString(u.Name)
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return nil, fmt.Errorf("%q is not the name of a ulimit", name)
		}
		args = append(args, fmt.Sprintf("--ulimit=%s=%d:%d", name, aws.ToInt32(u.SoftLimit), aws.ToInt32(u.HardLimit)))
	}
	return args, nil
}

// rights returns the flags for the permissions of the container's user.
func (x *Executor) rights(c *types.ContainerProperties) ([]string, error) {
	var args []string
	if c.User != nil {
		args = append(args, "--user="+*c.User)
	}
	if aws.ToBool(c.ReadonlyRootFilesystem) {
		args = append(args, "--read-only")
		if x.kind == Podman { // podman would mount writable directories over it
			args = append(args, "--read-only-tmpfs=false")
		}
	}
	if aws.ToBool(c.Privileged) {
		if !x.options.AllowPrivileged {
			return nil, fmt.Errorf("the job is privileged, which gives it full control over this machine; to allow it: --allow-privileged")
		}
		args = append(args, "--privileged")
	}
	return args, nil
}

// gpus returns the flags for the devices of the attempt, which sees no others.
func (x *Executor) gpus(ids []string) []string {
	if len(ids) == 0 {
		return nil
	}
	if x.kind == Docker {
		// The flag takes CSV; the quotes keep several devices in one field.
		return []string{`--gpus="device=` + strings.Join(ids, ",") + `"`}
	}
	var args []string
	for _, id := range ids {
		args = append(args, "--device=nvidia.com/gpu="+id)
	}
	return args
}
