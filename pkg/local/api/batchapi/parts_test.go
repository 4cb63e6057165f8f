package batchapi

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/ecsapi"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestPodDefinitions(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	second := types.EksContainer{Image: aws.String("busybox:2"), Resources: &types.EksContainerResourceRequirements{Limits: map[string]string{"cpu": "1", "memory": "4Mi"}}}
	w.Register("pod", "", "", modeltest.Pod(types.EksPodProperties{HostNetwork: aws.Bool(true), Containers: []types.EksContainer{modeltest.InPod("main", "0"), second}}))
	described := func() types.JobDefinition {
		out, err := do(w.describeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"pod:1"}})
		if err != nil || len(out.JobDefinitions) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out.JobDefinitions[0]
	}
	d := described()
	if d.ContainerOrchestrationType != types.OrchestrationTypeEks || d.ContainerProperties != nil || !*d.EksProperties.PodProperties.HostNetwork {
		t.Errorf("%+v", d)
	}
	if c := d.EksProperties.PodProperties.Containers[1]; c.Command == nil || c.Env == nil || c.Args == nil || c.VolumeMounts == nil || c.Resources.Limits["cpu"] != "1" {
		t.Errorf("%+v", c)
	}
	must(t, w.deregisterJobDefinition, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("pod:1")})
	w = w.restart(modeltest.Options{})
	if d := described(); *d.Status != "INACTIVE" || len(d.EksProperties.PodProperties.Containers) != 2 {
		t.Errorf("after a restart: %+v", d)
	}
}

func TestRejectedPods(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	for _, c := range []struct {
		change func(p *types.EksPodProperties, in *awsbatch.RegisterJobDefinitionInput)
		want   string
	}{
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers, p.HostNetwork = nil, aws.Bool(true)
		},
			"Containers must be provided for Batch on EKS jobs."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.InitContainers = p.Containers
		},
			"The container name: main must be unique in multi-container job."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = modeltest.PodSize("0.3", "64Mi")
		},
			"Value 0.3 for type cpu in resources is not valid. Provide a valid number and unit."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = modeltest.PodSize("500m", "64Mi")
		},
			"Value 500m for type cpu in resources is not valid. Provide a valid number and unit."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = modeltest.PodSize("1", "1Gi")
		},
			"Value 1Gi for type memory is not valid."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = modeltest.PodSize("1", "3Mi")
		},
			"Memory must be at least 4 Mib, got 3 Mib."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources.Requests["disk"] = "1"
		},
			"disk is not a supported type for resources."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			delete(p.Containers[0].Resources.Requests, "cpu")
		},
			"cpu must be provided in limits or requests of the resources of a container of a pod."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources.Limits = map[string]string{"memory": "128Mi"}
		}, "memory request must be equal to memory limit if both are provided."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources.Limits = map[string]string{"cpu": "0.25"}
		}, "cpu request must be <= to cpu limit if both are provided."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Env = []types.EksContainerEnvironmentVariable{{Name: aws.String("AWS_BATCH_X")}}
		}, "Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Volumes = []types.EksVolume{{Name: aws.String("v"), EmptyDir: &types.EksEmptyDir{Medium: aws.String("Disk")}}}
		}, "Invalid Volume mount. Allowed values - Memory or null."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.DnsPolicy = aws.String("None")
		}, "Unsupported DNS policy value."},
		{func(_ *types.EksPodProperties, in *awsbatch.RegisterJobDefinitionInput) {
			in.PropagateTags = aws.Bool(true)
		},
			"Batch on EKS does not support tag propagation."},
	} {
		p := &types.EksPodProperties{Containers: []types.EksContainer{modeltest.InPod("main", "0")}}
		in := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("pod"), Type: types.JobDefinitionTypeContainer,
			EksProperties: &types.EksProperties{PodProperties: p}}
		c.change(p, in)
		_, err := do(w.registerJobDefinition, in)
		refused(t, err, c.want)
	}
	w.Register("pod", "", "", modeltest.Pod(types.EksPodProperties{Containers: []types.EksContainer{modeltest.InPod("main", "0")}}))
	w.Register("work", "1", "64")
	for _, c := range []struct {
		definition string
		change     func(*awsbatch.SubmitJobInput)
		want       string
	}{
		{"pod", modeltest.Words("1"), "Container overrides or node overrides should not be set for Batch on EKS jobs."},
		{"pod", modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("other")}), "Container other in eksPropertiesOverride does not exist."},
		{"pod", modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main"), Resources: modeltest.PodSize("1.1", "64Mi")}),
			"Value 1.1 for type cpu in resources is not valid. Provide a valid number and unit."},
		{"work", modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main")}), "eksPropertiesOverride needs a job definition that has eksProperties."},
	} {
		in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: &c.definition}
		c.change(in)
		_, err := do(w.submitJob, in)
		refused(t, err, c.want)
	}
}

