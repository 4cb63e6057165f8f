package batchapi

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// describePod adds the pod of a node or job and its attempts to a description.
func describePod(t *model.Task, node int, d *types.JobDetail) {
	pod := *t.Job.Pods[node]
	pod.InitContainers, pod.Containers = slices.Clone(pod.InitContainers), slices.Clone(pod.Containers)
	if a := t.Last(); a != nil {
		pod.PodName, pod.NodeName = aws.String(t.PodName(a, node)), aws.String(a.NodeName())
		from, _ := t.Job.PartsOf(node)
		for i := range pod.InitContainers {
			pod.InitContainers[i].ExitCode, pod.InitContainers[i].Reason = podPartEnd(a, from+i)
		}
		for i := range pod.Containers {
			pod.Containers[i].ExitCode, pod.Containers[i].Reason = podPartEnd(a, from+len(pod.InitContainers)+i)
		}
	}
	d.EksProperties = &types.EksPropertiesDetail{PodProperties: &pod}
	for i := range t.Attempts {
		if t.Attempts[i].StoppedAt != 0 {
			d.EksAttempts = append(d.EksAttempts, describePodAttempt(t, &t.Attempts[i], node))
		}
	}
}

// podPartEnd is partEnd for a container of a pod.
func podPartEnd(a *model.Attempt, i int) (exit *int32, reason *string) {
	exit, reason = partEnd(a, i)
	return exit, call.Optional(shortReason(aws.ToString(reason)))
}

// shortReason cuts the reason of a container at 255 characters, the limit of Batch on EKS.
func shortReason(reason string) string {
	if text := []rune(reason); len(text) > 255 {
		return string(text[:254]) + "…"
	}
	return reason
}

// describePodAttempt returns an attempt that has ended.
func describePodAttempt(t *model.Task, a *model.Attempt, node int) types.EksAttemptDetail {
	d := types.EksAttemptDetail{StartedAt: call.Moment(a.StartedAt), StoppedAt: call.Moment(a.StoppedAt),
		StatusReason: call.Optional(a.StatusReason),
		PodName:      aws.String(t.PodName(a, node)), NodeName: aws.String(a.NodeName())}
	namespace := ""
	if v := a.Environment; v != nil && v.Request != nil && v.Request.EksConfiguration != nil {
		d.EksClusterArn = v.Request.EksConfiguration.EksClusterArn
		namespace = aws.ToString(v.Request.EksConfiguration.KubernetesNamespace)
	}
	if m := t.Job.Pods[node].Metadata; m != nil {
		namespace = cmp.Or(aws.ToString(m.Namespace), namespace)
	}
	d.PodNamespace = call.Optional(namespace)
	from, to := t.Job.PartsOf(node)
	for i := from; i < to; i++ {
		p := &t.Job.Parts[i]
		c := types.EksAttemptContainerDetail{Name: aws.String(p.Name())}
		if i < len(a.Containers) {
			c.ExitCode, c.Reason = podPartEnd(a, i)
		} else {
			c.Reason = call.Optional(shortReason(a.Reason)) // no container of it could start
		}
		if p.Pod.Init {
			d.InitContainers = append(d.InitContainers, c)
		} else {
			d.Containers = append(d.Containers, c)
		}
	}
	return d
}
