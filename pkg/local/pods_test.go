package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// size returns resources of a container of a pod.
func size(cpu, memory string) *types.EksContainerResourceRequirements {
	return &types.EksContainerResourceRequirements{Requests: map[string]string{"cpu": cpu, "memory": memory}}
}

// inPod returns a container of half a CPU; script runs its argument.
func inPod(name, word string) types.EksContainer {
	return types.EksContainer{Name: &name, Image: aws.String("busybox:1"), Args: []string{word}, Resources: size("0.5", "64Mi")}
}

// pod returns a change that turns a definition into one of a pod.
func pod(p types.EksPodProperties) func(*awsbatch.RegisterJobDefinitionInput) {
	return func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties = nil
		in.EksProperties = &types.EksProperties{PodProperties: &p}
	}
}

// podOverride returns a change of a request that overrides containers of a pod.
func podOverride(containers ...types.EksContainerOverride) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) {
		in.EksPropertiesOverride = &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{Containers: containers}}
	}
}

// podText returns how the containers of a pod ended, as text.
func podText(d types.JobDetail) string {
	var all []string
	for _, c := range slices.Concat(d.EksProperties.PodProperties.InitContainers, d.EksProperties.PodProperties.Containers) {
		text := aws.ToString(c.Name)
		if c.ExitCode != nil {
			text += fmt.Sprintf("=%d", *c.ExitCode)
		}
		if c.Reason != nil {
			text += " (" + *c.Reason + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestPodDefinitions(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	second := types.EksContainer{Image: aws.String("busybox:2"), Resources: &types.EksContainerResourceRequirements{Limits: map[string]string{"cpu": "1", "memory": "4Mi"}}}
	w.register("pod", "", "", pod(types.EksPodProperties{HostNetwork: aws.Bool(true), Containers: []types.EksContainer{inPod("main", "0"), second}}))
	described := func() types.JobDefinition {
		out, err := w.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"pod:1"}})
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
	if _, err := w.DeregisterJobDefinition(ctx, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("pod:1")}); err != nil {
		t.Fatal(err)
	}
	w = w.restart(w.engine.options.Dir, Options{})
	if d := described(); *d.Status != "INACTIVE" || len(d.EksProperties.PodProperties.Containers) != 2 {
		t.Errorf("after a restart: %+v", d)
	}
}

func TestRejectedPods(t *testing.T) {
	w := open(t, Options{})
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
			p.Containers[0].Resources = size("0.3", "64Mi")
		},
			"Value 0.3 for type cpu in resources is not valid. Provide a valid number and unit."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = size("500m", "64Mi")
		},
			"Value 500m for type cpu in resources is not valid. Provide a valid number and unit."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = size("1", "1Gi")
		},
			"Value 1Gi for type memory is not valid."},
		{func(p *types.EksPodProperties, _ *awsbatch.RegisterJobDefinitionInput) {
			p.Containers[0].Resources = size("1", "3Mi")
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
		p := &types.EksPodProperties{Containers: []types.EksContainer{inPod("main", "0")}}
		in := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("pod"), Type: types.JobDefinitionTypeContainer,
			EksProperties: &types.EksProperties{PodProperties: p}}
		c.change(p, in)
		_, err := w.RegisterJobDefinition(t.Context(), in)
		refused(t, err, c.want)
	}
	w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{inPod("main", "0")}}))
	w.register("work", "1", "64")
	for _, c := range []struct {
		definition string
		change     func(*awsbatch.SubmitJobInput)
		want       string
	}{
		{"pod", words("1"), "Container overrides or node overrides should not be set for Batch on EKS jobs."},
		{"pod", podOverride(types.EksContainerOverride{Name: aws.String("other")}), "Container other in eksPropertiesOverride does not exist."},
		{"pod", podOverride(types.EksContainerOverride{Name: aws.String("main"), Resources: size("1.1", "64Mi")}),
			"Value 1.1 for type cpu in resources is not valid. Provide a valid number and unit."},
		{"work", podOverride(types.EksContainerOverride{Name: aws.String("main")}), "eksPropertiesOverride needs a job definition that has eksProperties."},
	} {
		in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: &c.definition}
		c.change(in)
		_, err := w.SubmitJob(t.Context(), in)
		refused(t, err, c.want)
	}
}