// TestPodOverrides: a job replaces members of the containers that it names, and the definition is unchanged.
func TestPodOverrides(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	c := modeltest.InPod("main", "0")
	c.Env = []types.EksContainerEnvironmentVariable{{Name: aws.String("A"), Value: aws.String("definition")}, {Name: aws.String("B"), Value: aws.String("definition")}}
	unnamed := types.EksContainer{Image: aws.String("busybox:2"), Args: []string{"0"}, Resources: &types.EksContainerResourceRequirements{
		Limits: map[string]string{"cpu": "1", "memory": "64Mi"}, Requests: map[string]string{"cpu": "1", "memory": "64Mi"}}}
	w.Register("pod", "", "", modeltest.Pod(types.EksPodProperties{Containers: []types.EksContainer{c, unnamed}}))
	id := w.submit("pod", func(in *awsbatch.SubmitJobInput) {
		in.EksPropertiesOverride = &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{
			Metadata: &types.EksMetadata{Labels: map[string]string{"a": "b"}},
			Containers: []types.EksContainerOverride{
				{Name: aws.String("main"), Args: []string{"1"}, Env: []types.EksContainerEnvironmentVariable{{Name: aws.String("B"), Value: aws.String("job")}}},
				// the container without a name
				{Resources: &types.EksContainerResourceRequirements{Requests: map[string]string{"cpu": "2"}}},
			}}}
	})
	w.Idle()
	w.Want(id, types.JobStatusFailed, model.ReasonExited)
	pod := w.job(id).EksProperties.PodProperties
	first, second := pod.Containers[0], pod.Containers[1]
	if len(pod.Containers) != 2 || pod.Metadata.Labels["a"] != "b" || first.Args[0] != "1" || *first.Image != "busybox:1" ||
		*first.Env[0].Value != "definition" || *first.Env[1].Value != "job" {
		t.Errorf("%+v", pod)
	}
	// The override replaces limits and requests of cpu, and leaves the memory.
	if _, limited := second.Resources.Limits["cpu"]; limited || second.Resources.Requests["cpu"] != "2" || second.Resources.Limits["memory"] != "64Mi" {
		t.Errorf("resources %+v", second.Resources)
	}
	// The definition is unchanged.
	out, err := do(w.describeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("pod")})
	if err != nil || *out.JobDefinitions[0].EksProperties.PodProperties.Containers[0].Env[1].Value != "definition" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestEnvironmentsOnEKS(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	for want, change := range map[string]func(*awsbatch.CreateComputeEnvironmentInput){
		"eksClusterArn must be an EKS cluster ARN.": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.EksConfiguration.EksClusterArn = aws.String("main")
		},
		"kubernetesNamespace cannot be the default Kubernetes namespace": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.EksConfiguration.KubernetesNamespace = aws.String("default")
		},
		"kubernetesNamespace cannot be a reserved Kubernetes system namespace": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.EksConfiguration.KubernetesNamespace = aws.String("kube-x")
		},
		"kubernetesNamespace must be a valid Kubernetes namespace.": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.EksConfiguration.KubernetesNamespace = aws.String("Batch")
		},
		"Supported compute types for EKS compute environments are [EC2, SPOT]": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.ComputeResources = modeltest.Resources(types.CRTypeFargate, 4)
		},
		"allocationStrategy is required for EKS Compute Environments.": func(in *awsbatch.CreateComputeEnvironmentInput) { in.ComputeResources.AllocationStrategy = "" },
		"Invalid imageType in ComputeResources.ec2Configuration": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.ComputeResources.Ec2Configuration = []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023")}}
		},
	} {
		in := onEKS("eks")
		change(in)
		_, err := do(w.createComputeEnvironment, in)
		refused(t, err, want)
	}
	must(t, w.createComputeEnvironment, onEKS("eks"))
	w.Environment("ec2", types.CRTypeEc2, 4)
	if d := w.described("eks"); d.ContainerOrchestrationType != types.OrchestrationTypeEks || d.EcsClusterArn != nil || d.Uuid == nil || d.ServiceRole != nil ||
		*d.EksConfiguration.KubernetesNamespace != "batch" || d.Status != types.CEStatusValid {
		t.Errorf("%+v", d)
	}
	clusters, err := ecsapi.New(w.Engine, ecsapi.Machine{}).Operations()["ListClusters"](received("ListClusters", []byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.text(clusters); strings.Contains(got, "eks") || !strings.Contains(got, "AWSBatch-ec2-") {
		t.Errorf("ECS clusters: %s", got)
	}
	must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("eks"), ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(2)}})
	w = w.restart(modeltest.Options{})
	if d := w.described("eks"); *d.ComputeResources.MaxvCpus != 2 || d.EksConfiguration == nil {
		t.Errorf("after an update and a restart: %+v", d)
	}
	for _, c := range []struct {
		kind types.JobQueueType
		on   []string
		want string
	}{
		{"", []string{"eks", "ec2"}, "EKS and ECS compute environments can not be mixed."},
		{types.JobQueueTypeEks, []string{"ec2"}, "EKS job queue type must have EKS compute environment."},
		{types.JobQueueTypeEcs, []string{"eks"}, "ECS job queue type must not have EKS compute environment."},
	} {
		_, err := do(w.createJobQueue, &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("mixed"), Priority: aws.Int32(1), ComputeEnvironmentOrder: modeltest.Order(c.on...), JobQueueType: c.kind})
		refused(t, err, c.want)
	}
	w.Queue("pods", []string{"eks"})
	w.Queue("tasks", []string{"ec2"})
	queues, err := do(w.describeJobQueues, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"pods"}})
	if err != nil || queues.JobQueues[0].JobQueueType != types.JobQueueTypeEks {
		t.Errorf("%+v, %v", queues, err)
	}
	podsAndQueues(w)
	must(t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("pods"), State: types.JQStateDisabled})
	must(t, w.deleteJobQueue, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("pods")})
	must(t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("eks"), State: types.CEStateDisabled})
	must(t, w.deleteComputeEnvironment, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("eks")})
}

