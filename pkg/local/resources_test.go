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
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// asks returns a list of one consumable resource.
func asks(name string, quantity int64) *types.ConsumableResourceProperties {
	return &types.ConsumableResourceProperties{ConsumableResourceList: []types.ConsumableResourceRequirement{
		{ConsumableResource: &name, Quantity: &quantity}}}
}

func to(queue string) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.JobQueue = &queue }
}

// environment creates a managed compute environment.
func (w *testEngine) environment(name string, kind types.CRType, maxvCPUs int32, more ...func(*types.ComputeResource)) {
	w.t.Helper()
	r := computeResources(kind, maxvCPUs)
	for _, f := range more {
		f(r)
	}
	_, err := w.CreateComputeEnvironment(w.t.Context(), &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeManaged, ComputeResources: r})
	if err != nil {
		w.t.Fatal(err)
	}
}

func computeResources(kind types.CRType, maxvCPUs int32) *types.ComputeResource {
	r := &types.ComputeResource{Type: kind, MaxvCpus: &maxvCPUs, Subnets: []string{"subnet-1"}}
	if !model.IsFargate(kind) {
		r.InstanceRole, r.MinvCpus, r.InstanceTypes = aws.String("ecsInstanceRole"), aws.Int32(0), []string{"optimal"}
	}
	return r
}

