package attempts

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/history"
)

// addMachines adds the instance types and whether they were Spot instances. What this user is not allowed to describe,
// and what AWS has forgotten, remains unknown.
func (r *Recorder) addMachines(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	if r.Machines == nil {
		return
	}
	at := make([]string, len(rows)) // the container instance of each
	var all []string
	for i, a := range rows {
		job := details[a.Job]
		if slices.Contains(job.PlatformCapabilities, types.PlatformCapabilityFargate) {
			rows[i].InstanceType = string(types.PlatformCapabilityFargate)
			continue
		}
		if n := a.Number - 1; n < len(job.Attempts) {
			at[i] = containerInstance(job.Attempts[n])
		}
		if at[i] != "" && !slices.Contains(all, at[i]) {
			all = append(all, at[i])
		}
	}
	if all == nil {
		return
	}
	machines, _ := r.Machines(ctx, all)
	for i := range rows {
		if m, ok := machines[at[i]]; ok {
			rows[i].InstanceType, rows[i].Spot = m.Type, m.Spot
		}
	}
}

// addImageDigests adds the digests of the images. They remain unknown where addMachines leaves the machine unknown, and
// for pods, of which AWS Batch has no digest.
func (r *Recorder) addImageDigests(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	if r.ImageDigests == nil {
		return
	}
	tasks := make([]string, len(rows)) // of each attempt
	for i, a := range rows {
		if job, n := details[a.Job], a.Number-1; n < len(job.Attempts) {
			tasks[i] = ecsTaskOf(job.Attempts[n])
		}
	}
	all := slices.DeleteFunc(slices.Clone(tasks), func(arn string) bool { return arn == "" })
	if len(all) == 0 {
		return
	}
	digests, _ := r.ImageDigests(ctx, all)
	for i := range rows {
		rows[i].ImageDigests = digests[tasks[i]]
	}
}

// ecsTaskOf returns the ARN of the ECS task of an attempt; "" if it has none.
func ecsTaskOf(a types.AttemptDetail) string {
	if a.Container != nil && a.Container.TaskArn != nil {
		return *a.Container.TaskArn
	}
	for _, task := range a.TaskProperties {
		if task.TaskArn != nil {
			return *task.TaskArn
		}
	}
	return ""
}

// containerInstance returns the ARN of the container instance of an attempt; "" if it has none.
func containerInstance(a types.AttemptDetail) string {
	if a.Container != nil && a.Container.ContainerInstanceArn != nil {
		return *a.Container.ContainerInstanceArn
	}
	for _, task := range a.TaskProperties {
		if task.ContainerInstanceArn != nil {
			return *task.ContainerInstanceArn
		}
	}
	return ""
}