// podsAndQueues checks that pods run only in queues of environments on EKS, and other jobs only in others.
func podsAndQueues(w *testAPI) {
	w.t.Helper()
	w.Register("pod", "", "", modeltest.Pod(types.EksPodProperties{Containers: []types.EksContainer{modeltest.InPod("main", "0")}}))
	w.Register("work", "1", "64")
	for definition, c := range map[string]struct{ queue, want string }{
		"pod":  {"tasks", "Job Queue is attached to Compute Environment that can not run Batch on EKS jobs."},
		"work": {"pods", "Job Queue is attached to Compute Environment that can not run Jobs with capability EC2."},
	} {
		_, err := do(w.submitJob, modeltest.Request(definition, modeltest.To(c.queue)))
		refused(w.t, err, c.want)
	}
	large := w.submit("pod", modeltest.To("pods"), modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main"), Resources: modeltest.PodSize("3", "64Mi")}))
	id := w.submit("pod", modeltest.To("pods"))
	w.cancel(large, "too large for its environment")
	w.Idle()
	a := w.job(id).EksAttempts[0]
	if aws.ToString(a.EksClusterArn) != "arn:aws:eks:eu-west-1:123456789012:cluster/main" || aws.ToString(a.PodNamespace) != "batch" {
		w.t.Errorf("%+v", a)
	}
}

func TestTaskRefuses(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	two := func(edit func(a, b *types.TaskContainerProperties)) *types.EcsProperties {
		a, b := modeltest.Part("a", "true", true), modeltest.Part("b", "true", false)
		edit(&a, &b)
		return modeltest.Task(a, b)
	}
	on := func(name, condition string) []types.TaskContainerDependency {
		return []types.TaskContainerDependency{{ContainerName: &name, Condition: &condition}}
	}
	type part = types.TaskContainerProperties
	for _, c := range []struct {
		p    *types.EcsProperties
		want string
	}{
		{&types.EcsProperties{TaskProperties: []types.EcsTaskProperties{}}, "ecsProperties must have exactly one element in taskProperties."},
		{modeltest.Task(), "Error executing request, Exception : Number of containers must be between 1 and 10"},
		{two(func(a, b *part) { a.Essential = aws.Bool(false) }), "Error executing request, Exception : At least one container must be set as essential"},
		{two(func(a, b *part) { b.Name = a.Name }), "Error executing request, Exception : Container names must be unique"},
		{two(func(a, b *part) { b.Name = aws.String("a/b") }), `Container name "a/b" is not valid: 1 to 128 letters, digits, hyphens and underscores.`},
		{two(func(a, b *part) { b.DependsOn = on("c", "START") }), "Container b cannot depend on c."},
		{two(func(a, b *part) { b.DependsOn = on("a", "SUCCESS") }), "Error executing request, Exception : The container target of a dependency can not have condition SUCCESS if the target container a is essential"},
		{two(func(a, b *part) { b.DependsOn = on("a", "LATER") }), "Error executing request, Exception : TaskContainer dependency LATER is not valid. Valid values are: [START, COMPLETE, SUCCESS]"},
		{two(func(a, b *part) { a.DependsOn, b.DependsOn = on("b", "START"), on("a", "START") }), "The dependencies of container a form a cycle."},
		{two(func(a, b *part) { b.Environment = []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "")} }),
			"Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{two(func(a, b *part) { a.ResourceRequirements, b.ResourceRequirements = nil, nil }), "Error executing request, Exception : vCPU is not provided"},
	} {
		if len(c.p.TaskProperties) == 1 && c.p.TaskProperties[0].Containers == nil {
			c.p.TaskProperties[0].Containers = []part{} // the SDK requires the member
		}
		_, err := do(w.registerJobDefinition, &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("task"), Type: "container", EcsProperties: c.p})
		refused(t, err, c.want)
	}
	must(t, w.registerJobDefinition, modeltest.Tasks("task", modeltest.Part("main", "true", true), modeltest.Part("side", "true", false)))
	for _, c := range []struct {
		edit func(*awsbatch.SubmitJobInput)
		want string
	}{
		{modeltest.Words("x"), "containerOverrides cannot be used with a job definition that has ecsProperties."},
		{func(in *awsbatch.SubmitJobInput) {
			in.EcsPropertiesOverride = &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{
				Containers: []types.TaskContainerOverrides{{Name: aws.String("none")}}}}}
		}, "Container none in ecsPropertiesOverride does not exist."},
	} {
		in := modeltest.Request("task")
		c.edit(in)
		_, err := do(w.submitJob, in)
		refused(t, err, c.want)
	}
}