func TestContainersOfAPod(t *testing.T) {
	type all = []types.EksContainer
	notStarted := "(CannotStartContainerError: its dependency, container fetch, did not succeed)"
	for _, c := range []struct {
		name       string
		init, main all
		status     types.JobStatus
		reason     string
		parts      string
		seconds    int
	}{
		{"one container", nil, all{inPod("main", "2s")}, "SUCCEEDED", model.ReasonExited, "main=0", 2},
		{"one that fails", nil, all{inPod("main", "7")}, "FAILED", model.ReasonExited, "main=7", 0},
		{"init containers, one after the other", all{inPod("fetch", "2s"), inPod("check", "3s")}, all{inPod("main", "1s"), inPod("side", "2s")},
			"SUCCEEDED", model.ReasonExited, "fetch=0, check=0, main=0, side=0", 7},
		{"a pod ends with its last container", nil, all{inPod("main", "fail"), inPod("side", "3s")}, "FAILED", model.ReasonExited, "main=1, side=0", 3},
		{"an init container fails", all{inPod("fetch", "7")}, all{inPod("main", "1s")}, "FAILED", model.ReasonExited, "fetch=7, main " + notStarted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "state")
				w := open(t, Options{Dir: dir, VCPUs: 1, MemoryMiB: 128}) // the init containers need no more than the containers
				w.register("pod", "", "", pod(types.EksPodProperties{InitContainers: c.init, Containers: c.main}))
				began := time.Now()
				id := w.submit("pod")
				w.idle()
				w.want(id, c.status, c.reason)
				d := w.job(id)
				if got := podText(d); got != c.parts {
					t.Errorf("containers: %s, want %s", got, c.parts)
				}
				if took := int(time.Since(began).Seconds()); took != c.seconds {
					t.Errorf("took %d s, want %d", took, c.seconds)
				}
				if d.Container != nil || len(d.Attempts) != 0 || len(d.EksAttempts) != 1 {
					t.Fatalf("%+v", d)
				}
				a := d.EksAttempts[0]
				if len(a.Containers) != len(c.main) || len(a.InitContainers) != len(c.init) || !strings.HasPrefix(*a.PodName, "aws-batch.") ||
					*a.PodName != *d.EksProperties.PodProperties.PodName || *a.NodeName != "local" || a.EksClusterArn != nil {
					t.Errorf("attempt %+v", a)
				}
				w = w.restart(dir, Options{ReadOnly: true})
				if got := podText(w.job(id)); got != c.parts {
					t.Errorf("after the restart: %s", got)
				}
			})
		})
	}
}

// TestPodJobs checks retries, a timeout, an array, an override and the environment of pods.
func TestPodJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		c := inPod("main", "7")
		c.Command = []string{"$(NAME)", "$$(NAME)", "$(OTHER)", "$"}
		c.Env = []types.EksContainerEnvironmentVariable{{Name: aws.String("NAME"), Value: aws.String("main")}, {Name: aws.String("ID"), Value: aws.String("$(AWS_BATCH_JOB_ID)-$(NAME)")}}
		w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{c}}))
		id := w.submit("pod", attempts(3, types.EvaluateOnExit{OnExitCode: aws.String("7"), Action: types.RetryActionRetry}))
		w.idle()
		if d := w.job(id); d.Status != "FAILED" || len(d.EksAttempts) != 3 || *d.EksAttempts[2].PodName == *d.EksAttempts[1].PodName || *d.EksAttempts[0].Containers[0].ExitCode != 7 {
			t.Errorf("retries: %+v", d)
		}
		if got := strings.Join(s.seen[0].Argv(), " "); got != "main $(NAME) $(OTHER) $ 7" {
			t.Errorf("command %q", got)
		}
		for name, want := range map[string]string{"ID": id + "-main", "AWS_BATCH_JOB_ATTEMPT": "2", "AWS_BATCH_JQ_NAME": "default",
			"AWS_BATCH_JOB_KUBERNETES_NODE_UID": "00000000-0000-0000-0000-000000000000"} {
			if got := s.value(1, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		late := w.submit("pod", timeout(60), podOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"1h"}}))
		w.idle()
		w.want(late, "FAILED", model.ReasonTimeout)
		array := w.submit("pod", podOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"0", "fail"}}), func(in *awsbatch.SubmitJobInput) {
			in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(2)}
		})
		w.idle()
		w.want(array, "FAILED", model.ReasonChild)
		if first, second := podText(w.job(array+":0")), podText(w.job(array+":1")); first != "main=0" || second != "main=1" || w.job(array).EksAttempts != nil {
			t.Errorf("children: %s, %s", first, second)
		}
		next := w.submit("pod", podOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"1h"}}))
		synctest.Wait()
		w.terminate(next, "enough")
		w.idle()
		w.want(next, "FAILED", "enough")
	})
}

