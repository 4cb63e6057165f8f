package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// A pod is one task here, or one node of it, with its containers as parts. As in Kubernetes, init containers run first,
// one after the other, and the pod ends when all of its containers have ended.

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

// PodOf returns the pod of a job or node: the definition's with the request's overrides. Each may be nil.
func PodOf(p *types.EksProperties, o *types.EksPropertiesOverride) (*types.EksPodPropertiesDetail, error) {
	pod, err := overlay(&types.EksPodPropertiesDetail{}, DescribedPods(p).PodProperties)
	if err != nil {
		return nil, err
	}
	if o != nil && o.PodProperties != nil {
		over := o.PodProperties
		overrideContainers(pod.Containers, over.Containers)
		overrideContainers(pod.InitContainers, over.InitContainers)
		pod.Metadata = cmp.Or(over.Metadata, pod.Metadata)
	}
	return pod, nil
}

// overrideContainers applies the overrides to the containers with the same names.
func overrideContainers(all []types.EksContainerDetail, over []types.EksContainerOverride) {
	for _, o := range over {
		at := slices.IndexFunc(all,
			func(c types.EksContainerDetail) bool { return batch.PodContainer(c.Name) == batch.PodContainer(o.Name) })
		if at < 0 {
			continue
		}
		c := &all[at]
		c.Image, c.Resources = cmp.Or(o.Image, c.Image), overrideQuantities(c.Resources, o.Resources)
		if o.Args != nil {
			c.Args = o.Args
		}
		if o.Command != nil {
			c.Command = o.Command
		}
		c.Env = MergedBy(c.Env, o.Env,
			func(v types.EksContainerEnvironmentVariable) string { return aws.ToString(v.Name) })
	}
}

// overrideQuantities returns the resources of an override, with the definition's where it names a kind
// neither in limits nor in requests. A limit of the definition must not contradict a new request.
func overrideQuantities(own, over *types.EksContainerResourceRequirements) *types.EksContainerResourceRequirements {
	if own == nil || over == nil {
		return cmp.Or(over, own)
	}
	named := func(kind string) bool {
		_, limit := over.Limits[kind]
		_, request := over.Requests[kind]
		return limit || request
	}
	rest := func(own, over map[string]string) map[string]string {
		out := maps.Clone(own)
		maps.DeleteFunc(out, func(kind, _ string) bool { return named(kind) })
		if out = Merged(out, over); len(out) == 0 {
			return nil
		}
		return out
	}
	return &types.EksContainerResourceRequirements{Limits: rest(own.Limits, over.Limits),
		Requests: rest(own.Requests, over.Requests)}
}

// podParts returns the containers of a pod, the init containers first.
func podParts(pod *types.EksPodPropertiesDetail) []Part {
	all := make([]Part, 0, len(pod.InitContainers)+len(pod.Containers))
	var before []Dependency
	add := func(c *types.EksContainerDetail, init bool) {
		p := podPart(pod, c, init)
		p.After = before
		all = append(all, p)
		if init {
			before = []Dependency{{len(all) - 1, OnSuccess}}
		}
	}
	for i := range pod.InitContainers {
		add(&pod.InitContainers[i], true)
	}
	for i := range pod.Containers {
		add(&pod.Containers[i], false)
	}
	return all
}

// podPart returns a container of a pod as an executor takes it.
func podPart(pod *types.EksPodPropertiesDetail, c *types.EksContainerDetail, init bool) Part {
	special := &PodPart{Init: init, Entrypoint: c.Command}
	out := &types.ContainerProperties{Image: c.Image, Command: c.Args, ResourceRequirements: quantitiesOf(c).
		requirements()}
	for _, v := range c.Env {
		out.Environment = append(out.Environment, types.KeyValuePair{Name: v.Name, Value: v.Value})
	}
	if s := c.SecurityContext; s != nil {
		out.Privileged, out.ReadonlyRootFilesystem, out.User = s.Privileged, s.ReadOnlyRootFilesystem, userOf(s)
		special.NoNewPrivileges = s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation
	}
	for _, m := range c.VolumeMounts {
		at := slices.IndexFunc(pod.Volumes,
			func(v types.EksVolume) bool { return aws.ToString(v.Name) == aws.ToString(m.Name) })
		if at < 0 {
			continue // named by PodGaps
		}
		switch v := &pod.Volumes[at]; {
		case v.HostPath != nil:
			source := aws.ToString(v.HostPath.Path)
			if sub := aws.ToString(m.SubPath); sub != "" {
				source = strings.TrimSuffix(source, "/") + "/" + sub
			}
			// Each mount has its own volume: subPath makes their sources differ.
			name := aws.String(aws.ToString(m.Name) + "-" + string(rune('a'+len(out.Volumes))))
			out.Volumes = append(out.Volumes, types.Volume{Name: name, Host: &types.Host{SourcePath: &source}})
			out.MountPoints = append(out.MountPoints, types.MountPoint{SourceVolume: name, ContainerPath: m.MountPath,
				ReadOnly: m.ReadOnly})
		case v.EmptyDir != nil:
			special.EmptyDirs = append(special.EmptyDirs, EmptyDir{Volume: aws.ToString(m.Name),
				Path:     aws.ToString(m.MountPath),
				ReadOnly: aws.ToBool(m.ReadOnly), InMemory: aws.ToString(v.EmptyDir.Medium) == "Memory",
				SizeMiB: mebibytes(aws.ToString(v.EmptyDir.SizeLimit))})
		}
	}
	return Part{Pod: special, Container: out,
		Declared: types.TaskContainerProperties{Name: aws.String(batch.PodContainer(c.Name)),
			Essential: aws.Bool(!init), Image: c.Image, Environment: out.Environment}}
}