// TestNodesConsume checks that a job reserves the consumable resources of all its nodes, and once those that its
// definition or its request lists beside them.
func TestNodesConsume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 8, MemoryMiB: 1024})
		must(t, w.createConsumableResource, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence"), TotalQuantity: aws.Int64(6)})
		main, others := modeltest.NodeRange("0", "1m"), modeltest.TaskNodes("1:", modeltest.Part("main", "1h", true), modeltest.Part("side", "1h", false))
		main.ConsumableResourceProperties, others.ConsumableResourceProperties = modeltest.Asks(1, "licence"), modeltest.Asks(2, model.ARN(model.KindConsumable, "licence"))
		must(t, w.registerJobDefinition, modeltest.Nodes(3, 0, main, others))
		consuming := func(n int64) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				in.NodeOverrides = &types.NodeOverrides{NodePropertyOverrides: []types.NodePropertyOverride{
					{TargetNodes: aws.String("1:"), ConsumableResourcePropertiesOverride: modeltest.Asks(n, "licence")}}}
			}
		}
		first, second := w.submit("multi"), w.submit("multi", consuming(1))
		large, largest := w.submit("multi", consuming(4)), w.submit("multi", consuming(math.MaxInt64))
		w.Want(first, types.JobStatusRunning, "")
		w.Want(second, types.JobStatusRunnable, "the job waits for 3 of the consumable resource licence")
		const toomuch = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for %d of the consumable resource licence, more than its total quantity"
		w.Want(large, types.JobStatusRunnable, fmt.Sprintf(toomuch, 9))
		w.Want(largest, types.JobStatusRunnable, fmt.Sprintf(toomuch, math.MaxInt64))
		if got := *w.job(first).ConsumableResourceProperties.ConsumableResourceList[0].Quantity; got != 5 {
			t.Errorf("the job shows %d, want 5", got)
		}
		time.Sleep(90 * time.Second)
		w.Want(second, types.JobStatusRunning, "")
		beside := modeltest.Nodes(3, 0, main, others)
		beside.ConsumableResourceProperties = modeltest.Asks(2, "licence")
		must(t, w.registerJobDefinition, beside)
		w.Want(w.submit("multi"), types.JobStatusRunnable, fmt.Sprintf(toomuch, 7))
		requested := w.submit("multi", func(in *awsbatch.SubmitJobInput) {
			in.ConsumableResourcePropertiesOverride = modeltest.Asks(1, "licence")
		})
		w.Want(requested, types.JobStatusRunnable, "the job waits for 6 of the consumable resource licence")
		time.Sleep(time.Minute)
		w.Want(requested, types.JobStatusRunning, "")
		in := modeltest.Request("multi")
		consuming(0)(in)
		_, err := do(w.submitJob, in)
		refused(t, err, "quantity of consumable resource licence should be at least 1.")
		others.ConsumableResourceProperties = modeltest.Asks(0, "licence")
		_, err = do(w.registerJobDefinition, modeltest.Nodes(3, 0, main, others))
		refused(t, err, "quantity of consumable resource licence should be at least 1.")
	})
}

