package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// ecs returns the SDK's client of ECS for the engine.
func (w *testEngine) ecs() *ecs.Client { return ecs.NewFromConfig(w.engine.Config()) }

// task returns the ECS task with an ARN, from the cluster that the ARN names.
func (w *testEngine) task(arn *string) ecstypes.Task {
	w.t.Helper()
	cluster := strings.Split(aws.ToString(arn), "/")[1]
	out, err := w.ecs().DescribeTasks(w.t.Context(), &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: []string{*arn}, Include: []ecstypes.TaskField{"TAGS"}})
	if err != nil || len(out.Tasks) != 1 {
		w.t.Fatalf("task %s: %+v, %v", aws.ToString(arn), out, err)
	}
	return out.Tasks[0]
}

// instance returns the container instance with an ARN.
func (w *testEngine) instance(arn *string) ecstypes.ContainerInstance {
	w.t.Helper()
	cluster := strings.Split(aws.ToString(arn), "/")[1]
	out, err := w.ecs().DescribeContainerInstances(w.t.Context(), &ecs.DescribeContainerInstancesInput{Cluster: &cluster, ContainerInstances: []string{*arn}})
	if err != nil || len(out.ContainerInstances) != 1 {
		w.t.Fatalf("instance %s: %+v, %v", aws.ToString(arn), out, err)
	}
	return out.ContainerInstances[0]
}

// tasks returns the ARNs of all tasks that match, one a page.
func (w *testEngine) tasks(in ecs.ListTasksInput) (arns []string) {
	w.t.Helper()
	in.MaxResults = aws.Int32(1)
	for pages := ecs.NewListTasksPaginator(w.ecs(), &in); pages.HasMorePages(); {
		out, err := pages.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		arns = append(arns, out.TaskArns...)
	}
	return arns
}

// queueOn creates an environment, and a queue of the same name.
func (w *testEngine) queueOn(name string, kind types.CRType, maxvCPUs int32) {
	w.t.Helper()
	w.environment(name, kind, maxvCPUs)
	modeltest.Must(w.t, w.CreateJobQueue, &awsbatch.CreateJobQueueInput{JobQueueName: &name, Priority: aws.Int32(1),
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: &name}}})
}

// resourcesText returns the resources of a container instance as text.
func resourcesText(all []ecstypes.Resource) string {
	var text []string
	for _, r := range all {
		if *r.Type == "STRINGSET" {
			text = append(text, fmt.Sprint(*r.Name, r.StringSetValue))
			continue
		}
		text = append(text, fmt.Sprint(*r.Name, " ", r.IntegerValue))
	}
	return strings.Join(text, ", ")
}

