package local

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

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