func TestPodThatTheMachineCannotRun(t *testing.T) {
	w := open(t, Options{})
	w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{inPod("main", "0")}, Volumes: []types.EksVolume{
		{Name: aws.String("key"), Secret: &types.EksSecret{SecretName: aws.String("s")}},
		{Name: aws.String("data"), PersistentVolumeClaim: &types.EksPersistentVolumeClaim{ClaimName: aws.String("c")}}}}))
	id := w.submit("pod")
	w.idle()
	why := "the local engine cannot provide the secret of volume key, the persistentVolumeClaim of volume data"
	w.want(id, "FAILED", model.ReasonNotStarted+": "+why)
	if d := w.job(id); len(d.EksAttempts) != 1 || *d.EksAttempts[0].StatusReason != *d.StatusReason || *d.EksAttempts[0].Containers[0].Reason != "CannotStartContainerError: the pod did not start" {
		t.Errorf("%+v", d)
	}
}

// TestPodOverrides: a job replaces members of the containers that it names, and the definition is unchanged.
func TestPodOverrides(t *testing.T) {
	w := open(t, Options{})
	c := inPod("main", "0")
	c.Env = []types.EksContainerEnvironmentVariable{{Name: aws.String("A"), Value: aws.String("definition")}, {Name: aws.String("B"), Value: aws.String("definition")}}
	unnamed := types.EksContainer{Image: aws.String("busybox:2"), Args: []string{"0"}, Resources: &types.EksContainerResourceRequirements{
		Limits: map[string]string{"cpu": "1", "memory": "64Mi"}, Requests: map[string]string{"cpu": "1", "memory": "64Mi"}}}
	w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{c, unnamed}}))
	id := w.submit("pod", func(in *awsbatch.SubmitJobInput) {
		in.EksPropertiesOverride = &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{
			Metadata: &types.EksMetadata{Labels: map[string]string{"a": "b"}},
			Containers: []types.EksContainerOverride{
				{Name: aws.String("main"), Args: []string{"1"}, Env: []types.EksContainerEnvironmentVariable{{Name: aws.String("B"), Value: aws.String("job")}}},
				// the container without a name
				{Resources: &types.EksContainerResourceRequirements{Requests: map[string]string{"cpu": "2"}}},
			}}}
	})
	w.idle()
	w.want(id, types.JobStatusFailed, model.ReasonExited)
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
	out, err := w.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("pod")})
	if err != nil || *out.JobDefinitions[0].EksProperties.PodProperties.Containers[0].Env[1].Value != "definition" {
		t.Errorf("%+v, %v", out, err)
	}
}

// onEKS returns the request of an environment on EKS.
func onEKS(name string) *awsbatch.CreateComputeEnvironmentInput {
	r := computeResources(types.CRTypeEc2, 4)
	r.AllocationStrategy = types.CRAllocationStrategyBestFitProgressive
	return &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeManaged, ComputeResources: r,
		EksConfiguration: &types.EksConfiguration{EksClusterArn: aws.String("arn:aws:eks:eu-west-1:123456789012:cluster/main"), KubernetesNamespace: aws.String("batch")}}
}

