package ecsapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// listTasksInput is the request of ECS ListTasks.
type listTasksInput struct {
	Cluster           *string
	ContainerInstance *string
	DaemonName        *string
	DesiredStatus     string
	Family            *string
	LaunchType        string
	MaxResults        *int32
	NextToken         *string
	ServiceName       *string
	StartedBy         *string
}

// listTasksOutput is its answer.
type listTasksOutput struct {
	NextToken *string
	TaskArns  []string
}

// describeTasksInput is the request of ECS DescribeTasks.
type describeTasksInput struct {
	Cluster *string
	// Include can be TAGS.
	Include []string
	// Tasks are ids or ARNs, 1 to 100.
	Tasks []string
}

// describeTasksOutput has an entry for each requested task, in one of the lists.
type describeTasksOutput struct {
	Failures []failure
	Tasks    []ecsTask
}

// ecsTask is an ECS task as DescribeTasks shows it. Times are seconds since the epoch, as in all of
// ECS; null means that something has not happened yet.
type ecsTask struct {
	Attachments          []attachment
	ClusterArn           *string
	ContainerInstanceArn *string // null on Fargate
	Containers           []ecsContainer
	Cpu                  *string
	CreatedAt            *float64
	DesiredStatus        *string
	EnableExecuteCommand *bool
	Group                *string
	LastStatus           *string
	LaunchType           *string
	Memory               *string
	Overrides            *taskOverride
	PlatformVersion      *string
	StartedAt            *float64
	StartedBy            *string
	StopCode             *string
	StoppedAt            *float64
	StoppedReason        *string
	Tags                 []tag
	TaskArn              *string
	TaskDefinitionArn    *string
}

// ecsContainer is a container of an ECS task.
type ecsContainer struct {
	Cpu               *string
	ExitCode          *int32
	GpuIds            []string
	HealthStatus      *string
	Image             *string
	ImageDigest       *string
	LastStatus        *string
	Memory            *string
	Name              *string
	NetworkBindings   []attachment
	NetworkInterfaces []attachment
	Reason            *string
	TaskArn           *string
}

// taskOverride has the overrides of the containers of a task.
type taskOverride struct{ ContainerOverrides []containerOverride }

// containerOverride is what a container runs: Batch passes the command and the variables of a job
// as overrides.
type containerOverride struct {
	Command     []string
	Environment []types.KeyValuePair
	Name        *string
}

// The statuses of ECS tasks that occur here.
const (
	taskPending  = "PENDING"
	taskRunning  = "RUNNING"
	taskStopping = "STOPPING"
	taskStopped  = "STOPPED"
)

// listTasks returns tasks of a cluster. ECS keeps stopped tasks for at least an hour; here they stay
// as long as DescribeJobs shows their jobs. Running tasks come in the order of their ids, stopped
// ones newest first.
func (a *API) listTasks(_ *call.Call, in *listTasksInput) (*listTasksOutput, error) {
	if in.MaxResults != nil && *in.MaxResults < 1 {
		return nil, call.Invalid("maxResults must be between 1 and 100.")
	}
	m, done := a.state.View()
	defer done()
	cluster, err := clusterOf(m, in.Cluster)
	if err != nil {
		return nil, err
	}
	fits, err := taskFilter(in, cluster)
	if err != nil {
		return nil, err
	}
	out := &listTasksOutput{TaskArns: []string{}}
	switch in.DesiredStatus {
	case "", taskRunning:
		var arns []string
		for e := range m.ActiveECSTasks() {
			if !e.Ends() && fits(e) {
				arns = append(arns, e.ARN())
			}
		}
		slices.Sort(arns)
		page, next, err := call.Page(arns, in.MaxResults, 100, in.NextToken, func(arn string) string { return arn })
		if err != nil {
			return nil, err
		}
		out.TaskArns, out.NextToken = append(out.TaskArns, page...), next
	case taskStopped:
		before, err := call.ReadNumber(in.NextToken)
		if err != nil {
			return nil, err
		}
		size, examined, last := min(int(aws.ToInt32(cmp.Or(in.MaxResults, aws.Int32(100)))), 100), 0, 0
		for position, e := range m.ECSTasksBefore(int(before)) {
			if len(out.TaskArns) == size || examined == call.MaxExamined {
				out.NextToken = aws.String(call.NewToken(strconv.Itoa(last)))
				break
			}
			examined++
			last = position
			if e.Task != nil && e.Ends() && fits(e) {
				out.TaskArns = append(out.TaskArns, e.ARN())
			}
		}
	case taskPending: // ECS never sets this as the desired status (API reference)
	default:
		return nil, call.Invalid("desiredStatus %s is not valid. Valid values: [RUNNING PENDING STOPPED]",
			in.DesiredStatus)
	}
	return out, nil
}

