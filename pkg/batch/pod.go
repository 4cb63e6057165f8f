package batch

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// podPrefix begins the name of the pod of an attempt (user guide, "Amazon EKS jobs").
const podPrefix = "aws-batch."

// PodName returns the name of the pod of an attempt with an id.
func PodName(id string) string { return podPrefix + id }

// PodStream returns the log stream of a container of a pod on the local engine, in the log group
// /aws/batch/job. It is "" on AWS, where the log of a pod is in its cluster.
func PodStream(job types.JobDetail, pod, container *string) string {
	id, ok := strings.CutPrefix(aws.ToString(pod), podPrefix)
	if !ok || !IsLocal(aws.ToString(job.JobArn)) {
		return ""
	}
	name, _ := SplitRevision(aws.ToString(job.JobDefinition))
	return name + "/" + PodContainer(container) + "/" + id
}

// PodContainer returns the name of a container of a pod, which is Default if it has none (API
// reference of EksContainer).
func PodContainer(name *string) string {
	if aws.ToString(name) == "" {
		return "Default"
	}
	return *name
}

// PodEnd returns how a pod ended: the first container of the attempt that failed, or else the last
// one.
func PodEnd(a types.EksAttemptDetail) (end types.EksAttemptContainerDetail) {
	for _, end = range slices.Concat(a.InitContainers, a.Containers) {
		if aws.ToInt32(end.ExitCode) != 0 || end.ExitCode == nil && end.Reason != nil {
			return end
		}
	}
	return end
}

// TaskEnd returns how the ECS tasks of an attempt with several containers ended: the first container that failed, or
// else the first one. ok is false if the attempt has no such containers.
func TaskEnd(a types.AttemptDetail) (end types.AttemptTaskContainerDetails, ok bool) {
	for _, task := range a.TaskProperties {
		for _, c := range task.Containers {
			if !ok || end.ExitCode == nil || *end.ExitCode == 0 && aws.ToInt32(c.ExitCode) != 0 {
				end, ok = c, true
			}
		}
	}
	return end, ok
}

// Attempts returns how many attempts the description of a job has.
func Attempts(job types.JobDetail) int { return max(len(job.Attempts), len(job.EksAttempts)) }