// Queue creates a job queue on environments in their order.
func (w *testEngine) Queue(name string, environments []string, more ...func(*awsbatch.CreateJobQueueInput)) {
	w.t.Helper()
	in := &awsbatch.CreateJobQueueInput{JobQueueName: &name, Priority: aws.Int32(1)}
	for i, v := range environments {
		in.ComputeEnvironmentOrder = append(in.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &v})
	}
	for _, f := range more {
		f(in)
	}
	if _, err := w.CreateJobQueue(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEngine) updateEnvironment(in *awsbatch.UpdateComputeEnvironmentInput) {
	w.t.Helper()
	if _, err := w.UpdateComputeEnvironment(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEngine) updateQueue(in *awsbatch.UpdateJobQueueInput) {
	w.t.Helper()
	if _, err := w.UpdateJobQueue(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEngine) restart(dir string, o Options) *testEngine {
	w.t.Helper()
	if err := w.engine.Close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	o.Dir = dir
	return open(w.t, o)
}

func shapeText(v any) (string, error) {
	text, err := wire.Marshal(v)
	return string(text), err
}

// everything returns all resources that the API shows, as text.
func (w *testEngine) everything() string {
	w.t.Helper()
	ctx := w.t.Context()
	var b strings.Builder
	for _, show := range []func() (any, error){
		func() (any, error) {
			return w.DescribeComputeEnvironments(ctx, &awsbatch.DescribeComputeEnvironmentsInput{})
		},
		func() (any, error) { return w.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{}) },
		func() (any, error) {
			return w.DescribeSchedulingPolicies(ctx, &awsbatch.DescribeSchedulingPoliciesInput{Arns: []string{model.ARN(model.KindPolicy, "fair")}})
		},
		func() (any, error) { return w.ListConsumableResources(ctx, &awsbatch.ListConsumableResourcesInput{}) },
		func() (any, error) {
			return w.DescribeConsumableResource(ctx, &awsbatch.DescribeConsumableResourceInput{ConsumableResource: aws.String("licence")})
		},
		func() (any, error) { return w.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{}) },
	} {
		out, err := show()
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := shapeText(out)
		if err != nil {
			w.t.Fatal(err)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

func TestRestartKeepsResources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir})
	ctx := t.Context()
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.Tags = map[string]string{"a": "1"} })
	w.environment("big", types.CRTypeEc2, 8)
	w.environment("spot", types.CRTypeSpot, 4)
	w.environment("gone", types.CRTypeFargate, 4)
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("gone"), State: types.CEStateDisabled})
	if _, err := w.DeleteComputeEnvironment(ctx, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("gone")}); err != nil {
		t.Fatal(err)
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String(model.ARN(model.KindEnvironment, "big")),
		ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(16)}})
	policy, err := w.CreateSchedulingPolicy(ctx, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"), Tags: map[string]string{"p": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.UpdateSchedulingPolicy(ctx, &awsbatch.UpdateSchedulingPolicyInput{Arn: policy.Arn, FairsharePolicy: &types.FairsharePolicy{
		ShareDecaySeconds: aws.Int32(60), ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("a*"), WeightFactor: aws.Float32(0.5)}}}})
	if err != nil {
		t.Fatal(err)
	}
	// A fair-share policy that was set cannot be removed.
	if _, err := w.UpdateSchedulingPolicy(ctx, &awsbatch.UpdateSchedulingPolicyInput{Arn: policy.Arn}); err != nil {
		t.Fatal(err)
	}
	w.Queue("main", []string{"big", "spot"}, func(in *awsbatch.CreateJobQueueInput) {
		in.SchedulingPolicyArn, in.Tags = policy.Arn, map[string]string{"q": "1"}
		in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600), Reason: aws.String("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"), State: "RUNNABLE"}}
	})
	w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled, Priority: aws.Int32(9)})
	if _, err := w.CreateConsumableResource(ctx, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence"), TotalQuantity: aws.Int64(3)}); err != nil {
		t.Fatal(err)
	}
	update := &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("licence"), Operation: aws.String("ADD"), Quantity: aws.Int64(2), ClientToken: aws.String("once")}
	for range 2 {
		if out, err := w.UpdateConsumableResource(ctx, update); err != nil || *out.TotalQuantity != 5 {
			t.Fatalf("%+v, %v; want a total of 5", out, err)
		}
	}
	if _, err := w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: aws.String(model.ARN(model.KindDefinition, "work:1")), Tags: map[string]string{"b": "2"}}); err != nil {
		t.Fatal(err)
	}
	before := w.everything()
	for _, want := range []string{`"maxvCpus":16`, `"priority":9`, `"state":"DISABLED"`, `"weightFactor":0.5`, `"totalQuantity":5`, `{"a":"1","b":"2"}`, `{"q":"1"}`, `"maxTimeSeconds":600`} {
		if !strings.Contains(before, want) {
			t.Errorf("%s is missing in\n%s", want, before)
		}
	}
	w = w.restart(dir, Options{})
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		t.Errorf("after the restart:\n%s", diff)
	}
	if out, err := w.UpdateConsumableResource(ctx, update); err != nil || *out.TotalQuantity != 5 {
		t.Errorf("the client token is forgotten: %+v, %v", out, err)
	}
	// For names that the options now configure, the options count.
	w = w.restart(dir, Options{Queues: []model.QueueSpec{{Name: "main", Priority: 2, Environments: []string{"big"}}}})
	out, err := w.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"main"}})
	if err != nil || len(out.JobQueues) != 1 || *out.JobQueues[0].Priority != 2 || out.JobQueues[0].State != "ENABLED" {
		t.Errorf("configured queue: %+v, %v", out, err)
	}
}

// TestMachineIsDescribedAsManaged checks the members that clients read of the engine's own environment, also without an
// engine that runs.
func TestMachineIsDescribedAsManaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir, VCPUs: 6.5, MemoryMiB: 64})
	out, err := w.DescribeComputeEnvironments(t.Context(), &awsbatch.DescribeComputeEnvironmentsInput{})
	if err != nil {
		t.Fatal(err)
	}
	want := types.ComputeEnvironmentDetail{
		ComputeEnvironmentName:     aws.String("local"),
		ComputeEnvironmentArn:      aws.String("arn:aws:batch:local:000000000000:compute-environment/local"),
		EcsClusterArn:              aws.String("arn:aws:ecs:local:000000000000:cluster/AWSBatch-local"),
		ContainerOrchestrationType: "ECS", Type: "MANAGED", State: "ENABLED", Status: "VALID", StatusReason: aws.String("ComputeEnvironment Healthy"),
		Tags: map[string]string{},
		ComputeResources: &types.ComputeResource{Type: "EC2", MinvCpus: aws.Int32(0), MaxvCpus: aws.Int32(6), DesiredvCpus: aws.Int32(6),
			InstanceTypes: []string{"optimal"}, Subnets: []string{"subnet-00000000000000000"}, SecurityGroupIds: []string{"sg-00000000000000000"}},
	}
	got, _ := shapeText(out.ComputeEnvironments[0])
	if text, _ := shapeText(want); got != text || len(out.ComputeEnvironments) != 1 {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	// Jobs of both platforms run there, as on an environment without a type.
	w.register("fargate", "1", "2048", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.PlatformCapabilities = []types.PlatformCapability{"FARGATE"}
	})
	w.submit("fargate")
}