// taskFilter returns whether a task matches the filters of a request, besides the status.
func taskFilter(in *listTasksInput, cluster string) (func(model.ECSTask) bool, error) {
	instance := ""
	switch {
	case in.ServiceName != nil, in.DaemonName != nil:
		return func(model.ECSTask) bool { return false }, nil // Batch starts tasks without a service
	case in.StartedBy != nil && (in.Family != nil || in.ContainerInstance != nil || in.LaunchType != ""):
		return nil, call.Invalid("startedBy must be the only filter.")
	case in.ContainerInstance != nil:
		id, err := identifierIn(cluster, "container-instance", *in.ContainerInstance)
		if err != nil {
			return nil, err
		}
		instance = model.ECSPrefix + "container-instance/" + cluster + "/" + id
	}
	return func(e model.ECSTask) bool {
		return e.Of().Environment.Cluster() == cluster &&
			(instance == "" || aws.ToString(e.Of().InstanceARN()) == instance) &&
			(in.StartedBy == nil || *in.StartedBy == e.Task.Job.ID) &&
			(in.Family == nil || *in.Family == e.Task.Job.Definition.Name()) &&
			(in.LaunchType == "" || in.LaunchType == launchType(e))
	}, nil
}

// launchType returns the launch type of a task's environment.
func launchType(e model.ECSTask) string {
	if e.Of().Environment.IsFargate() {
		return string(types.PlatformCapabilityFargate)
	}
	return string(types.PlatformCapabilityEc2)
}

// describeTasks returns tasks of a cluster.
func (a *API) describeTasks(_ *call.Call, in *describeTasksInput) (*describeTasksOutput, error) {
	if err := cmp.Or(checkListed("Tasks", in.Tasks), checkInclude(in.Include, "TAGS")); err != nil {
		return nil, err
	}
	m, done := a.state.View()
	defer done()
	cluster, err := clusterOf(m, in.Cluster)
	if err != nil {
		return nil, err
	}
	out := &describeTasksOutput{Failures: []failure{}, Tasks: []ecsTask{}}
	for _, text := range in.Tasks {
		id, err := identifierIn(cluster, "task", text)
		if err != nil {
			return nil, err
		}
		e, ok := m.FindECSTask(id)
		if !ok || e.Of().Environment.Cluster() != cluster {
			out.Failures = append(out.Failures, missingIn(model.ECSPrefix+"task/"+cluster+"/"+id))
			continue
		}
		d := describeECSTask(e)
		if len(in.Include) > 0 {
			d.Tags = propagatedTags(e.Task.Job)
		}
		out.Tasks = append(out.Tasks, d)
	}
	return out, nil
}

// describeECSTask returns a task without its tags. ECS leaves startedBy to the caller of RunTask; here
// it is the id of the job, so that ListTasks finds the tasks of an array. The group is the default of
// ECS.
func describeECSTask(e model.ECSTask) ecsTask {
	t, at := e.Task, e.Of()
	d := ecsTask{
		Attachments:          []attachment{},
		ClusterArn:           aws.String(clusterARN(at.Environment.Cluster())),
		ContainerInstanceArn: at.InstanceARN(),
		CreatedAt:            seconds(at.CreatedAt),
		DesiredStatus:        aws.String(taskRunning),
		EnableExecuteCommand: aws.Bool(false),
		Group:                aws.String("family:" + t.Job.Definition.Name()),
		LastStatus:           aws.String(taskPending),
		LaunchType:           aws.String(launchType(e)),
		Overrides:            &taskOverride{},
		StartedAt:            seconds(at.StartedAt),
		StartedBy:            &t.Job.ID,
		StoppedAt:            seconds(at.StoppedAt),
		Tags:                 []tag{},
		TaskArn:              aws.String(e.ARN()),
		TaskDefinitionArn:    taskDefinitionARN(t.Job.Definition),
	}
	if c := t.Job.Container; at.Environment.IsFargate() && c.FargatePlatformConfiguration != nil {
		d.PlatformVersion = c.FargatePlatformConfiguration.PlatformVersion
	}
	switch {
	case at.StoppedAt != 0:
		d.LastStatus, d.StopCode, d.StoppedReason = aws.String(taskStopped), stopCode(at),
			call.Optional(at.StatusReason)
	case at.StartedAt != 0 && e.Ends():
		d.LastStatus = aws.String(taskStopping)
	case at.StartedAt != 0:
		d.LastStatus = aws.String(taskRunning)
	}
	if e.Ends() {
		d.DesiredStatus = aws.String(taskStopped)
	}
	var whole model.Amount
	gpus := at.GPUs
	for i := range max(len(t.Job.Parts), 1) {
		c, need := ecsContainerOf(e, i)
		c.LastStatus = aws.String(containerStatus(*d.LastStatus))
		if n := min(int(need.GPUs), len(gpus)); n > 0 {
			c.GpuIds, gpus = gpus[:n], gpus[n:]
		}
		if len(t.Job.Parts) > 0 && t.Job.Parts[i].Node != e.Node {
			continue
		}
		whole.MilliCPU, whole.MemoryMiB = whole.MilliCPU+need.MilliCPU, whole.MemoryMiB+need.MemoryMiB
		d.Containers = append(d.Containers, c)
		d.Overrides.ContainerOverrides = append(d.Overrides.ContainerOverrides, overrideIn(e, i))
	}
	d.Cpu, d.Memory = aws.String(strconv.FormatInt(cpuUnits(whole), 10)),
		aws.String(strconv.FormatInt(whole.MemoryMiB, 10))
	return d
}