// TestTaskOfAnAttempt follows the ECS task of a job from its start to the end of its second attempt.
func TestTaskOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &script{run: func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
			<-release
			return play(ctx, a, a.Command[0])
		}, digest: "sha256:1"}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.RetryStrategy, in.Tags = &types.RetryStrategy{Attempts: aws.Int32(2)}, map[string]string{"of": "definition", "a": "1"}
			in.PropagateTags = aws.Bool(true)
			in.ContainerProperties.Environment = []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("b")}}
		})
		id := w.submit("work", modeltest.Words("7"), func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"of": "job"} })
		created := time.Now()
		synctest.Wait()
		got := w.task(w.job(id).Container.TaskArn)
		c := got.Containers[0]
		if *got.LastStatus != "RUNNING" || *got.DesiredStatus != "RUNNING" || got.StoppedAt != nil || *c.LastStatus != "RUNNING" || c.ExitCode != nil ||
			*c.Name != "default" || *c.Image != "busybox:1" || aws.ToString(c.ImageDigest) != "sha256:1" || *c.Cpu != "1024" || *c.Memory != "64" || *got.Cpu != "1024" || *got.Memory != "64" ||
			got.LaunchType != "EC2" || *got.StartedBy != id || *got.Group != "family:work" || !got.CreatedAt.Equal(created) || *c.TaskArn != *got.TaskArn ||
			*got.ContainerInstanceArn != *w.job(id).Container.ContainerInstanceArn || got.StopCode != "" {
			t.Errorf("running: %+v, container %+v", got, c)
		}
		if len(got.Tags) != 2 || *got.Tags[0].Key != "a" || *got.Tags[0].Value != "1" || *got.Tags[1].Key != "of" || *got.Tags[1].Value != "job" {
			t.Errorf("tags %+v", got.Tags)
		}
		variables := map[string]string{}
		override := got.Overrides.ContainerOverrides[0]
		for _, v := range override.Environment {
			variables[*v.Name] = *v.Value
		}
		if fmt.Sprint(override.Command) != "[7]" || variables["A"] != "b" || variables["AWS_BATCH_JOB_ID"] != id || variables["AWS_BATCH_JOB_ATTEMPT"] != "1" ||
			variables["AWS_BATCH_CE_NAME"] != "local" || variables["AWS_BATCH_JQ_NAME"] != "default" {
			t.Errorf("overrides %v %v", override.Command, variables)
		}
		time.Sleep(1500 * time.Millisecond)
		close(release)
		w.idle()
		for k, a := range w.job(id).Attempts {
			got := w.task(a.Container.TaskArn)
			c := got.Containers[0]
			if *got.LastStatus != "STOPPED" || *got.DesiredStatus != "STOPPED" || *c.LastStatus != "STOPPED" || *c.ExitCode != 7 ||
				got.StopCode != "EssentialContainerExited" || *got.StoppedReason != model.ReasonExited || got.StoppedAt.UnixMilli() != *a.StoppedAt ||
				got.StartedAt.UnixMilli() != *a.StartedAt {
				t.Errorf("attempt %d: %+v, container %+v", k, got, c)
			}
			if number := got.Overrides.ContainerOverrides[0].Environment; !slices.ContainsFunc(number, func(v ecstypes.KeyValuePair) bool {
				return *v.Name == "AWS_BATCH_JOB_ATTEMPT" && *v.Value == fmt.Sprint(k+1)
			}) {
				t.Errorf("attempt %d has the variables of another: %v", k, number)
			}
		}
		d, err := w.ecs().DescribeTaskDefinition(t.Context(), &ecs.DescribeTaskDefinitionInput{TaskDefinition: got.TaskDefinitionArn})
		if err != nil || *d.TaskDefinition.Family != "work" || d.TaskDefinition.Revision != 1 || d.TaskDefinition.Status != "ACTIVE" ||
			*d.TaskDefinition.ContainerDefinitions[0].Image != "busybox:1" || *d.TaskDefinition.ContainerDefinitions[0].Memory != 64 {
			t.Errorf("task definition %+v, %v", d, err)
		}
	})
}

// TestStopCodes checks what ECS says about attempts that did not end on their own.
func TestStopCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "64")
		ended, late := w.submit("work", modeltest.Words("stubborn")), w.submit("work", modeltest.Words("1h"), func(in *awsbatch.SubmitJobInput) {
			in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)}
		})
		synctest.Wait()
		w.terminate(ended, "enough")
		synctest.Wait()
		got := w.task(w.job(ended).Container.TaskArn)
		if *got.LastStatus != "STOPPING" || *got.DesiredStatus != "STOPPED" || *got.Containers[0].LastStatus != "RUNNING" || got.StopCode != "" {
			t.Errorf("being ended: %+v", got)
		}
		if running := w.tasks(ecs.ListTasksInput{Cluster: got.ClusterArn}); len(running) != 1 || running[0] != *w.job(late).Container.TaskArn {
			t.Errorf("running: %v", running)
		}
		w.idle()
		for id, want := range map[string]string{ended: "UserInitiated enough", late: "UserInitiated " + model.ReasonTimeout} {
			if got := w.task(w.job(id).Container.TaskArn); fmt.Sprint(got.StopCode, " ", *got.StoppedReason) != want {
				t.Errorf("%s %s, want %s", got.StopCode, *got.StoppedReason, want)
			}
		}
	})
	w := open(t, Options{Executor: broken{}})
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	if d := w.task(w.job(id).Container.TaskArn); *d.LastStatus != "STOPPED" || d.StopCode != "TaskFailedToStart" || d.StartedAt != nil || *d.Containers[0].ExitCode != 127 ||
		!strings.HasSuffix(*d.Containers[0].Reason, "no such thing") {
		t.Errorf("an attempt that did not start: %+v, container %+v", d, d.Containers[0])
	}
}

