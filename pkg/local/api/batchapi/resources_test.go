package batchapi

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

func TestQueuesAndEnvironments(t *testing.T) {
	w := newAPI(t, modeltest.Options{Queues: []model.QueueSpec{{Name: "cpu", Priority: 5, Environments: []string{"big", "small"}}, {Name: "gpu", Priority: 7, Environments: []string{"big"}}}})
	queues, err := do(w.describeJobQueues, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{model.ARN("job-queue", "cpu"), "none"}})
	if err != nil || len(queues.JobQueues) != 1 {
		t.Fatalf("queues: %v, %v", queues, err)
	}
	if q := queues.JobQueues[0]; *q.JobQueueName != "cpu" || *q.Priority != 5 || q.State != "ENABLED" || q.Status != "VALID" ||
		*q.ComputeEnvironmentOrder[1].ComputeEnvironment != model.ARN("compute-environment", "small") {
		t.Errorf("queue %+v", q)
	}
	all, err := do(w.describeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{MaxResults: aws.Int32(1)})
	if err != nil || len(all.ComputeEnvironments) != 1 || *all.ComputeEnvironments[0].ComputeEnvironmentName != "big" || all.NextToken == nil {
		t.Fatalf("environments: %+v, %v", all, err)
	}
	all, err = do(w.describeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{NextToken: all.NextToken})
	if err != nil || len(all.ComputeEnvironments) != 1 || *all.ComputeEnvironments[0].ComputeEnvironmentName != "small" || all.NextToken != nil {
		t.Errorf("second page: %+v, %v", all, err)
	}
}

// TestMachineIsDescribedAsManaged checks the members that clients read of the engine's own environment, also without an
// engine that runs.
func TestMachineIsDescribedAsManaged(t *testing.T) {
	w := newAPI(t, modeltest.Options{VCPUs: 6.5, MemoryMiB: 64})
	out := must(t, w.describeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{})
	want := types.ComputeEnvironmentDetail{
		ComputeEnvironmentName:     aws.String("local"),
		ComputeEnvironmentArn:      aws.String("arn:aws:batch:local:000000000000:compute-environment/local"),
		EcsClusterArn:              aws.String("arn:aws:ecs:local:000000000000:cluster/AWSBatch-local"),
		ContainerOrchestrationType: "ECS", Type: "MANAGED", State: "ENABLED", Status: "VALID", StatusReason: aws.String("ComputeEnvironment Healthy"),
		Tags: map[string]string{},
		ComputeResources: &types.ComputeResource{Type: "EC2", MinvCpus: aws.Int32(0), MaxvCpus: aws.Int32(6), DesiredvCpus: aws.Int32(6),
			InstanceTypes: []string{"optimal"}, Subnets: []string{"subnet-00000000000000000"}, SecurityGroupIds: []string{"sg-00000000000000000"}},
	}
	got, _ := wire.Marshal(out.ComputeEnvironments[0])
	if text, _ := wire.Marshal(want); string(got) != string(text) || len(out.ComputeEnvironments) != 1 {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	// Jobs of both platforms run there, as on an environment without a type.
	w.Register("fargate", "1", "2048", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.PlatformCapabilities = []types.PlatformCapability{"FARGATE"}
	})
	must(t, w.submitJob, modeltest.Request("fargate"))
}

func TestDeleteRefuses(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Environment("small", types.CRTypeEc2, 1)
	policy := must(t, w.createSchedulingPolicy, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair")})
	w.Queue("main", []string{"small"}, func(in *awsbatch.CreateJobQueueInput) { in.SchedulingPolicyArn = policy.Arn })
	environment := func() error {
		_, err := do(w.deleteComputeEnvironment, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("small")})
		return err
	}
	deletePolicy := func() error {
		_, err := do(w.deleteSchedulingPolicy, &awsbatch.DeleteSchedulingPolicyInput{Arn: policy.Arn})
		return err
	}
	must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("small"), State: types.CEStateDisabled})
	refused(t, environment(), "Cannot delete, found existing JobQueue relationship")
	refused(t, deletePolicy(), "Cannot delete, scheduling policy fair is used by job queue main.")
	must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
	must(t, w.deleteJobQueue, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("main")})
	for _, err := range []error{environment(), deletePolicy()} {
		if err != nil {
			t.Error(err)
		}
	}
	refused(t, environment(), "Compute environment small does not exist.")
}