func TestNumberOfNodesNeedsAnOpenRange(t *testing.T) {
	for _, c := range []struct {
		ranges []types.NodeRangeProperty
		nodes  int32
		want   string
	}{
		{[]types.NodeRangeProperty{modeltest.NodeRange("0:2", "x")}, 2, "numNodes can be overridden only where targetNodes of a node range has no end, such as 0:."},
		{[]types.NodeRangeProperty{modeltest.NodeRange("0:2", "x")}, 3, "numNodes can be overridden only where targetNodes of a node range has no end, such as 0:."},
		{[]types.NodeRangeProperty{modeltest.NodeRange("0", "x"), modeltest.NodeRange("1:", "x")}, 1, `numNodes must be more than the start of targetNodes "1:", got 1.`},
		{[]types.NodeRangeProperty{modeltest.NodeRange("0", "x"), modeltest.NodeRange("1:", "x")}, 2, ""},
		{[]types.NodeRangeProperty{modeltest.NodeRange(":", "x")}, 1, ""},
	} {
		w := newAPI(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192})
		must(t, w.registerJobDefinition, modeltest.Nodes(3, 0, c.ranges...))
		_, err := do(w.submitJob, &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi"),
			NodeOverrides: &types.NodeOverrides{NumNodes: &c.nodes}})
		if c.want != "" {
			refused(t, err, c.want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestMultiNodeRefuses(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	several := modeltest.TaskNodes("0:", modeltest.Part("a", "x", true), modeltest.Part("b", "x", true))
	exclusive, noEssential, small := modeltest.NodeRange("0:", "x"), modeltest.TaskNodes("0:", modeltest.Part("a", "x", false)), modeltest.TaskNodes("0:", modeltest.Part("a", "x", true))
	exclusive.EcsProperties = several.EcsProperties
	elsewhere := modeltest.PodNodes("1", modeltest.InPod("main", "x"))
	elsewhere.EksProperties.PodProperties.Metadata = &types.EksMetadata{Namespace: aws.String("other")}
	eks := types.NodeRangeProperty{TargetNodes: aws.String("0:"), EksProperties: &types.EksProperties{PodProperties: &types.EksPodProperties{HostNetwork: aws.Bool(true)}}}
	both := func(nodes int32) *awsbatch.RegisterJobDefinitionInput {
		in := modeltest.Nodes(nodes, 0, modeltest.NodeRange("0:", "x"))
		in.EcsProperties = several.EcsProperties
		return in
	}
	const onlyOne = "Only one of containerProperties, ecsProperties and nodeProperties can be given."
	for _, c := range []struct {
		in   *awsbatch.RegisterJobDefinitionInput
		want string
	}{
		{modeltest.Nodes(2, 2, modeltest.NodeRange("0:", "x")), "Error executing request, Exception : Main node index is out of range, must be less than numNodes"},
		{modeltest.Nodes(0, 0, modeltest.NodeRange("0:", "x")), "Error executing request, Exception : Number of nodes must be between 1 and 1000"},
		{modeltest.Nodes(3, 0, modeltest.NodeRange("0", "x"), modeltest.NodeRange("2:", "x")), "Error executing request, Exception : Node Range Properties target nodes have missing ranges"},
		{modeltest.Nodes(3, 0, modeltest.NodeRange("0:3", "x")), `targetNodes "0:3" is not a range of the 3 nodes.`},
		{modeltest.Nodes(3, 0, modeltest.NodeRange("a", "x")), "Error executing request, Exception : targetNodes should contain only digits"},
		{both(3), onlyOne},
		{both(-1), onlyOne},            // a rejected request reserves no memory
		{both(math.MaxInt32), onlyOne}, // 2^31 nodes would exhaust the engine's memory
		{modeltest.Nodes(math.MaxInt32, 0, modeltest.NodeRange("0:", "x")), "Error executing request, Exception : Number of nodes must be between 1 and 1000"},
		{modeltest.Nodes(3, 0, exclusive), "Error executing request, Exception : NodeRangeProperties can not use both ecsProperties and container fields"},
		{modeltest.Nodes(3, 0, types.NodeRangeProperty{TargetNodes: aws.String("0:")}), "ECS Container Image must be provided."},
		{modeltest.Nodes(3, 0, noEssential), "Error executing request, Exception : At least one container must be set as essential"},
		{modeltest.Nodes(3, 0, small), "vCPU must be at least 1, got 0.5."},
		{modeltest.Nodes(3, 0, eks), "Containers must be provided for Batch on EKS jobs."},
		{modeltest.Nodes(3, 0, modeltest.NodeRange("0", "x"), modeltest.PodNodes("1:", modeltest.InPod("main", "x"))), "Either all node ranges have eksProperties, or none has."},
		{modeltest.Nodes(3, 0, modeltest.PodNodes("0:", modeltest.InPod("main", "x")), elsewhere), "All node ranges must have the same namespace."},
	} {
		_, err := do(w.registerJobDefinition, c.in)
		refused(t, err, c.want)
	}
}

// onEKS returns the request of an environment on EKS.
func onEKS(name string) *awsbatch.CreateComputeEnvironmentInput {
	r := modeltest.Resources(types.CRTypeEc2, 4)
	r.AllocationStrategy = types.CRAllocationStrategyBestFitProgressive
	return &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeManaged, ComputeResources: r,
		EksConfiguration: &types.EksConfiguration{EksClusterArn: aws.String("arn:aws:eks:eu-west-1:123456789012:cluster/main"), KubernetesNamespace: aws.String("batch")}}
}