// allKinds are jobs of every kind in three environments.
type allKinds struct {
	array, single, nodes, several, serverless string
}

// submitAllKinds submits an array, a job, a multi-node job, a job of several containers and a job on Fargate. All run
// for an hour, except for the array's second child. They use 1 vCPU of environment small, 5 of local, 1 of serverless.
func (w *testEngine) submitAllKinds() (j allKinds) {
	w.t.Helper()
	w.queueOn("small", types.CRTypeEc2, 3)
	w.queueOn("serverless", types.CRTypeFargate, 4)
	w.register("work", "1", "64")
	w.register("fargate", "1", "2048", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.PlatformCapabilities = []types.PlatformCapability{"FARGATE"}
		in.ContainerProperties.ExecutionRoleArn = aws.String("arn:aws:iam::123456789012:role/r")
		in.ContainerProperties.Command = []string{"1h"}
	})
	modeltest.Must(w.t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, modeltest.NodeRange("0:1", "1h")))
	amounts := []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}, {Type: "GPU", Value: aws.String("1")}}
	w.register("several", "", "", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties = nil
		in.EcsProperties = &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{Containers: []types.TaskContainerProperties{
			{Name: aws.String("one"), Image: aws.String("busybox:1"), Command: []string{"1h"}, ResourceRequirements: amounts},
			{Name: aws.String("two"), Image: aws.String("busybox:2"), Command: []string{"1h"}, ResourceRequirements: amounts[:2], Essential: aws.Bool(false)}}}}}
	})
	j.array, j.single = w.submit("work", modeltest.To("small"), modeltest.Words("1h", "true"), modeltest.Array(2)), w.submit("work", modeltest.Words("1h"))
	synctest.Wait()
	j.nodes, j.several, j.serverless = w.submit("multi"), w.submit("several"), w.submit("fargate", modeltest.To("serverless"))
	synctest.Wait()
	return j
}

// taskARNs returns the ARNs of the ECS tasks that DescribeJobs shows, by the names of the jobs here.
func (w *testEngine) taskARNs(j allKinds) map[string]*string {
	w.t.Helper()
	return map[string]*string{
		"child 0": w.job(j.array + ":0").Container.TaskArn, "child 1": w.job(j.array + ":1").Container.TaskArn, "single": w.job(j.single).Container.TaskArn,
		"main node": w.job(j.nodes).Container.TaskArn, "node 0": w.job(j.nodes + "#0").Container.TaskArn, "node 1": w.job(j.nodes + "#1").Container.TaskArn,
		"several": w.job(j.several).EcsProperties.TaskProperties[0].TaskArn, "serverless": w.job(j.serverless).Container.TaskArn}
}

// cluster returns the ARN of an environment's cluster.
func (w *testEngine) cluster(environment string) *string {
	w.t.Helper()
	out := modeltest.Must(w.t, w.DescribeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{environment}})
	return out.ComputeEnvironments[0].EcsClusterArn
}

