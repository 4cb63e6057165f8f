package model

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// podContainer is the name of a container of a pod that has none (API reference of
// EksContainer).
const podContainer = "Default"

// DescribedPods returns the pod of a definition as Batch shows it: its containers have empty
// lists instead of missing ones.
func DescribedPods(p *types.EksProperties) *types.EksProperties {
	if p == nil {
		return nil
	}
	pod := *p.PodProperties
	pod.Containers, pod.InitContainers = describedContainers(pod.Containers), describedContainers(pod.InitContainers)
	return &types.EksProperties{PodProperties: &pod}
}

// describedContainers does this for each container.
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

// podOf returns the pod of a job: the definition's with the request's overrides.
func podOf(p *types.EksProperties, in *types.EksPropertiesOverride) (*types.EksPodPropertiesDetail, error) {
	pod, err := overlay(&types.EksPodPropertiesDetail{}, DescribedPods(p).PodProperties)
	if err != nil || in == nil || in.PodProperties == nil {
		return pod, err
	}
	over := in.PodProperties
	overrideContainers(pod.Containers, over.Containers)
	overrideContainers(pod.InitContainers, over.InitContainers)
	pod.Metadata = cmp.Or(over.Metadata, pod.Metadata)
	return pod, nil
}

// overrideContainers applies the overrides to the containers with the same names.
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
		c.Env = MergedBy(c.Env, o.Env, func(v types.EksContainerEnvironmentVariable) string { return aws.ToString(v.Name) })
	}
}
