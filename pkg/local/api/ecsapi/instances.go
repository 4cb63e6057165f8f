package ecsapi

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// listContainerInstancesInput is the request of ECS ListContainerInstances.
type listContainerInstancesInput struct {
	Cluster *string
	// Filter is a statement of the cluster query language, which the engine rejects.
	Filter     *string
	MaxResults *int32
	NextToken  *string
	Status     string
}

// listContainerInstancesOutput is its answer.
type listContainerInstancesOutput struct {
	ContainerInstanceArns []string
	NextToken             *string
}

// describeContainerInstancesInput is the request of ECS DescribeContainerInstances.
type describeContainerInstancesInput struct {
	Cluster *string
	// ContainerInstances are ids or ARNs, 1 to 100.
	ContainerInstances []string
	// Include can be TAGS, of which instances have none here, and CONTAINER_INSTANCE_HEALTH.
	Include []string
}

// describeContainerInstancesOutput has an entry for each requested instance, in one of the lists.
type describeContainerInstancesOutput struct {
	ContainerInstances []containerInstance
	Failures           []failure
}

// containerInstance is the local machine as an instance of an ECS cluster.
type containerInstance struct {
	AgentConnected       *bool
	Attributes           []attribute
	ContainerInstanceArn *string
	Ec2InstanceId        *string
	HealthStatus         *instanceHealth
	PendingTasksCount    *int32
	RegisteredResources  []resource
	RemainingResources   []resource
	RunningTasksCount    *int32
	// Status is ACTIVE, or INACTIVE for an instance that runs nothing any more.
	Status *string
	Tags   []tag
}

// attribute is an attribute of a container instance.
type attribute struct{ Name, Value *string }

// instanceHealth is the health of a container instance.
type instanceHealth struct{ OverallStatus *string }

// resource is an amount that a container instance offers. Type is INTEGER, or STRINGSET for GPUs.
type resource struct {
	IntegerValue   *int32
	Name           *string
	StringSetValue []string
	Type           *string
}

// localInstance is the id of the machine as an EC2 instance. No instance has it.
const localInstance = "i-00000000000000000"