// TestTasksOfAllKindsOfJobs checks the tasks of arrays, nodes and jobs of several containers, before and after a
// restart.
func TestTasksOfAllKindsOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: filepath.Join(t.TempDir(), "state"), VCPUs: 16, MemoryMiB: 4096, GPUs: []string{"gpu0", "gpu1"}, Executor: &script{digest: "sha256:1"}}
		w := open(t, o)
		jobs := w.submitAllKinds()
		before := w.taskARNs(jobs)
		if *before["main node"] != *before["node 0"] || *before["node 0"] == *before["node 1"] {
			t.Errorf("the nodes have tasks %s and %s, the job has %s", *before["node 0"], *before["node 1"], *before["main node"])
		}
		for name, arn := range before {
			d := w.task(arn)
			containers := 1
			if name == "several" {
				containers = 2
			}
			if *d.TaskArn != *arn || len(d.Containers) != containers {
				t.Errorf("%s: %+v", name, d)
			}
			if fargate := name == "serverless"; (d.LaunchType == "FARGATE") != fargate || (d.ContainerInstanceArn == nil) != fargate {
				t.Errorf("%s: launch type %s, instance %v", name, d.LaunchType, d.ContainerInstanceArn)
			}
		}
		if got := w.job(jobs.serverless).Container.ContainerInstanceArn; got != nil {
			t.Errorf("a job on Fargate has the container instance %s", *got)
		}
		if c := w.task(before["several"]).Containers; *c[0].Name != "one" || *c[1].Image != "busybox:2" || fmt.Sprint(c[0].GpuIds, c[1].GpuIds) != "[gpu0] []" {
			t.Errorf("containers %+v", c)
		}
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w = open(t, o)
		w.idle()
		after := w.taskARNs(jobs)
		for name, arn := range before {
			if got := w.task(arn); *after[name] != *arn || *got.LastStatus != "STOPPED" {
				t.Errorf("%s: %s after a restart, %s before; %s", name, *after[name], *arn, *got.LastStatus)
			}
			for _, c := range w.task(arn).Containers {
				if aws.ToString(c.ImageDigest) != "sha256:1" {
					t.Errorf("%s: container %s has the image %s", name, *c.Name, aws.ToString(c.ImageDigest))
				}
			}
		}
		if got := w.task(before["single"]); got.StopCode != "TerminationNotice" {
			t.Errorf("stop code %s", got.StopCode)
		}
		if stopped := w.tasks(ecs.ListTasksInput{Cluster: w.cluster("local"), DesiredStatus: "STOPPED"}); len(stopped) != 4 {
			t.Errorf("stopped: %v", stopped)
		}
	})
}

// TestContainerInstances checks that the container instances of environments have what is left of the machine.
func TestContainerInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 16, MemoryMiB: 4096, GPUs: []string{"gpu0", "gpu1"}})
		w.submitAllKinds()
		for environment, want := range map[string]string{
			"local": "4+0 CPU 16384, MEMORY 4096, GPU[gpu0 gpu1] CPU 9216, MEMORY 1664, GPU[gpu1]",
			"small": "1+0 CPU 3072, MEMORY 4096, GPU[gpu0 gpu1] CPU 2048, MEMORY 1664, GPU[gpu1]",
		} {
			out, err := w.ecs().ListContainerInstances(t.Context(), &ecs.ListContainerInstancesInput{Cluster: w.cluster(environment)})
			if err != nil || len(out.ContainerInstanceArns) != 1 {
				t.Fatalf("%s: %+v, %v", environment, out, err)
			}
			d := w.instance(&out.ContainerInstanceArns[0])
			got := fmt.Sprintf("%d+%d %s %s", d.RunningTasksCount, d.PendingTasksCount, resourcesText(d.RegisteredResources), resourcesText(d.RemainingResources))
			if got != want {
				t.Errorf("%s has %s, want %s", environment, got, want)
			}
			if *d.Status != "ACTIVE" || !d.AgentConnected || *d.Ec2InstanceId == "" || *d.Attributes[0].Name != "ecs.instance-type" {
				t.Errorf("%s: %+v", environment, d)
			}
			clusters, err := w.ecs().DescribeClusters(t.Context(), &ecs.DescribeClustersInput{Clusters: []string{*w.cluster(environment)}})
			if err != nil || clusters.Clusters[0].RegisteredContainerInstancesCount != 1 || clusters.Clusters[0].RunningTasksCount != d.RunningTasksCount {
				t.Errorf("%s: %+v, %v", environment, clusters, err)
			}
		}
		none, err := w.ecs().ListContainerInstances(t.Context(), &ecs.ListContainerInstancesInput{Cluster: w.cluster("serverless")})
		if err != nil || len(none.ContainerInstanceArns) != 0 {
			t.Errorf("Fargate has %+v, %v", none, err)
		}
	})
}