func TestDeleteRefuses(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.environment("small", types.CRTypeEc2, 1)
	policy, err := w.CreateSchedulingPolicy(ctx, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair")})
	if err != nil {
		t.Fatal(err)
	}
	w.Queue("main", []string{"small"}, func(in *awsbatch.CreateJobQueueInput) { in.SchedulingPolicyArn = policy.Arn })
	environment := func() error {
		_, err := w.DeleteComputeEnvironment(ctx, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("small")})
		return err
	}
	queue := func(name string) error {
		_, err := w.DeleteJobQueue(ctx, &awsbatch.DeleteJobQueueInput{JobQueue: &name})
		return err
	}
	deletePolicy := func() error {
		_, err := w.DeleteSchedulingPolicy(ctx, &awsbatch.DeleteSchedulingPolicyInput{Arn: policy.Arn})
		return err
	}
	refused(t, environment(), "Cannot delete, compute environment small must be DISABLED first.")
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("small"), State: types.CEStateDisabled})
	refused(t, environment(), "Cannot delete, found existing JobQueue relationship")
	refused(t, deletePolicy(), "Cannot delete, scheduling policy fair is used by job queue main.")
	refused(t, queue("main"), "Cannot delete, job queue main must be DISABLED first.")
	refused(t, queue("default"), "Job Queue default comes from the options of the local engine: restart the engine to change it.")
	refused(t, queue("none"), "Job Queue none does not exist.")
	w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
	for _, err := range []error{queue("main"), environment(), deletePolicy()} {
		if err != nil {
			t.Error(err)
		}
	}
	refused(t, environment(), "Compute environment small does not exist.")
}

