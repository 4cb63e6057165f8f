package local

import (
	"cmp"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Job definitions of pods are kept and described. The engine has no Kubernetes, so it
// refuses their jobs; a lenient one takes them, and each fails with errPods.

var errPods = errors.New("the local engine has no Kubernetes and runs no pods")

// podContainer is the name of a container of a pod that has none (API reference of
// EksContainer).
const podContainer = "Default"

// checkPodDefinition refuses what a definition of pods cannot do without.
func checkPodDefinition(in *awsbatch.RegisterJobDefinitionInput) error {
	p := in.EksProperties
	switch {
	case p == nil || in.Type != types.JobDefinitionTypeContainer:
		return nil
	case in.ContainerProperties != nil || in.EcsProperties != nil:
		return wire.ClientException("Only one of containerProperties, ecsProperties and eksProperties can be given.")
	case p.PodProperties == nil || len(p.PodProperties.Containers) == 0:
		return wire.ClientException("eksProperties.podProperties must contain at least one container.")
	}
	for _, c := range p.PodProperties.Containers {
		if aws.ToString(c.Image) == "" {
			return wire.ClientException("eksProperties.podProperties.containers must contain image.")
		}
	}
	return nil
}

// checkPods refuses jobs of pods, and overrides of pods for other jobs.
func checkPods(d *definition, in *awsbatch.SubmitJobInput) error {
	switch {
	case d.request.EksProperties != nil:
		return faulty("JobDefinition %s has eksProperties: %s.", d.id(), errPods)
	case in.EksPropertiesOverride != nil:
		return faulty("eksPropertiesOverride needs a job definition that has eksProperties.")
	}
	return nil
}

// describedPods is the pod of a definition as Batch shows it: the lists of its
// containers are there when they are empty.
func describedPods(p *types.EksProperties) *types.EksProperties {
	if p == nil {
		return nil
	}
	pod := *p.PodProperties
	pod.Containers, pod.InitContainers = describedContainers(pod.Containers), describedContainers(pod.InitContainers)
	return &types.EksProperties{PodProperties: &pod}
}

func describedContainers(all []types.EksContainer) []types.EksContainer {
	all = slices.Clone(all)
	for i := range all {
		c := &all[i]
		c.Args, c.Command = append([]string{}, c.Args...), append([]string{}, c.Command...)
		c.Env = append([]types.EksContainerEnvironmentVariable{}, c.Env...)
		c.VolumeMounts = append([]types.EksContainerVolumeMount{}, c.VolumeMounts...)
	}
	return all
}

// podOf is the pod of a job: the definition's with the request's overrides.
func podOf(p *types.EksProperties, in *types.EksPropertiesOverride) (*types.EksPodPropertiesDetail, error) {
	pod, err := overlay(&types.EksPodPropertiesDetail{}, describedPods(p).PodProperties)
	if err != nil || in == nil || in.PodProperties == nil {
		return pod, err
	}
	over := in.PodProperties
	overrideContainers(pod.Containers, over.Containers)
	overrideContainers(pod.InitContainers, over.InitContainers)
	pod.Metadata = cmp.Or(over.Metadata, pod.Metadata)
	return pod, nil
}

func overrideContainers(all []types.EksContainerDetail, over []types.EksContainerOverride) {
	named := func(name *string) string { return cmp.Or(aws.ToString(name), podContainer) }
	for _, o := range over {
		at := slices.IndexFunc(all, func(c types.EksContainerDetail) bool { return named(c.Name) == named(o.Name) })
		if at < 0 {
			continue
		}
		c := &all[at]
		c.Image, c.Resources = cmp.Or(o.Image, c.Image), cmp.Or(o.Resources, c.Resources)
		if o.Args != nil {
			c.Args = o.Args
		}
		if o.Command != nil {
			c.Command = o.Command
		}
		c.Env = mergedBy(c.Env, o.Env, func(v types.EksContainerEnvironmentVariable) string { return aws.ToString(v.Name) })
	}
}

// describePod is the pod of a job as DescribeJobs shows it.
func (t *task) describePod(d *types.JobDetail) {
	d.EksProperties = &types.EksPropertiesDetail{PodProperties: t.job.pod}
	for i := range t.attempts {
		if a := &t.attempts[i]; a.stoppedAt != 0 {
			d.EksAttempts = append(d.EksAttempts, types.EksAttemptDetail{StartedAt: moment(a.startedAt), StoppedAt: moment(a.stoppedAt),
				StatusReason: optional(a.statusReason + ": " + errPods.Error())})
		}
	}
}