// TestListTasks checks each filter, with pages of one task.
func TestListTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 16, MemoryMiB: 4096, GPUs: []string{"gpu0", "gpu1"}})
		jobs := w.submitAllKinds()
		arns := w.taskARNs(jobs)
		for _, c := range []struct {
			environment string
			in          ecs.ListTasksInput
			want        []string
		}{
			{"small", ecs.ListTasksInput{}, []string{"child 0"}},
			{"small", ecs.ListTasksInput{DesiredStatus: "STOPPED"}, []string{"child 1"}},
			{"small", ecs.ListTasksInput{DesiredStatus: "PENDING"}, nil},
			{"serverless", ecs.ListTasksInput{LaunchType: "FARGATE"}, []string{"serverless"}},
			{"serverless", ecs.ListTasksInput{LaunchType: "EC2"}, nil},
			{"local", ecs.ListTasksInput{Family: aws.String("work")}, []string{"single"}},
			{"local", ecs.ListTasksInput{StartedBy: &jobs.nodes}, []string{"node 0", "node 1"}},
			{"local", ecs.ListTasksInput{ContainerInstance: aws.String("local")}, []string{"node 0", "node 1", "several", "single"}},
			{"local", ecs.ListTasksInput{ContainerInstance: aws.String("local-podman")}, nil},
			{"local", ecs.ListTasksInput{ServiceName: aws.String("s")}, nil},
		} {
			c.in.Cluster = w.cluster(c.environment)
			var names []string
			for _, arn := range w.tasks(c.in) {
				for name, of := range arns {
					if *of == arn && name != "main node" {
						names = append(names, name)
					}
				}
			}
			if slices.Sort(names); !slices.Equal(names, c.want) {
				t.Errorf("%+v: %v, want %v", c.in, names, c.want)
			}
		}
	})
}

// TestTasksOfFormerEnvironments checks that a job keeps its task and its container instance after its
// environment is gone: deleted, or no longer in the engine's options.
func TestTasksOfFormerEnvironments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir, Queues: []model.QueueSpec{{Name: "default", Environments: []string{"first"}}}})
	w.queueOn("gone", types.CRTypeEc2, 3)
	w.register("work", "1", "64")
	ids := []string{w.submit("work"), w.submit("work", modeltest.To("gone"))}
	w.idle()
	var arns []*string
	for _, id := range ids {
		arns = append(arns, w.job(id).Container.TaskArn, w.job(id).Container.ContainerInstanceArn)
	}
	modeltest.Must(t, w.UpdateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("gone"), State: types.JQStateDisabled})
	modeltest.Must(t, w.DeleteJobQueue, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("gone")})
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("gone"), State: types.CEStateDisabled})
	modeltest.Must(t, w.DeleteComputeEnvironment, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("gone")})
	if err := w.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w = open(t, Options{Dir: dir, Queues: []model.QueueSpec{{Name: "default", Environments: []string{"second"}}}})
	for i, id := range ids {
		c := w.job(id).Container
		if *c.TaskArn != *arns[2*i] || *c.ContainerInstanceArn != *arns[2*i+1] {
			t.Errorf("task %s and instance %s, before %s and %s", *c.TaskArn, *c.ContainerInstanceArn, *arns[2*i], *arns[2*i+1])
		}
		task, d := w.task(c.TaskArn), w.instance(c.ContainerInstanceArn)
		if *task.LastStatus != "STOPPED" || *d.Status != "INACTIVE" || d.AgentConnected || len(d.RemainingResources) != 0 {
			t.Errorf("task %+v, instance %+v", task, d)
		}
		clusters, err := w.ecs().DescribeClusters(t.Context(), &ecs.DescribeClustersInput{Clusters: []string{*task.ClusterArn}})
		if err != nil || len(clusters.Clusters) != 1 || *clusters.Clusters[0].Status != "INACTIVE" || clusters.Clusters[0].RegisteredContainerInstancesCount != 0 {
			t.Errorf("cluster %+v, %v", clusters, err)
		}
	}
}

