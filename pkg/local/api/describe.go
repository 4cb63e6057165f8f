//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package api

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// describeJobs returns the jobs, children and nodes of the request, at most 100. As in Batch,
// unknown ids are left out of the answer, which is no error.
func (a *API) describeJobs(_ *call.Call, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	switch {
	case len(in.Jobs) == 0:
		return nil, wire.ClientException("jobs is required.")
	case len(in.Jobs) > 100:
		return nil, wire.ClientException("Maximum number of jobs supported is 100")
	}
	m, done := a.backend.View()
	defer done()
	out := &awsbatch.DescribeJobsOutput{Jobs: []types.JobDetail{}}
	for _, id := range in.Jobs {
		id = jobID(&id)
		if t, i := m.Node(id); t != nil {
			d := describeNode(t, i)
			a.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		} else if t := taskOf(m, id); t != nil {
			d := describeJob(t)
			a.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		}
	}
	return out, nil
}

// addTo adds what the task alone does not have: tags, moto's extra variable, and the status
// UNKNOWN.
func (a *API) addTo(m *model.Model, d *types.JobDetail, t *model.Task) {
	d.Tags = tagsOf(m, t)
	a.showIdentity(d)
	var counts map[string]int32
	if d.ArrayProperties != nil {
		counts = d.ArrayProperties.StatusSummary
	}
	a.admit(&d.Status, &d.StatusReason, counts)
}

// tagsOf returns the tags of a task's job.
func tagsOf(m *model.Model, t *model.Task) map[string]string {
	return model.Merged(nil, m.Tags[model.ResourceOf(model.KindJob, t.Job.ID)])
}

// Detail returns a job, an array's parent or child, or with node >= 0 a node of a job, as DescribeJobs of an engine
// shows it that is not lenient.
func Detail(m *model.Model, t *model.Task, node int) types.JobDetail {
	var d types.JobDetail
	if node >= 0 {
		d = describeNode(t, node)
	} else {
		d = describeJob(t)
	}
	d.Tags = tagsOf(m, t)
	return d
}

// describeJob returns a job, an array's parent or a child as DescribeJobs shows it. The API model
// requires startedAt, but a job that has not been RUNNING has none: the AWS CLI's example of
// describe-jobs shows a SUBMITTED job without it, and the user guide ("Job state change events") a
// RUNNABLE one.
func describeJob(t *model.Task) types.JobDetail {
	j, id := t.Job, t.ID()
	d := types.JobDetail{
		JobId:         &id,
		JobArn:        aws.String(model.ARN("job", id)),
		JobName:       j.Request.JobName,
		JobQueue:      aws.String(model.ARN("job-queue", *j.Request.JobQueue)),
		JobDefinition: aws.String(model.ARN("job-definition", j.Definition.ID())),
		Status:        t.State.Status(),
		StatusReason:  call.Optional(t.Reason),
		CreatedAt:     aws.Int64(j.CreatedAt),
		StartedAt:     call.Moment(t.StartedAt),
		StoppedAt:     call.Moment(t.StoppedAt),
		// Stopping an array marks its children, except those that have ended before.
		IsCancelled:                  aws.Bool(t.Cancelled || j.Cancelled && !t.State.Ended()),
		IsTerminated:                 aws.Bool(t.Terminated || j.Terminated && !t.State.Ended()),
		DependsOn:                    append([]types.JobDependency{}, j.Request.DependsOn...),
		Parameters:                   j.Parameters(),
		PlatformCapabilities:         j.Definition.Request.PlatformCapabilities,
		PropagateTags:                propagateTags(j),
		RetryStrategy:                describedRetry(j.Retry()),
		SchedulingPriority:           j.SchedulingPriority(),
		ShareIdentifier:              j.Request.ShareIdentifier,
		ConsumableResourceProperties: consumableProperties(j),
		Attempts:                     []types.AttemptDetail{},
	}
	// Each kind of job shows its containers in another member.
	if j.Pod != nil {
		describePod(t, &d)
	} else if j.IsMultiNode() {
		d.NodeProperties, d.Container = nodeProperties(j), nodeContainer(t, int(j.MainNode()))
	} else if len(j.Parts) > 0 {
		d.EcsProperties = describeTask(t)
	} else {
		d.Container = containerDetail(t)
	}
	if s := j.Timeout(); s > 0 {
		d.Timeout = &types.JobTimeout{AttemptDurationSeconds: &s}
	}
	for i := range t.Attempts {
		// Batch lists an attempt once it has ended. Pods have attempts of their own shape.
		if a := &t.Attempts[i]; a.StoppedAt != 0 && j.Pod == nil {
			d.Attempts = append(d.Attempts, describeAttempt(t, a))
		}
	}
	switch {
	case t.IsParent():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(int32(len(j.Children))), StatusSummary: statusSummary(j),
			StatusSummaryLastUpdatedAt: aws.Int64(j.TallyAt)}
	case t.IsChild():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Index: &t.Index}
	}
	return d
}

