package local

import (
	"path/filepath"
	"strings"
	"testing"

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