// TestInstancesOfExecutors checks that the container instance of an attempt names its executor from
// the start, and is ACTIVE while it runs something.
func TestInstancesOfExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &choice{named: map[string]*script{"a": {}}}})
		w.register("work", "1", "64")
		id := w.submit("work", modeltest.Words("1h"), choosing("a"))
		synctest.Wait()
		running := w.job(id).Container.ContainerInstanceArn
		listed := func() int {
			t.Helper()
			out := modeltest.Must(t, w.ecs().ListContainerInstances, &ecs.ListContainerInstancesInput{Cluster: aws.String("AWSBatch-local")})
			return len(out.ContainerInstanceArns)
		}
		if d := w.instance(running); !strings.HasSuffix(*running, "/local-a") || *d.Status != "ACTIVE" || d.RunningTasksCount != 1 || listed() != 2 {
			t.Errorf("%s: %+v, %d listed", *running, d, listed())
		}
		w.idle()
		if d := w.instance(w.job(id).Container.ContainerInstanceArn); *d.ContainerInstanceArn != *running || *d.Status != "INACTIVE" || listed() != 1 {
			t.Errorf("%+v, %d listed", d, listed())
		}
	})
}

// TestTaskErrors compares the errors of the operations with ECS's.
func TestTaskErrors(t *testing.T) {
	w := open(t, Options{})
	w.environment("other", types.CRTypeEc2, 1)
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	arn := *w.job(id).Container.TaskArn
	many := `"` + strings.Repeat(`a", "`, 100) + `a"`
	for _, c := range []struct{ operation, body, want string }{
		{"DescribeTasks", `{"cluster": "none", "tasks": ["a"]}`, "Cluster not found."},
		{"DescribeTasks", `{"tasks": ["a"]}`, "Cluster not found."}, // the cluster named default
		{"DescribeTasks", `{"cluster": "AWSBatch-local"}`, "Tasks cannot be empty."},
		{"DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": [` + many + `]}`, "Tasks can have at most 100 items."},
		{"DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": ["arn:aws:ecs:local:000000000000:task/Other/1"]}`,
			"Invalid identifier: Identifier is for cluster Other. Your cluster is AWSBatch-local"},
		{"DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": ["arn:aws:ecs:local:000000000000:service/a"]}`,
			"Invalid identifier: arn:aws:ecs:local:000000000000:service/a is not the ARN of a task."},
		{"DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": ["a"], "include": ["ALL"]}`, "include ALL is not valid. Valid values: [TAGS]"},
		{"DescribeContainerInstances", `{"cluster": "AWSBatch-local"}`, "Container instances cannot be empty."},
		{"ListContainerInstances", `{"cluster": "AWSBatch-local", "filter": "attribute:a exists"}`, "filter: the local engine does not implement the cluster query language."},
		{"ListContainerInstances", `{"cluster": "AWSBatch-local", "status": "INACTIVE"}`,
			"status INACTIVE is not valid. Valid values: [ACTIVE DRAINING REGISTERING DEREGISTERING REGISTRATION_FAILED]"},
		{"ListTasks", `{"cluster": "AWSBatch-local", "desiredStatus": "DONE"}`, "desiredStatus DONE is not valid. Valid values: [RUNNING PENDING STOPPED]"},
		{"ListTasks", `{"cluster": "AWSBatch-local", "startedBy": "a", "family": "b"}`, "startedBy must be the only filter."},
		{"ListTasks", `{"cluster": "AWSBatch-local", "maxResults": 0}`, "maxResults must be between 1 and 100."},
		{"DescribeTaskDefinition", `{"taskDefinition": "none"}`, "Unable to describe task definition."},
	} {
		if _, got := w.call(c.operation, c.body); got != c.want {
			t.Errorf("%s %.200s: %s, want %s", c.operation, c.body, got, c.want)
		}
	}
	// An id is MISSING in another cluster, and so is the part after the cluster in an ARN.
	out, err := w.ecs().DescribeTasks(t.Context(), &ecs.DescribeTasksInput{Cluster: aws.String("AWSBatch-local"), Tasks: []string{arn, "none", arn + "-0"}})
	if err != nil || len(out.Tasks) != 1 || len(out.Failures) != 2 || *out.Failures[0].Reason != "MISSING" || *out.Failures[1].Arn != arn+"-0" {
		t.Errorf("%+v, %v", out, err)
	}
}