// describeAttempt returns an attempt that has ended. Batch lists an attempt only then. Its shape
// depends on the kind of job.
func describeAttempt(t *model.Task, a *model.Attempt) types.AttemptDetail {
	if t.Job.IsMultiNode() {
		return nodeAttempt(t, a, int(t.Job.MainNode()))
	}
	if len(t.Job.Parts) > 0 {
		return types.AttemptDetail{StartedAt: call.Moment(a.StartedAt), StoppedAt: call.Moment(a.StoppedAt), StatusReason: call.Optional(a.StatusReason),
			TaskProperties: describeTaskAttempt(t, a)}
	}
	return types.AttemptDetail{
		StartedAt:    call.Moment(a.StartedAt),
		StoppedAt:    call.Moment(a.StoppedAt),
		StatusReason: call.Optional(a.StatusReason),
		Container: &types.AttemptContainerDetail{ExitCode: a.Exit, Reason: call.Optional(a.Reason),
			LogStreamName: aws.String(t.LogStream(a)), TaskArn: aws.String(t.ECSTaskARN(a, 0)), ContainerInstanceArn: a.InstanceARN(),
			NetworkInterfaces: []types.NetworkInterface{}},
	}
}

// containerDetail returns the job's container with the results of its latest attempt, also of a
// running one.
func containerDetail(t *model.Task) *types.ContainerDetail {
	d := describeContainer(t.Job.Container)
	if a := t.Last(); a != nil {
		d.ExitCode, d.Reason, d.LogStreamName, d.TaskArn = a.Exit, call.Optional(a.Reason), aws.String(t.LogStream(a)), aws.String(t.ECSTaskARN(a, 0))
		d.ContainerInstanceArn = a.InstanceARN()
	}
	return d
}

// describeContainer returns a container without the results of an attempt.
func describeContainer(c *types.ContainerProperties) *types.ContainerDetail {
	return &types.ContainerDetail{
		Command:                      append([]string{}, c.Command...),
		EnableExecuteCommand:         c.EnableExecuteCommand,
		Environment:                  append([]types.KeyValuePair{}, c.Environment...),
		EphemeralStorage:             c.EphemeralStorage,
		ExecutionRoleArn:             c.ExecutionRoleArn,
		FargatePlatformConfiguration: c.FargatePlatformConfiguration,
		Image:                        c.Image,
		JobRoleArn:                   c.JobRoleArn,
		LinuxParameters:              c.LinuxParameters,
		LogConfiguration:             c.LogConfiguration,
		Memory:                       c.Memory,
		MountPoints:                  append([]types.MountPoint{}, c.MountPoints...),
		NetworkConfiguration:         c.NetworkConfiguration,
		NetworkInterfaces:            []types.NetworkInterface{},
		Privileged:                   c.Privileged,
		ReadonlyRootFilesystem:       c.ReadonlyRootFilesystem,
		RepositoryCredentials:        c.RepositoryCredentials,
		ResourceRequirements:         append([]types.ResourceRequirement{}, c.ResourceRequirements...),
		RuntimePlatform:              c.RuntimePlatform,
		Secrets:                      append([]types.Secret{}, c.Secrets...),
		Ulimits:                      append([]types.Ulimit{}, c.Ulimits...),
		User:                         c.User,
		Vcpus:                        c.Vcpus,
		Volumes:                      append([]types.Volume{}, c.Volumes...),
	}
}

// statusSummary returns the number of children in each state. Batch lists every state, including
// those with none.
func statusSummary(j *model.Job) map[string]int32 {
	m := make(map[string]int32, len(model.States))
	for _, s := range model.States {
		m[s.String()] = j.Tally[s]
	}
	return m
}

// propagateTags returns the request's value, or else the definition's; nil if both are absent.
func propagateTags(j *model.Job) *bool {
	if j.Request.PropagateTags != nil {
		return j.Request.PropagateTags
	}
	return j.Definition.Request.PropagateTags
}
