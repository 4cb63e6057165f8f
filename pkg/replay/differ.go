package replay

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Difference is something that differs between AWS Batch and the replay.
type Difference struct {
	// What is a member of the job ("secrets"), an environment variable, or "instance".
	What string
	// Why is what differs, and what you can do about it.
	Why string
}

// String is one line of the report.
func (d Difference) String() string { return d.What + ": " + d.Why }

// Differences returns everything that differs when x runs the attempt on a machine with these GPUs,
// given by the ids in RunOptions.
func (a *Attempt) Differences(x attempt.Executor, gpus []string) []Difference {
	all := slices.Clone(a.differences)
	if need := a.gpus(); need > len(gpus) {
		all = append(all, Difference{"GPUs", fmt.Sprintf("the job had %d, and this machine has %d", need, len(gpus))})
	}
	drop := func(members ...string) {
		all = slices.DeleteFunc(all, func(d Difference) bool { return slices.Contains(members, d.What) })
	}
	for _, m := range x.Unhonoured(a.Container) {
		switch {
		case m.Name == "image": // an unused image need not be the same
			drop("image", "executionRoleArn")
			all = append(all, Difference{m.Name, aws.ToString(a.Container.Image) +
				" is not used: the command runs as a process on this machine"})
		case m.Name == "mountPoints" && attempt.Contained(x) && slices.ContainsFunc(all,
			func(d Difference) bool { return d.What == "volumes" }):
		case m.Name == "mountPoints": // a process has no volumes
			drop("volumes")
			all = append(all, Difference{m.Name, m.Why})
		case m.Effect == attempt.Prevents:
			all = append(all, Difference{m.Name, m.Why})
		case !slices.Contains(compared, m.Name):
			all = append(all, Difference{m.Name, "has no effect here"})
		}
	}
	return all
}

// compared are the members that compare reports on.
var compared = []string{"jobRoleArn", "executionRoleArn", "runtimePlatform"}

// compare returns what differs on any machine but the original one. Like a replay, the local engine
// runs attempts without roles, on this machine and with its files.
func (a *Attempt) compare(job *types.JobDetail, o Options) []Difference {
	_, local := model.RanBy(a.Original.Container)
	all := slices.Concat(a.image(), a.secrets(o))
	if !local {
		all = slices.Concat(all, a.roles(), a.volumes(), a.instance(job))
	}
	all = append(all, a.unknown()...)
	if job.ConsumableResourceProperties != nil && !local {
		for _, r := range job.ConsumableResourceProperties.ConsumableResourceList {
			all = append(all, Difference{"consumableResources", aws.ToString(r.ConsumableResource) +
				" is not reserved for the replay"})
		}
	}
	if o.Command != nil {
		all = append(all, Difference{"command", "replaced on the command line"})
	}
	for _, v := range o.Environment {
		all = append(all, Difference{"environment", aws.ToString(v.Name) + " is replaced on the command line"})
	}
	return all
}

func (a *Attempt) image() []Difference {
	image := aws.ToString(a.Container.Image)
	if strings.Contains(image, "@sha256:") {
		return nil
	}
	return []Difference{{"image", "the version of " + image + " is unknown: its tag may refer to another image now"}}
}

// secrets returns those that the user did not set.
func (a *Attempt) secrets(o Options) []Difference {
	var all []Difference
	for _, s := range a.Container.Secrets {
		name := aws.ToString(s.Name)
		if slices.ContainsFunc(o.Environment, func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == name }) {
			continue
		}
		all = append(all, Difference{"secrets",
			fmt.Sprintf("%s is not set, because its value is in %s; set it with --env %s=VALUE", name,
				aws.ToString(s.ValueFrom), name)})
	}
	return all
}

// roles reports the roles that the replay does not assume.
func (a *Attempt) roles() []Difference {
	var all []Difference
	if role := aws.ToString(a.Container.JobRoleArn); role != "" {
		all = append(all, Difference{"jobRoleArn", "calls to AWS are not made as " + role})
	}
	if role := aws.ToString(a.Container.ExecutionRoleArn); role != "" {
		all = append(all, Difference{"executionRoleArn", "the image is pulled with this machine's own login, not as " +
			role})
	}
	return all
}

// volumes reports volumes with other content, or none, on this machine.
func (a *Attempt) volumes() []Difference {
	var all []Difference
	for _, v := range a.Container.Volumes {
		name := aws.ToString(v.Name)
		switch {
		case v.EfsVolumeConfiguration != nil:
			all = append(all, Difference{"volumes", fmt.Sprintf("%s is not mounted: it is in EFS, %s", name,
				aws.ToString(v.EfsVolumeConfiguration.FileSystemId))})
		case v.S3filesVolumeConfiguration != nil:
			all = append(all, Difference{"volumes", fmt.Sprintf("%s is not mounted: it is in S3 Files", name)})
		case v.Host != nil && aws.ToString(v.Host.SourcePath) != "":
			all = append(all, Difference{"volumes", fmt.Sprintf("%s is %s on this machine, not on the instance", name,
				*v.Host.SourcePath)})
		}
	}
	return all
}

// architectures maps names of runtimePlatform to Go's.
var architectures = map[string]string{"X86_64": "amd64", "ARM64": "arm64"}

// instance reports the other machine, and another processor architecture.
func (a *Attempt) instance(job *types.JobDetail) []Difference {
	text := "an instance of a type that the job's description does not name"
	if slices.Contains(job.PlatformCapabilities, types.PlatformCapabilityFargate) {
		text = "Fargate"
	}
	all := []Difference{{"instance", fmt.Sprintf("it ran on %s; the replay runs on this machine (%s, %d CPUs)", text,
		runtime.GOARCH, runtime.NumCPU())}}
	if p := a.Container.RuntimePlatform; p != nil {
		if arch := aws.ToString(p.CpuArchitecture); arch != "" && architectures[arch] != runtime.GOARCH {
			all = append(all, Difference{"runtimePlatform", fmt.Sprintf("the job is for %s, and this machine is %s",
				arch, runtime.GOARCH)})
		}
	}
	return all
}

// unknown returns the variables of Batch whose values are unknown here.
func (a *Attempt) unknown() []Difference {
	var all []Difference
	if a.ComputeEnvironment == "" {
		all = append(all, Difference{"AWS_BATCH_CE_NAME",
			"not set: the attempt's description does not name its compute environment"})
	}
	if a.Index >= 0 && a.Size == 0 {
		all = append(all, Difference{"AWS_BATCH_JOB_ARRAY_SIZE", "not set: the array's description is not available"})
	}
	return all
}