// activeInstances returns the container instances of a cluster that can run something: the machine
// with the engine's executor, and with each other executor that runs an attempt there. All of them
// are one machine, so they share its capacity. Fargate has none.
func (a *API) activeInstances(m *model.Model, cluster string) []model.Instance {
	v, _ := m.ClusterEnvironment(cluster)
	if v == nil || v.IsFargate() {
		return nil
	}
	all := []model.Instance{{Environment: v, Executor: a.machine.Executor}}
	for e := range m.ActiveECSTasks() {
		if i := (model.Instance{Environment: v, Executor: e.Of().Executor}); e.Of().
			Environment == v && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	return all
}

// listContainerInstances returns the container instances of a cluster that are not INACTIVE.
func (a *API) listContainerInstances(_ *call.Call,
	in *listContainerInstancesInput) (*listContainerInstancesOutput, error) {
	m, done := a.state.View()
	defer done()
	cluster, err := clusterOf(m, in.Cluster)
	statuses := []string{statusActive, "DRAINING", "REGISTERING", "DEREGISTERING", "REGISTRATION_FAILED"}
	switch {
	case err != nil:
		return nil, err
	case in.Filter != nil:
		return nil, call.Invalid("filter: the local engine does not implement the cluster query language.")
	case in.Status != "" && !slices.Contains(statuses, in.Status):
		return nil, call.Invalid("status %s is not valid. Valid values: %v", in.Status, statuses)
	}
	arns := []string{}
	if in.Status == "" || in.Status == statusActive {
		for _, i := range a.activeInstances(m, cluster) {
			arns = append(arns, i.ARN())
		}
	}
	slices.Sort(arns)
	page, next, err := call.Page(arns, in.MaxResults, 100, in.NextToken, func(arn string) string { return arn })
	if err != nil {
		return nil, err
	}
	return &listContainerInstancesOutput{ContainerInstanceArns: page, NextToken: next}, nil
}

// describeContainerInstances returns container instances of a cluster, also INACTIVE ones on which
// attempts have run.
func (a *API) describeContainerInstances(_ *call.Call,
	in *describeContainerInstancesInput) (*describeContainerInstancesOutput, error) {
	const health = "CONTAINER_INSTANCE_HEALTH"
	if err := cmp.Or(checkListed("Container instances", in.ContainerInstances),
		checkInclude(in.Include, "TAGS", health)); err != nil {
		return nil, err
	}
	m, done := a.state.View()
	defer done()
	cluster, err := clusterOf(m, in.Cluster)
	if err != nil {
		return nil, err
	}
	active, all := a.activeInstances(m, cluster), m.Instances(cluster)
	out := &describeContainerInstancesOutput{ContainerInstances: []containerInstance{}, Failures: []failure{}}
	for _, text := range in.ContainerInstances {
		id, err := identifierIn(cluster, "container-instance", text)
		if err != nil {
			return nil, err
		}
		is := func(i model.Instance) bool { return i.ID() == id }
		var d containerInstance
		if at := slices.IndexFunc(active, is); at >= 0 {
			d = a.activeInstance(m, active[at])
		} else if at := slices.IndexFunc(all, is); at >= 0 {
			d = a.describeInstance(m, all[at])
		} else {
			out.Failures = append(out.Failures, missingIn(model.ECSPrefix+"container-instance/"+cluster+"/"+id))
			continue
		}
		if slices.Contains(in.Include, health) {
			d.HealthStatus = &instanceHealth{aws.String("INSUFFICIENT_DATA")} // no agent checks it
		}
		out.ContainerInstances = append(out.ContainerInstances, d)
	}
	return out, nil
}

// describeInstance returns an instance that runs nothing any more.
func (a *API) describeInstance(m *model.Model, i model.Instance) containerInstance {
	running, pending := countTasks(m, func(e model.ECSTask) bool {
		return model.Instance{Environment: e.Of().Environment, Executor: e.Of().Executor} == i
	})
	return containerInstance{
		AgentConnected:       aws.Bool(false),
		Attributes:           machineAttributes(),
		ContainerInstanceArn: aws.String(i.ARN()),
		Ec2InstanceId:        aws.String(localInstance),
		PendingTasksCount:    &pending,
		RegisteredResources:  []resource{},
		RemainingResources:   []resource{},
		RunningTasksCount:    &running,
		Status:               aws.String(statusInactive),
		Tags:                 []tag{},
	}
}

// activeInstance returns an instance of an existing environment. It offers the vCPUs of the machine
// up to the environment's limit, and all memory and GPUs. Attempts in other environments also reduce
// what remains, because there is only one machine.
func (a *API) activeInstance(m *model.Model, i model.Instance) containerInstance {
	d, v := a.describeInstance(m, i), i.Environment
	d.Status = aws.String(statusActive)
	d.AgentConnected = aws.Bool(a.state.AbsentSince() == 0)
	d.RegisteredResources = resources(v.Offers(a.machine.Capacity()), a.machine.GPUs())
	d.RemainingResources = resources(m.Free(v, a.machine.Capacity()), m.FreeGPUs(a.machine.GPUs()))
	return d
}

// machineAttributes returns the attributes of the machine, under the names that the ECS agent uses.
// EC2 has no instance type of that name.
func machineAttributes() []attribute {
	architecture := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	return []attribute{
		{aws.String("ecs.instance-type"), aws.String(model.ComputeEnvironment)},
		{aws.String("ecs.os-type"), aws.String(runtime.GOOS)},
		{aws.String("ecs.cpu-architecture"), &architecture},
	}
}

// resources returns amounts as ECS counts them: 1024 CPU units are one vCPU.
func resources(n model.Amount, gpus []string) []resource {
	integer := func(name string, value int64) resource {
		return resource{Name: &name, Type: aws.String("INTEGER"),
			IntegerValue: aws.Int32(int32(min(value, math.MaxInt32)))}
	}
	all := []resource{integer("CPU", cpuUnits(n)), integer("MEMORY", n.MemoryMiB)}
	if len(gpus) > 0 {
		all = append(all, resource{Name: aws.String("GPU"), Type: aws.String("STRINGSET"), StringSetValue: gpus})
	}
	return all
}

// countTasks counts the tasks that run, and those that are about to.
func countTasks(m *model.Model, of func(model.ECSTask) bool) (running, pending int32) {
	for e := range m.ActiveECSTasks() {
		switch {
		case e.Ends() || !of(e):
		case e.Of().StartedAt == 0:
			pending++
		default:
			running++
		}
	}
	return running, pending
}