func TestCreateRefuses(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.environment("ec2", types.CRTypeEc2, 1)
	w.environment("fargate", types.CRTypeFargate, 1)
	for _, name := range []string{"b", "c", "d"} {
		w.environment(name, types.CRTypeEc2, 1)
	}
	graviton := computeResources(types.CRTypeEc2, 1)
	graviton.InstanceTypes = []string{"m6g.large"}
	type environment = awsbatch.CreateComputeEnvironmentInput
	if _, err := w.CreateComputeEnvironment(ctx, &environment{ComputeEnvironmentName: aws.String("graviton"), Type: types.CETypeManaged, ComputeResources: graviton}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit func(*environment)
		want string
	}{
		{func(in *environment) { in.ComputeEnvironmentName = aws.String("a b") }, "Compute Environment name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores."},
		{func(in *environment) { in.ComputeEnvironmentName = aws.String("ec2") }, "Object already exists: compute environment ec2."},
		{func(in *environment) { in.ComputeEnvironmentName = aws.String("local") }, "Object already exists: compute environment local."},
		{func(in *environment) { in.ComputeResources = nil }, "computeResources must be provided for a MANAGED compute environment"},
		{func(in *environment) { in.Type, in.ServiceRole = "OURS", aws.String("role") }, `Compute environment type "OURS" is not valid. Valid types: [MANAGED, UNMANAGED]`},
		{func(in *environment) { in.State = "DISABLED" }, "Compute Environment must be created in ENABLED state."},
		{func(in *environment) { in.UnmanagedvCpus = aws.Int32(1) }, "unmanagedvCpus is not applicable for managed Compute Environments"},
		{func(in *environment) { in.Type = "UNMANAGED" }, "Error executing request, Exception : ServiceRole is required"},
		{func(in *environment) { in.ComputeResources.InstanceRole = nil }, "Error executing request, Exception : Instance role is required"},
		{func(in *environment) { in.ComputeResources.MinvCpus = nil }, "Error executing request, Exception : Resource minvCpus is required"},
		{func(in *environment) { in.ComputeResources.InstanceTypes = []string{"unknown"} }, "Instance type unknown does not exist."},
		{func(in *environment) {
			in.EksConfiguration = &types.EksConfiguration{EksClusterArn: aws.String("a"), KubernetesNamespace: aws.String("n")}
		},
			"eksClusterArn must be an EKS cluster ARN."},
		{func(in *environment) { in.ComputeResources.MinvCpus = aws.Int32(5) }, "maxvCpus should be greater than or equal to minvCpus."},
		{func(in *environment) { in.ComputeResources.DesiredvCpus = aws.Int32(5) }, "desiredvCpus should be between minvCpus and maxvCpus."},
		{func(in *environment) { in.Tags = map[string]string{strings.Repeat("k", 129): ""} }, "Tag keys have 1 to 128 characters."},
	} {
		in := &environment{ComputeEnvironmentName: aws.String("new"), Type: "MANAGED",
			ComputeResources: computeResources("EC2", 2)}
		c.edit(in)
		_, err := w.CreateComputeEnvironment(ctx, in)
		refused(t, err, c.want)
	}
	order := func(names ...string) []types.ComputeEnvironmentOrder {
		var all []types.ComputeEnvironmentOrder
		for i, name := range names {
			all = append(all, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &name})
		}
		return all
	}
	limit := types.JobStateTimeLimitAction{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600), Reason: aws.String("MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"), State: "RUNNABLE"}
	type queue = awsbatch.CreateJobQueueInput
	for _, c := range []struct {
		edit func(*queue)
		want string
	}{
		{func(in *queue) { in.ComputeEnvironmentOrder = nil }, "computeEnvironmentOrder is required."},
		{func(in *queue) { in.ComputeEnvironmentOrder = order("ec2", "fargate") }, "Fargate and EC2 compute environments can not be mixed."},
		{func(in *queue) { in.ComputeEnvironmentOrder = order("fargate", model.ComputeEnvironment) }, "Fargate and EC2 compute environments can not be mixed."},
		{func(in *queue) { in.ComputeEnvironmentOrder = order("ec2", "graviton") },
			"All compute environments of a job queue must have the same architecture: ec2 is x86_64, and graviton is arm64."},
		{func(in *queue) { in.ComputeEnvironmentOrder = order("ec2", "ec2") }, "Duplicate ComputeEnvironments within order list."},
		{func(in *queue) { in.ComputeEnvironmentOrder = order("ec2", "b", "c", "d") }, "Only 3 environments are allowed in job queue request."},
		{func(in *queue) { in.Priority = aws.Int32(1001) }, "priority is required, between 0 and 1000."},
		{func(in *queue) { in.SchedulingPolicyArn = aws.String(model.ARN(model.KindPolicy, "none")) }, "SchedulingPolicy " + model.ARN(model.KindPolicy, "none") + " not found."},
		{func(in *queue) {
			v := limit
			v.Action = "TERMINATE"
			in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{v}
		}, "Invalid job action. Valid job actions: [CANCEL]"},
		{func(in *queue) { in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{limit, limit} }, "Duplicate job state limit actions are not allowed."},
		{func(in *queue) { in.JobQueueType = types.JobQueueTypeSagemakerTraining }, "Job queues of type SAGEMAKER_TRAINING must have serviceEnvironmentOrder."},
	} {
		in := &queue{JobQueueName: aws.String("new"), Priority: aws.Int32(1), ComputeEnvironmentOrder: order("ec2")}
		c.edit(in)
		_, err := w.CreateJobQueue(ctx, in)
		refused(t, err, c.want)
	}
	share := func(id string, weight float32) types.ShareAttributes {
		return types.ShareAttributes{ShareIdentifier: &id, WeightFactor: &weight}
	}
	for _, c := range []struct {
		policy types.FairsharePolicy
		want   string
	}{
		{types.FairsharePolicy{ComputeReservation: aws.Int32(100)}, "computeReservation should be between 0 and 99."},
		{types.FairsharePolicy{ShareDecaySeconds: aws.Int32(604801)}, "shareDecaySeconds should be between 0 and 604800."},
		{types.FairsharePolicy{ShareDistribution: []types.ShareAttributes{share("a", 0)}}, "Weight factor should be between 0.0001 and 999.9999."},
		{types.FairsharePolicy{ShareDistribution: []types.ShareAttributes{share("a b", 1)}}, "ShareIdentifier name should match a valid pattern."},
		{types.FairsharePolicy{ShareDistribution: []types.ShareAttributes{share("a*", 1), share("ab", 1)}}, "Share identifier ab matches another share identifier a*."},
	} {
		_, err := w.CreateSchedulingPolicy(ctx, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("p"), FairsharePolicy: &c.policy})
		refused(t, err, c.want)
	}
}