// roundOfTasks follows a job to its ECS task and its container instance, as scripts do.
func roundOfTasks(t *testing.T, must func(out any, args ...string), id string) {
	t.Helper()
	var described struct {
		Jobs []struct {
			Container struct{ TaskArn, ContainerInstanceArn string }
		}
	}
	must(&described, "batch", "describe-jobs", "--jobs", id)
	var environments struct {
		ComputeEnvironments []struct{ EcsClusterArn string }
	}
	must(&environments, "batch", "describe-compute-environments", "--compute-environments", "local")
	job, cluster := described.Jobs[0].Container, environments.ComputeEnvironments[0].EcsClusterArn
	var tasks struct {
		Tasks []struct {
			TaskDefinitionArn, ContainerInstanceArn, LastStatus string
			CreatedAt                                           any // depends on the version of the AWS CLI
			Containers                                          []struct {
				Name     string
				ExitCode *int
			}
		}
	}
	must(&tasks, "ecs", "describe-tasks", "--cluster", cluster, "--tasks", job.TaskArn, "--include", "TAGS")
	if d := tasks.Tasks; len(d) != 1 || d[0].ContainerInstanceArn != job.ContainerInstanceArn || d[0].LastStatus != "STOPPED" || d[0].CreatedAt == nil ||
		d[0].Containers[0].Name != "default" || d[0].Containers[0].ExitCode == nil || *d[0].Containers[0].ExitCode != 0 {
		t.Errorf("tasks %+v of %+v", tasks, job)
	}
	var listed struct{ TaskArns, ContainerInstanceArns []string }
	must(&listed, "ecs", "list-tasks", "--cluster", cluster, "--desired-status", "STOPPED", "--started-by", id)
	must(&listed, "ecs", "list-container-instances", "--cluster", cluster, "--status", "ACTIVE")
	if !slices.Equal(listed.TaskArns, []string{job.TaskArn}) || !slices.Equal(listed.ContainerInstanceArns, []string{job.ContainerInstanceArn}) {
		t.Errorf("listed %+v, the job has %+v", listed, job)
	}
	var instances struct {
		ContainerInstances []struct{ Ec2InstanceID, Status string }
	}
	must(&instances, "ecs", "describe-container-instances", "--cluster", cluster, "--container-instances", job.ContainerInstanceArn)
	if d := instances.ContainerInstances; len(d) != 1 || d[0].Status != "ACTIVE" || d[0].Ec2InstanceID != "i-00000000000000000" {
		t.Errorf("instances %+v", instances)
	}
	var definition struct{ TaskDefinition struct{ Family string } }
	must(&definition, "ecs", "describe-task-definition", "--task-definition", tasks.Tasks[0].TaskDefinitionArn)
	if definition.TaskDefinition.Family != "hello" {
		t.Errorf("task definition %+v", definition)
	}
}
