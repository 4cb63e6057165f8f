package batchapi

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// describePod adds the pod and its attempts to a job's description.
func describePod(t *model.Task, d *types.JobDetail) {
	pod := *t.Job.Pod
	pod.InitContainers, pod.Containers = slices.Clone(pod.InitContainers), slices.Clone(pod.Containers)
	if a := t.Last(); a != nil {
		pod.PodName, pod.NodeName = aws.String(a.PodName()), aws.String(a.NodeName())
		for i, end := range a.Containers { // a running attempt has no results yet
			if n := len(pod.InitContainers); i < n {
				pod.InitContainers[i].ExitCode, pod.InitContainers[i].Reason = end.Exit, call.Optional(shortReason(end.Reason))
			} else if i -= n; i < len(pod.Containers) {
				pod.Containers[i].ExitCode, pod.Containers[i].Reason = end.Exit, call.Optional(shortReason(end.Reason))
			}
		}
	}
	d.EksProperties = &types.EksPropertiesDetail{PodProperties: &pod}
	for i := range t.Attempts {
		if t.Attempts[i].StoppedAt != 0 {
			d.EksAttempts = append(d.EksAttempts, describePodAttempt(t, &t.Attempts[i]))
		}
	}
}

// shortReason cuts the reason of a container at 255 characters, the limit of Batch on EKS.
func shortReason(reason string) string {
	if text := []rune(reason); len(text) > 255 {
		return string(text[:254]) + "…"
	}
	return reason
}

// describePodAttempt returns an attempt that has ended. An attempt of an older engine has no
// results of containers: it ran no pods.
func describePodAttempt(t *model.Task, a *model.Attempt) types.EksAttemptDetail {
	d := types.EksAttemptDetail{StartedAt: call.Moment(a.StartedAt), StoppedAt: call.Moment(a.StoppedAt), StatusReason: call.Optional(a.StatusReason),
		PodName: aws.String(a.PodName()), NodeName: aws.String(a.NodeName())}
	namespace := ""
	if v := a.Environment; v != nil && v.Request != nil && v.Request.EksConfiguration != nil {
		d.EksClusterArn = v.Request.EksConfiguration.EksClusterArn
		namespace = aws.ToString(v.Request.EksConfiguration.KubernetesNamespace)
	}
	if m := t.Job.Pod.Metadata; m != nil {
		namespace = cmp.Or(aws.ToString(m.Namespace), namespace)
	}
	d.PodNamespace = call.Optional(namespace)
	for i := range t.Job.Parts {
		p := &t.Job.Parts[i]
		c := types.EksAttemptContainerDetail{Name: aws.String(p.Name())}
		if i < len(a.Containers) {
			c.ExitCode, c.Reason = a.Containers[i].Exit, call.Optional(shortReason(a.Containers[i].Reason))
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
