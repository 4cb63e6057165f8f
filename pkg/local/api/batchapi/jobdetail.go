package batchapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Detail returns a job, an array's parent or child, or with node >= 0 a node of a job, as DescribeJobs shows it.
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
		PropagateTags:                cmp.Or(j.Request.PropagateTags, j.Definition.Request.PropagateTags),
		RetryStrategy:                describedRetry(j.Retry()),
		SchedulingPriority:           j.SchedulingPriority(),
		ShareIdentifier:              j.Request.ShareIdentifier,
		ConsumableResourceProperties: consumableProperties(j),
		Attempts:                     []types.AttemptDetail{},
	}
	if j.IsMultiNode() {
		d.NodeProperties = nodeProperties(j)
	}
	describeContainers(t, j.MainNode(), &d)
	if s := j.Timeout(); s > 0 {
		d.Timeout = &types.JobTimeout{AttemptDurationSeconds: &s}
	}
	for i := range t.Attempts {
		// Batch lists an attempt once it has ended. Pods have attempts of their own shape.
		if a := &t.Attempts[i]; a.StoppedAt != 0 && !j.IsPod() {
			d.Attempts = append(d.Attempts, describeAttempt(t, a, j.MainNode()))
		}
	}
	switch {
	case t.IsParent():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(int32(len(j.Children))),
			StatusSummary:              statusSummary(j),
			StatusSummaryLastUpdatedAt: aws.Int64(j.TallyAt)}
	case t.IsChild():
		d.ArrayProperties = &types.ArrayPropertiesDetail{Index: &t.Index}
	}
	return d
}

// describeNode returns node i as DescribeJobs shows it. Its id is the job's with "#i".
func describeNode(t *model.Task, i int) types.JobDetail {
	d := describeJob(t)
	id := model.NodeID(t.Job.ID, i)
	d.JobId, d.JobArn, d.Status = &id, aws.String(model.ARN(model.KindJob, id)), t.NodeState(i).Status()
	d.NodeProperties, d.Container, d.EcsProperties, d.EksProperties, d.EksAttempts = nil, nil, nil, nil, nil
	d.NodeDetails = &types.NodeDetails{NodeIndex: aws.Int32(int32(i)), IsMainNode: aws.Bool(i == t.Job.MainNode())}
	describeContainers(t, i, &d)
	for k := range d.Attempts {
		d.Attempts[k] = describeAttempt(t, &t.Attempts[k], i)
	}
	return d
}

// describeContainers adds the containers of a node to d, or those of a job without nodes. Each kind of job
// shows them in another member.
func describeContainers(t *model.Task, node int, d *types.JobDetail) {
	j := t.Job
	from, to := j.PartsOf(node)
	if j.IsPod() {
		describePod(t, node, d)
	} else if from == to {
		d.Container = containerDetail(t)
	} else if j.Parts[from].Task == nil {
		d.Container = nodeContainer(t, from)
	} else {
		d.EcsProperties = describeTask(t, node)
	}
}

// describeAttempt returns an attempt that has ended, with the results of a node. Batch lists an attempt
// only then. Its shape depends on the kind of job. Times and the status reason are the job's.
func describeAttempt(t *model.Task, a *model.Attempt, node int) types.AttemptDetail {
	d := types.AttemptDetail{StartedAt: call.Moment(a.StartedAt), StoppedAt: call.Moment(a.StoppedAt),
		StatusReason: call.Optional(a.StatusReason)}
	from, to := t.Job.PartsOf(node)
	if from < to && t.Job.Parts[from].Task != nil {
		d.TaskProperties = describeTaskAttempt(t, a, node)
		return d
	}
	d.Container = &types.AttemptContainerDetail{ExitCode: a.Exit, Reason: call.Optional(a.Reason),
		TaskArn:              aws.String(t.ECSTaskARN(a, node)),
		ContainerInstanceArn: a.InstanceARN(), NetworkInterfaces: []types.NetworkInterface{}}
	if from == to {
		d.Container.LogStreamName = aws.String(t.LogStream(a))
		return d
	}
	d.Container.LogStreamName = aws.String(t.PartLogStream(a, from))
	d.Container.ExitCode, d.Container.Reason = partEnd(a, from)
	return d
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

// tagsOf returns the tags of a task's job.
func tagsOf(m *model.Model, t *model.Task) map[string]string {
	return model.Merged(nil, m.Tags[model.ResourceOf(model.KindJob, t.Job.ID)])
}

// describedRetry returns a retry strategy as Batch shows it: with its actions in lower case.
func describedRetry(s *types.RetryStrategy) *types.RetryStrategy {
	if s == nil || len(s.EvaluateOnExit) == 0 {
		return s
	}
	d := *s
	d.EvaluateOnExit = slices.Clone(s.EvaluateOnExit)
	for i, rule := range d.EvaluateOnExit {
		d.EvaluateOnExit[i].Action = types.RetryAction(strings.ToLower(string(rule.Action)))
	}
	return &d
}

// consumableProperties returns the job's requirements as DescribeJobs shows them: with ARNs; nil
// if the job has none.
func consumableProperties(j *model.Job) *types.ConsumableResourceProperties {
	if len(j.Consumes) == 0 {
		return nil
	}
	p := &types.ConsumableResourceProperties{}
	for _, r := range j.Consumes {
		p.ConsumableResourceList = append(p.ConsumableResourceList,
			types.ConsumableResourceRequirement{ConsumableResource: aws.String(model.ARN(model.KindConsumable, r.Name)),
				Quantity: aws.Int64(r.Quantity)})
	}
	return p
}