func TestTags(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Register("work", "1", "64")
	id := w.Submit("work", modeltest.Array(2), func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"a": "1"} })
	w.Idle()
	text := aws.String(model.ARN(model.KindJob, id))
	must(t, w.tagResource, &awsbatch.TagResourceInput{ResourceArn: text, Tags: map[string]string{"b": "2", "c/d": "ü "}})
	must(t, w.untagResource, &awsbatch.UntagResourceInput{ResourceArn: text, TagKeys: []string{"a", "none"}})
	out, err := do(w.listTagsForResource, &awsbatch.ListTagsForResourceInput{ResourceArn: text})
	want := map[string]string{"b": "2", "c/d": "ü "}
	if err != nil || !cmp.Equal(out.Tags, want) || !cmp.Equal(w.job(id+":1").Tags, want) {
		t.Errorf("%+v, %v; want %v", out, err, want)
	}
	many := map[string]string{}
	for i := range 49 {
		many[fmt.Sprint(i)] = ""
	}
	_, err = do(w.tagResource, &awsbatch.TagResourceInput{ResourceArn: text, Tags: many})
	if err == nil || !strings.HasSuffix(err.Error(), "ValidationError: 1 validation error detected: Value at 'tags' failed to satisfy constraint: "+
		"Member must have length less than or equal to 50") {
		t.Errorf("51 tags: %v", err)
	}
	child := model.ARN(model.KindJob, id+":0")
	unsupported := "ARNs for child jobs of array and multi-node parallel (MNP) jobs aren't supported. Use " + *text + " instead."
	_, err = do(w.listTagsForResource, &awsbatch.ListTagsForResourceInput{ResourceArn: &child})
	refused(t, err, unsupported)
	_, err = do(w.tagResource, &awsbatch.TagResourceInput{ResourceArn: &child, Tags: want})
	refused(t, err, unsupported)
	_, err = do(w.untagResource, &awsbatch.UntagResourceInput{ResourceArn: &child, TagKeys: []string{"b"}})
	refused(t, err, unsupported)
	none := model.ARN(model.KindJob, id+":2")
	_, err = do(w.listTagsForResource, &awsbatch.ListTagsForResourceInput{ResourceArn: &none})
	refused(t, err, "Resource "+none+" does not exist.")
	_, err = do(w.listTagsForResource, &awsbatch.ListTagsForResourceInput{ResourceArn: aws.String("arn:aws:s3:::bucket")})
	refused(t, err, `"arn:aws:s3:::bucket" is not an ARN of this engine: they begin with arn:aws:batch:local:000000000000:`)
	_, err = do(w.tagResource, &awsbatch.TagResourceInput{ResourceArn: text, Tags: map[string]string{"k": "AWS:v"}})
	refused(t, err, "Tag k: values must not start with aws:.")
}

func TestDisabledQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 64})
		w.Register("work", "1", "64")
		w.Environment("all", types.CRTypeEc2, 8)
		w.Queue("main", []string{"all"})
		first, second := w.Submit("work", modeltest.To("main"), modeltest.Words("1m")), w.Submit("work", modeltest.To("main"))
		must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
		_, err := do(w.submitJob, modeltest.Request("work", modeltest.To("main")))
		refused(t, err, "Job Queue main is DISABLED and accepts no jobs.")
		w.Idle()
		for _, id := range []string{first, second} {
			w.Want(id, types.JobStatusSucceeded, model.ReasonExited)
		}
		must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateEnabled})
		third, fourth := w.Submit("work", modeltest.To("main"), modeltest.Words("1h")), w.Submit("work", modeltest.To("main"), modeltest.Array(2))
		must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled})
		must(t, w.deleteJobQueue, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("main")})
		w.Idle()
		for _, id := range []string{third, fourth, fourth + ":1"} {
			w.Want(id, types.JobStatusFailed, "Job Queue main was deleted")
		}
	})
}
