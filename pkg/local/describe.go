//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

func (a *API) describeJobs(_ *call, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
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
		if t, i := m.node(resourceName(id, kindJob)); t != nil {
			d := t.describeNode(i)
			a.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		} else if t := m.task(resourceName(id, kindJob)); t != nil {
			d := t.describe()
			a.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		}
	}
	return out, nil
}

// addTo adds to a task's description what the task itself does not know.
func (a *API) addTo(m *model, d *types.JobDetail, t *task) {
	d.Tags = merged(nil, m.tags[resourceOf(kindJob, t.job.id)])
	a.showIdentity(d)
	var counts map[string]int32
	if d.ArrayProperties != nil {
		counts = d.ArrayProperties.StatusSummary
	}
	a.admit(&d.Status, &d.StatusReason, counts)
}

// describe is the task as DescribeJobs shows it.
func (t *task) describe() types.JobDetail {
	j, id := t.job, t.id()
	d := types.JobDetail{
		JobId:                        &id,
		JobArn:                       aws.String(arn("job", id)),
		JobName:                      j.request.JobName,
		JobQueue:                     aws.String(arn("job-queue", *j.request.JobQueue)),
		JobDefinition:                aws.String(arn("job-definition", j.definition.id())),
		Status:                       t.state.status(),
		StatusReason:                 optional(t.reason),
		CreatedAt:                    aws.Int64(j.createdAt),
		StartedAt:                    moment(t.startedAt),
		StoppedAt:                    moment(t.stoppedAt),
		IsCancelled:                  aws.Bool(t.cancelled || j.cancelled && !t.state.ended()),
		IsTerminated:                 aws.Bool(t.terminated || j.terminated && !t.state.ended()),
		DependsOn:                    append([]types.JobDependency{}, j.request.DependsOn...),
		Parameters:                   j.parameters(),
		PlatformCapabilities:         j.definition.request.PlatformCapabilities,
		PropagateTags:                j.propagateTags(),
		RetryStrategy:                describedRetry(j.retry()),
		SchedulingPriority:           j.schedulingPriority(),
		ShareIdentifier:              j.request.ShareIdentifier,
		ConsumableResourceProperties: j.consumableProperties(),
		Attempts:                     []types.AttemptDetail{},
	}
	if j.pod != nil {
		t.describePod(&d)
	} else if j.isMultiNode() {
		d.NodeProperties, d.Container = j.nodeProperties(), t.nodeContainer(int(j.mainNode()))
	} else if len(j.parts) > 0 {
		d.EcsProperties = t.describeTask()
	} else {
		d.Container = t.containerDetail()
	}
	if s := j.timeout(); s > 0 {
		d.Timeout = &types.JobTimeout{AttemptDurationSeconds: &s}
	}
	for i := range t.attempts {
		if a := &t.attempts[i]; a.stoppedAt != 0 && j.pod == nil {
			d.Attempts = append(d.Attempts, t.attempt(a))
		}
	}
	switch {
	case t.isParent():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(int32(len(j.children))), StatusSummary: j.summary(),
			StatusSummaryLastUpdatedAt: aws.Int64(j.tallyAt)}
	case t.isChild():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Index: &t.index}
	}
	return d
}

func (t *task) attempt(a *attempt) types.AttemptDetail {
	if t.job.isMultiNode() {
		return t.nodeAttempt(a, int(t.job.mainNode()))
	}
	if len(t.job.parts) > 0 {
		return types.AttemptDetail{StartedAt: moment(a.startedAt), StoppedAt: moment(a.stoppedAt), StatusReason: optional(a.statusReason),
			TaskProperties: t.describeTaskAttempt(a)}
	}
	return types.AttemptDetail{
		StartedAt:    moment(a.startedAt),
		StoppedAt:    moment(a.stoppedAt),
		StatusReason: optional(a.statusReason),
		Container: &types.AttemptContainerDetail{ExitCode: a.exit, Reason: optional(a.reason),
			LogStreamName: aws.String(t.logStream(a)), TaskArn: aws.String(a.taskARN()), ContainerInstanceArn: a.instanceARN(),
			NetworkInterfaces: []types.NetworkInterface{}},
	}
}

// containerDetail is the job's container with what its newest attempt says.
func (t *task) containerDetail() *types.ContainerDetail {
	d := describeContainer(t.job.container)
	if a := t.last(); a != nil {
		d.ExitCode, d.Reason, d.LogStreamName, d.TaskArn = a.exit, optional(a.reason), aws.String(t.logStream(a)), aws.String(a.taskARN())
		d.ContainerInstanceArn = a.instanceARN()
	}
	return d
}

// describeContainer is a container before anything of it has run.
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

// summary is the number of children in each state.
func (j *job) summary() map[string]int32 {
	m := make(map[string]int32, len(states))
	for _, s := range states {
		m[s.String()] = j.tally[s]
	}
	return m
}

func (j *job) propagateTags() *bool {
	if j.request.PropagateTags != nil {
		return j.request.PropagateTags
	}
	return j.definition.request.PropagateTags
}

// optional is nil for an empty text: the member is then absent.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func moment(ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	return &ms
}