// containerStatus returns the status of a container in a task. Containers have no transition
// states (API reference of Container).
func containerStatus(ofTask string) string {
	if ofTask == taskStopping {
		return taskRunning
	}
	return ofTask
}

// ecsContainerOf returns container i of a job, and what it requests. A
// container that has not ended has no exit code.
func ecsContainerOf(e model.ECSTask, i int) (c ecsContainer, need model.Amount) {
	t, at := e.Task, e.Of()
	properties := partOf(t.Job, i)
	need, _ = model.Requested(properties) // SubmitJob has checked it
	c = ecsContainer{
		Cpu:               aws.String(strconv.FormatInt(cpuUnits(need), 10)),
		ExitCode:          at.Exit,
		HealthStatus:      aws.String("UNKNOWN"), // as for containers without health checks
		Image:             properties.Image,
		ImageDigest:       call.Optional(at.ImageDigest),
		Memory:            aws.String(strconv.FormatInt(need.MemoryMiB, 10)),
		Name:              aws.String(containerName(t.Job, i)),
		NetworkBindings:   []attachment{},
		NetworkInterfaces: []attachment{},
		Reason:            call.Optional(at.Reason),
		TaskArn:           aws.String(e.ARN()),
	}
	if len(t.Job.Parts) > 0 {
		c.ExitCode, c.Reason = nil, nil
		if i < len(at.Containers) {
			c.ExitCode, c.Reason = at.Containers[i].Exit, call.Optional(at.Containers[i].Reason)
			c.ImageDigest = call.Optional(at.Containers[i].ImageDigest)
		}
	}
	return c, need
}

// partOf returns the properties of container i of a job.
func partOf(j *model.Job, i int) *types.ContainerProperties {
	if len(j.Parts) > 0 {
		return j.Parts[i].Container
	}
	return j.Container
}

// containerName returns the name of container i of a job in ECS.
func containerName(j *model.Job, i int) string {
	if len(j.Parts) == 0 || j.Parts[i].Task == nil {
		return onlyContainer
	}
	return cmp.Or(j.Parts[i].Name(), onlyContainer)
}

// overrideIn returns what container i of a task runs.
func overrideIn(e model.ECSTask, i int) containerOverride {
	command, err := model.Substitute(partOf(e.Task.Job, i).Command, e.Task.Job.Parameters())
	if err != nil {
		command = partOf(e.Task.Job, i).Command // the container could not start
	}
	return containerOverride{Command: command, Environment: attempt.Environment(e, i),
		Name: aws.String(containerName(e.Task.Job, i))}
}

// stopCode returns why a task ended, as one of the codes of ECS. Batch ends tasks by StopTask, which
// counts as a user's request.
func stopCode(a *model.Attempt) *string {
	code := "UserInitiated"
	switch {
	case strings.HasPrefix(a.StatusReason, model.ReasonExited):
		code = "EssentialContainerExited"
	case a.StatusReason == model.ReasonNotStarted:
		code = "TaskFailedToStart"
	case a.StatusReason == model.ReasonHost:
		code = "TerminationNotice"
	}
	return &code
}

// propagatedTags returns the tags that Batch gives to the tasks of a job: those of the job and its
// definition, if propagateTags is set (API reference of SubmitJob).
func propagatedTags(j *model.Job) []tag {
	all := []tag{}
	if !aws.ToBool(cmp.Or(j.Request.PropagateTags, j.Definition.Request.PropagateTags)) {
		return all
	}
	tags := model.Merged(j.Definition.Request.Tags, j.Request.Tags)
	for _, key := range call.SortedKeys(tags) {
		all = append(all, tag{&key, aws.String(tags[key])})
	}
	return all
}

// seconds returns a time of the model as ECS shows it; nil for 0.
func seconds(ms int64) *float64 {
	if ms == 0 {
		return nil
	}
	return aws.Float64(float64(ms) / 1000)
}