func TestEnvironmentsOnEKS(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
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
			in.ComputeResources = computeResources(types.CRTypeFargate, 4)
		},
		"allocationStrategy is required for EKS Compute Environments.": func(in *awsbatch.CreateComputeEnvironmentInput) { in.ComputeResources.AllocationStrategy = "" },
		"Invalid imageType in ComputeResources.ec2Configuration": func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.ComputeResources.Ec2Configuration = []types.Ec2Configuration{{ImageType: aws.String("ECS_AL2023")}}
		},
	} {
		in := onEKS("eks")
		change(in)
		_, err := w.CreateComputeEnvironment(ctx, in)
		refused(t, err, want)
	}
	if _, err := w.CreateComputeEnvironment(ctx, onEKS("eks")); err != nil {
		t.Fatal(err)
	}
	w.environment("ec2", types.CRTypeEc2, 4)
	ecs := func(operation string) string {
		var out struct{ ClusterArns []string }
		w.askECS(operation, map[string]any{}, &out)
		return strings.Join(out.ClusterArns, " ")
	}
	describe := func() types.ComputeEnvironmentDetail {
		out, err := w.DescribeComputeEnvironments(ctx, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{"eks"}})
		if err != nil || len(out.ComputeEnvironments) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out.ComputeEnvironments[0]
	}
	if d := describe(); d.ContainerOrchestrationType != types.OrchestrationTypeEks || d.EcsClusterArn != nil || d.Uuid == nil || d.ServiceRole != nil ||
		*d.EksConfiguration.KubernetesNamespace != "batch" || d.Status != types.CEStatusValid {
		t.Errorf("%+v", d)
	}
	if got := ecs("ListClusters"); strings.Contains(got, "eks") || !strings.Contains(got, "AWSBatch-ec2-") {
		t.Errorf("ECS clusters: %s", got)
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("eks"), ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(2)}})
	w = w.restart(w.engine.options.Dir, Options{})
	if d := describe(); *d.ComputeResources.MaxvCpus != 2 || d.EksConfiguration == nil {
		t.Errorf("after an update and a restart: %+v", d)
	}
	order := func(names ...string) (all []types.ComputeEnvironmentOrder) {
		for i, name := range names {
			all = append(all, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &name})
		}
		return all
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
		_, err := w.CreateJobQueue(ctx, &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("mixed"), Priority: aws.Int32(1), ComputeEnvironmentOrder: order(c.on...), JobQueueType: c.kind})
		refused(t, err, c.want)
	}
	w.Queue("pods", []string{"eks"})
	w.Queue("tasks", []string{"ec2"})
	queues, err := w.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"pods"}})
	if err != nil || queues.JobQueues[0].JobQueueType != types.JobQueueTypeEks {
		t.Errorf("%+v, %v", queues, err)
	}
	podsAndQueues(w)
	w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("pods"), State: types.JQStateDisabled})
	if _, err := w.DeleteJobQueue(ctx, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("pods")}); err != nil {
		t.Fatal(err)
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("eks"), State: types.CEStateDisabled})
	if _, err := w.DeleteComputeEnvironment(ctx, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("eks")}); err != nil {
		t.Fatal(err)
	}
}

// podsAndQueues checks that pods run only in queues of environments on EKS, and other jobs only in others.
func podsAndQueues(w *testEngine) {
	w.t.Helper()
	w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{inPod("main", "0")}}))
	w.register("work", "1", "64")
	for definition, c := range map[string]struct{ queue, want string }{
		"pod":  {"tasks", "Job Queue is attached to Compute Environment that can not run Batch on EKS jobs."},
		"work": {"pods", "Job Queue is attached to Compute Environment that can not run Jobs with capability EC2."},
	} {
		_, err := w.SubmitJob(w.t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: &c.queue, JobDefinition: &definition})
		refused(w.t, err, c.want)
	}
	large := w.submit("pod", to("pods"), podOverride(types.EksContainerOverride{Name: aws.String("main"), Resources: size("3", "64Mi")}))
	id := w.submit("pod", to("pods"))
	w.cancel(large, "too large for its environment")
	w.idle()
	a := w.job(id).EksAttempts[0]
	if aws.ToString(a.EksClusterArn) != "arn:aws:eks:eu-west-1:123456789012:cluster/main" || aws.ToString(a.PodNamespace) != "batch" {
		w.t.Errorf("%+v", a)
	}
}