func TestTags(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.register("work", "1", "64")
	id := w.submit("work", array(2), func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"a": "1"} })
	w.idle()
	text := aws.String(model.ARN(model.KindJob, id))
	if _, err := w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: text, Tags: map[string]string{"b": "2", "c/d": "ü "}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.UntagResource(ctx, &awsbatch.UntagResourceInput{ResourceArn: text, TagKeys: []string{"a", "none"}}); err != nil {
		t.Fatal(err)
	}
	out, err := w.ListTagsForResource(ctx, &awsbatch.ListTagsForResourceInput{ResourceArn: text})
	want := map[string]string{"b": "2", "c/d": "ü "}
	if err != nil || !cmp.Equal(out.Tags, want) || !cmp.Equal(w.job(id+":1").Tags, want) {
		t.Errorf("%+v, %v; want %v", out, err, want)
	}
	many := map[string]string{}
	for i := range 49 {
		many[fmt.Sprint(i)] = ""
	}
	_, err = w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: text, Tags: many})
	if err == nil || !strings.HasSuffix(err.Error(), "ValidationError: 1 validation error detected: Value at 'tags' failed to satisfy constraint: "+
		"Member must have length less than or equal to 50") {
		t.Errorf("51 tags: %v", err)
	}
	child := model.ARN(model.KindJob, id+":0")
	unsupported := "ARNs for child jobs of array and multi-node parallel (MNP) jobs aren't supported. Use " + *text + " instead."
	_, err = w.ListTagsForResource(ctx, &awsbatch.ListTagsForResourceInput{ResourceArn: &child})
	refused(t, err, unsupported)
	_, err = w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: &child, Tags: want})
	refused(t, err, unsupported)
	_, err = w.UntagResource(ctx, &awsbatch.UntagResourceInput{ResourceArn: &child, TagKeys: []string{"b"}})
	refused(t, err, unsupported)
	none := model.ARN(model.KindJob, id+":2")
	_, err = w.ListTagsForResource(ctx, &awsbatch.ListTagsForResourceInput{ResourceArn: &none})
	refused(t, err, "Resource "+none+" does not exist.")
	_, err = w.ListTagsForResource(ctx, &awsbatch.ListTagsForResourceInput{ResourceArn: aws.String("arn:aws:s3:::bucket")})
	refused(t, err, `"arn:aws:s3:::bucket" is not an ARN of this engine: they begin with arn:aws:batch:local:000000000000:`)
}

func TestDisabledQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 1, MemoryMiB: 64})
		w.register("work", "1", "64")
		w.environment("all", types.CRTypeEc2, 8)
		w.Queue("main", []string{"all"})
		first, second := w.submit("work", to("main"), words("1m")), w.submit("work", to("main"))
		w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
		_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("late"), JobQueue: aws.String("main"), JobDefinition: aws.String("work")})
		refused(t, err, "Job Queue main is DISABLED and accepts no jobs.")
		w.idle()
		for _, id := range []string{first, second} {
			w.want(id, types.JobStatusSucceeded, model.ReasonExited)
		}
		w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateEnabled})
		third, fourth := w.submit("work", to("main"), words("1h")), w.submit("work", to("main"), array(2))
		synctest.Wait()
		w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
		if _, err := w.DeleteJobQueue(t.Context(), &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("main")}); err != nil {
			t.Fatal(err)
		}
		w.idle()
		for _, id := range []string{third, fourth, fourth + ":1"} {
			w.want(id, types.JobStatusFailed, "Job Queue main was deleted")
		}
	})
}

func TestEnvironmentsHoldJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 8, MemoryMiB: 8192})
		w.register("work", "2", "64")
		w.register("large", "4", "64")
		w.register("serverless", "2", "4096", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.PlatformCapabilities = []types.PlatformCapability{types.PlatformCapabilityFargate}
		})
		w.environment("first", types.CRTypeEc2, 3)
		w.environment("second", types.CRTypeSpot, 2)
		w.Queue("main", []string{"first", "second"})
		var ids []string
		for range 3 {
			ids = append(ids, w.submit("work", to("main"), words("1h")))
			synctest.Wait() // starts are reported in the order of submission
		}
		large := w.submit("large", to("main"))
		many := w.submit("large", to("main"), array(2))
		_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("main"), JobDefinition: aws.String("serverless")})
		refused(t, err, "Job Queue is attached to Compute Environment that can not run Jobs with capability FARGATE.")
		w.environment("serverless", types.CRTypeFargateSpot, 4)
		w.Queue("side", []string{"serverless"})
		_, err = w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("side"), JobDefinition: aws.String("work")})
		refused(t, err, "Job Queue is attached to Compute Environment that can not run Jobs with capability EC2.")
		w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("serverless"), State: types.CEStateDisabled})
		serverless := w.submit("serverless", to("side"))
		side := func(environment string) {
			w.updateQueue(&awsbatch.UpdateJobQueueInput{JobQueue: aws.String("side"), ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{
				{Order: aws.Int32(1), ComputeEnvironment: &environment}}})
		}
		side("second")
		synctest.Wait()
		if got := []string{s.value(0, "AWS_BATCH_CE_NAME"), s.value(1, "AWS_BATCH_CE_NAME")}; !slices.Equal(got, []string{"first", "second"}) || s.now() != 2 {
			t.Errorf("%d run, in %v; want 2, in first and second", s.now(), got)
		}
		w.want(ids[2], types.JobStatusRunnable, "")
		const max = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU requirement of the job: " +
			"the job asks for 4 vCPUs, the largest maxvCpus is 3"
		w.want(large, types.JobStatusRunnable, max)
		w.want(many, types.JobStatusPending, max)
		w.want(many+":1", types.JobStatusRunnable, max)
		w.want(serverless, types.JobStatusRunnable, largest+"the job asks for FARGATE, and no compute environment of the queue is for it")
		w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("first"), ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(6)}})
		synctest.Wait()
		w.want(ids[2], types.JobStatusRunning, "")
		for _, id := range []string{large, many, many + ":1"} {
			if d := w.job(id); d.StatusReason != nil {
				t.Errorf("%s: %s", id, *d.StatusReason)
			}
		}
		for _, name := range []string{"first", "second"} {
			w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name, State: types.CEStateDisabled})
		}
		const disabled = "ACTION_REQUIRED - CE(s) associated with the job queue are invalid: those that could hold the job are DISABLED"
		w.want(large, types.JobStatusRunnable, disabled)
		time.Sleep(2 * time.Hour)
		w.want(ids[0], types.JobStatusSucceeded, model.ReasonExited)
		w.want(large, types.JobStatusRunnable, disabled)
		w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("serverless"), State: types.CEStateEnabled})
		side("serverless")
		synctest.Wait()
		w.want(serverless, types.JobStatusSucceeded, model.ReasonExited)
		w.terminate(large, "enough")
		w.terminate(many, "enough")
		w.idle()
		if err := w.engine.model.Unreleased(); err != nil {
			t.Error(err)
		}
	})
}

func TestConsumableResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 8, MemoryMiB: 8192})
		ctx := t.Context()
		for name, kind := range map[string]string{"licence": model.Replenishable, "credit": model.NonReplenishable} {
			_, err := w.CreateConsumableResource(ctx, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name, ResourceType: &kind, TotalQuantity: aws.Int64(3)})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.register("free", "1", "64")
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.ConsumableResourceProperties = asks("licence", 2) })
		have := func(name string, total, used, available int64) {
			t.Helper()
			out, err := w.DescribeConsumableResource(ctx, &awsbatch.DescribeConsumableResourceInput{ConsumableResource: aws.String(model.ARN(model.KindConsumable, name))})
			if err != nil || *out.TotalQuantity != total || *out.InUseQuantity != used || *out.AvailableQuantity != available {
				t.Errorf("%s: total %d, in use %d, available %d, %v; want %d, %d, %d", name, *out.TotalQuantity, *out.InUseQuantity, *out.AvailableQuantity, err, total, used, available)
			}
		}
		first := w.submit("work", words("1m"))
		second := w.submit("work", words("1m"))
		small := w.submit("work", words("1m"), func(in *awsbatch.SubmitJobInput) { in.ConsumableResourcePropertiesOverride = asks("licence", 1) })
		other := w.submit("free", words("1m"))
		synctest.Wait()
		have("licence", 3, 2, 1)
		w.want(first, types.JobStatusRunning, "")
		w.want(second, types.JobStatusRunnable, "the job waits for 2 of the consumable resource licence")
		// it does not overtake the second one
		w.want(small, types.JobStatusRunnable, "the job waits for 1 of the consumable resource licence")
		w.want(other, types.JobStatusRunning, "")
		time.Sleep(90 * time.Second)
		have("licence", 3, 3, 0)
		w.want(second, types.JobStatusRunning, "")
		w.idle()
		have("licence", 3, 0, 3)

		spends := func(n int64) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) { in.ConsumableResourcePropertiesOverride = asks("credit", n) }
		}
		w.submit("free", spends(2), words("1m"))
		synctest.Wait()
		have("credit", 3, 2, 1)
		w.idle()
		have("credit", 1, 0, 1)
		waits := w.submit("free", spends(2))
		synctest.Wait()
		w.want(waits, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for 2 of the consumable resource credit, more than its total quantity")
		list, err := w.ListJobsByConsumableResource(ctx, &awsbatch.ListJobsByConsumableResourceInput{ConsumableResource: aws.String("credit"),
			Filters: []types.KeyValuesPair{{Name: aws.String("JOB_STATUS"), Values: []string{"RUNNABLE"}}}})
		if err != nil || len(list.Jobs) != 1 || *list.Jobs[0].JobArn != model.ARN(model.KindJob, waits) || *list.Jobs[0].Quantity != 2 {
			t.Errorf("jobs by resource: %+v, %v", list, err)
		}
		if _, err := w.UpdateConsumableResource(ctx, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("SET"), Quantity: aws.Int64(2)}); err != nil {
			t.Fatal(err)
		}
		w.idle()
		w.want(waits, types.JobStatusSucceeded, model.ReasonExited)
		have("credit", 0, 0, 0)
		_, err = w.UpdateConsumableResource(ctx, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("REMOVE"), Quantity: aws.Int64(1)})
		refused(t, err, "Cannot remove 1 from the total quantity of 0.")
		add := &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("credit"), Operation: aws.String("ADD"), Quantity: aws.Int64(2), ClientToken: aws.String("once")}
		for _, want := range []int64{2, 2, 4} { // the token is valid for 8 hours
			if out, err := w.UpdateConsumableResource(ctx, add); err != nil || *out.TotalQuantity != want {
				t.Errorf("total %+v, %v; want %d", out, err, want)
			}
			time.Sleep(5 * time.Hour)
		}
	})
}

func TestTimeLimitActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir})
		w.register("huge", "64", "64")
		w.register("work", "2", "64")
		w.environment("tiny", types.CRTypeEc2, 1)
		w.Queue("main", []string{"tiny"}, func(in *awsbatch.CreateJobQueueInput) {
			in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{
				{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600), Reason: aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"), State: "RUNNABLE"},
				{Action: "CANCEL", MaxTimeSeconds: aws.Int32(3600), Reason: aws.String("MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"), State: "RUNNABLE"}}
		})
		huge, wide := w.submit("huge", to("main")), w.submit("work", to("main"), array(2))
		elsewhere := w.submit("huge")
		time.Sleep(599 * time.Second)
		if d := w.job(huge); d.Status != types.JobStatusRunnable {
			t.Errorf("after 599 s: %s", d.Status)
		}
		time.Sleep(2 * time.Second)
		w.want(huge, types.JobStatusFailed, "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
		if d := w.job(huge); !*d.IsCancelled {
			t.Error("the job does not count as cancelled")
		}
		w = w.restart(dir, Options{}) // time continues
		time.Sleep(2997 * time.Second)
		if d := w.job(wide); d.Status != types.JobStatusPending {
			t.Errorf("after 3598 s: %s", d.Status)
		}
		time.Sleep(3 * time.Second)
		w.want(wide+":1", types.JobStatusFailed, "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE")
		w.want(wide, types.JobStatusFailed, model.ReasonChild)
		time.Sleep(48 * time.Hour)
		if d := w.job(elsewhere); d.Status != types.JobStatusRunnable {
			t.Errorf("in a queue without actions: %s", d.Status)
		}
		w.terminate(elsewhere, "enough")
		w.idle()
	})
}

// TestRefusedLater checks that updates reject the same values as the operations that create a
// resource.
func TestRefusedLater(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	if _, err := w.CreateComputeEnvironment(ctx, &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: aws.String("ours"), Type: types.CETypeUnmanaged,
		ServiceRole: aws.String("arn:aws:iam::000000000000:role/batch"), UnmanagedvCpus: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	_, err := w.UpdateComputeEnvironment(ctx, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("ours"), UnmanagedvCpus: aws.Int32(-1)})
	refused(t, err, "unmanagedvCpus should be greater than or equal to 0.")
	_, err = w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: aws.String(model.ARN(model.KindEnvironment, "ours")), Tags: map[string]string{"k": "AWS:v"}})
	refused(t, err, "Tag k: values must not start with aws:.")
	if _, err := w.CreateConsumableResource(ctx, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence")}); err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{"LOST", "RUN*"} {
		_, err = w.ListJobsByConsumableResource(ctx, &awsbatch.ListJobsByConsumableResourceInput{ConsumableResource: aws.String("licence"),
			Filters: []types.KeyValuesPair{{Name: aws.String("JOB_STATUS"), Values: []string{status}}}})
		refused(t, err, "Job status "+status+" is not valid. Valid statuses: [SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED]")
	}
}

// TestOversizedRequestsReserveNothing checks that a job reserves no consumable resource if it
// asks for more than exists, or for a deleted one. Later jobs get it.
func TestOversizedRequestsReserveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "64")
		for _, name := range []string{"a", "b", "gone"} {
			if _, err := w.CreateConsumableResource(t.Context(), &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name, TotalQuantity: aws.Int64(5)}); err != nil {
				t.Fatal(err)
			}
		}
		asks := func(names []string, quantity int64) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				p := &types.ConsumableResourceProperties{}
				for _, name := range names {
					p.ConsumableResourceList = append(p.ConsumableResourceList, types.ConsumableResourceRequirement{ConsumableResource: &name, Quantity: &quantity})
				}
				in.ConsumableResourcePropertiesOverride = p
			}
		}
		holder := w.submit("work", asks([]string{"gone"}, 5), words("1h"))
		removed := w.submit("work", asks([]string{"a", "gone"}, 5))
		if _, err := w.DeleteConsumableResource(t.Context(), &awsbatch.DeleteConsumableResourceInput{ConsumableResource: aws.String("gone")}); err != nil {
			t.Fatal(err)
		}
		tooMuch := w.submit("work", asks([]string{"a", "b"}, 6))
		late := w.submit("work", asks([]string{"a", "b"}, 5))
		synctest.Wait()
		w.want(holder, types.JobStatusRunning, "")
		w.want(removed, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the consumable resource gone does not exist")
		w.want(tooMuch, types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the job asks for 6 of the consumable resource a, more than its total quantity")
		w.want(late, types.JobStatusSucceeded, model.ReasonExited)
		for _, id := range []string{removed, tooMuch} {
			w.terminate(id, "enough")
		}
	})
}
