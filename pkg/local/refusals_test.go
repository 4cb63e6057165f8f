//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// heard returns where a client of w keeps the notice of the last answer.
func (w *testEngine) heard() *string {
	notice := new(string)
	w.Client = awsbatch.NewFromConfig(w.engine.Config(), func(o *awsbatch.Options) {
		inner := o.HTTPClient
		o.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
			answer, err := inner.Do(r)
			*notice = call.Notice(answer.Header)
			return answer, err
		})
	})
	return notice
}

func registering(edit func(*awsbatch.RegisterJobDefinitionInput)) func(context.Context, *awsbatch.Client) error {
	return func(ctx context.Context, c *awsbatch.Client) error {
		in := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("new"), Type: "container", ContainerProperties: &types.ContainerProperties{
			Image: aws.String("busybox"), ResourceRequirements: []types.ResourceRequirement{
				{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}
		edit(in)
		_, err := c.RegisterJobDefinition(ctx, in)
		return err
	}
}

func submitting(edit func(*awsbatch.SubmitJobInput)) func(context.Context, *awsbatch.Client) error {
	return func(ctx context.Context, c *awsbatch.Client) error {
		in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
		edit(in)
		_, err := c.SubmitJob(ctx, in)
		return err
	}
}

func queueing(edit func(*awsbatch.CreateJobQueueInput)) func(context.Context, *awsbatch.Client) error {
	return func(ctx context.Context, c *awsbatch.Client) error {
		in := &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("new"), Priority: aws.Int32(1), ComputeEnvironmentOrder: orderOf("ec2")}
		edit(in)
		_, err := c.CreateJobQueue(ctx, in)
		return err
	}
}

func orderOf(names ...string) []types.ComputeEnvironmentOrder {
	var all []types.ComputeEnvironmentOrder
	for i, name := range names {
		all = append(all, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &name})
	}
	return all
}

func environing(edit func(*awsbatch.CreateComputeEnvironmentInput)) func(context.Context, *awsbatch.Client) error {
	return func(ctx context.Context, c *awsbatch.Client) error {
		in := &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: aws.String("new"), Type: "MANAGED", ComputeResources: computeResources("EC2", 2)}
		edit(in)
		_, err := c.CreateComputeEnvironment(ctx, in)
		return err
	}
}

// TestRefusals: requests that AWS Batch rejects, each with one fault.
func TestRefusals(t *testing.T) {
	type (
		definition  = awsbatch.RegisterJobDefinitionInput
		job         = awsbatch.SubmitJobInput
		queue       = awsbatch.CreateJobQueueInput
		environment = awsbatch.CreateComputeEnvironmentInput
	)
	rule := types.EvaluateOnExit{Action: "RETRY", OnReason: aws.String("a?")}
	var many []types.JobDependency
	for name, c := range map[string]struct {
		call func(context.Context, *awsbatch.Client) error
		want string
	}{
		"a quarter of a vCPU": {registering(func(in *definition) { in.ContainerProperties.ResourceRequirements[0].Value = aws.String("0.25") }),
			"vCPU must be at least 1, got 0.25."},
		"a short timeout": {registering(func(in *definition) { in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(3)} }),
			"AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		"two capabilities": {registering(func(in *definition) { in.PlatformCapabilities = []types.PlatformCapability{"EC2", "FARGATE"} }),
			"Exactly 1 capability must be provided."},
		"an instance type": {registering(func(in *definition) { in.ContainerProperties.InstanceType = aws.String("p4d") }), "instanceType is only for multi-node jobs."},
		"a priority":       {registering(func(in *definition) { in.SchedulingPriority = aws.Int32(10000) }), "Scheduling priority must be between 0 and 9999."},
		"no attempts":      {registering(func(in *definition) { in.RetryStrategy = &types.RetryStrategy{} }), "RetryAttempts must be provided with retry strategy."},
		"a pattern": {registering(func(in *definition) {
			in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2), EvaluateOnExit: []types.EvaluateOnExit{rule}}
		}), "Evaluate on exit condition contains restricted characters."},
		"a variable": {registering(func(in *definition) {
			in.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "x"), attempt.Variable("A", "b")}
		}), "Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		"a tag": {registering(func(in *definition) { in.Tags = map[string]string{"aws:x": ""} }), "Tag aws:x: keys must not start with aws:."},
		"a long definition": {registering(func(in *definition) { in.Parameters = map[string]string{"a": strings.Repeat("x", 25<<10)} }),
			"Job definition size must be at most 24 KiB, got 25 KiB"},
		"nodes on Fargate": {registering(func(in *definition) {
			node := types.NodeRangeProperty{TargetNodes: aws.String("0:"), Container: in.ContainerProperties}
			in.Type, in.ContainerProperties, in.PlatformCapabilities = "multinode", nil, []types.PlatformCapability{"FARGATE"}
			in.NodeProperties = &types.NodeProperties{NumNodes: aws.Int32(2), MainNode: aws.Int32(0), NodeRangeProperties: []types.NodeRangeProperty{node}}
		}), "Error executing request, Exception : Fargate does not support MNP jobs"},
		"an array of one": {submitting(func(in *job) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(1)} }),
			"Array size must be between 2 and 10000, got 1."},
		"a long array": {submitting(func(in *job) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(10001)} }),
			"Array size must be between 2 and 10000, got 10001."},
		"a share":    {submitting(func(in *job) { in.ShareIdentifier = aws.String("a") }), "Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy."},
		"a long job": {submitting(func(in *job) { in.Parameters = map[string]string{"a": strings.Repeat("x", 31<<10)} }), "Job size must be less than 30 KiB, got 31 KiB"},
		"a pod's": {submitting(func(in *job) {
			in.EksPropertiesOverride = &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{Metadata: &types.EksMetadata{Labels: map[string]string{"a": "b"}}}}
		}), "eksPropertiesOverride needs a job definition that has eksProperties."},
		"job timeout": {submitting(func(in *job) { in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(1)} }), "AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		"many dependencies": {func(ctx context.Context, c *awsbatch.Client) error {
			first, err := c.SubmitJob(ctx, &job{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
			if err != nil {
				return err
			}
			many = slices.Repeat([]types.JobDependency{{JobId: first.JobId}}, 21)
			return submitting(func(in *job) { in.DependsOn = many })(ctx, c)
		}, "Job cannot have more than 20 dependencies"},
		"a long reason": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.CancelJob(ctx, &awsbatch.CancelJobInput{JobId: aws.String("none"), Reason: aws.String(strings.Repeat("x", 1025))})
			return err
		}, "reason can have at most 1024 characters."},
		"a node's variable": {func(ctx context.Context, c *awsbatch.Client) error {
			node := types.NodeRangeProperty{TargetNodes: aws.String("0:"), Container: &types.ContainerProperties{Image: aws.String("busybox"),
				Command: []string{"true"}, Vcpus: aws.Int32(1), Memory: aws.Int32(64)}}
			nodes := &types.NodeProperties{NumNodes: aws.Int32(2), MainNode: aws.Int32(0), NodeRangeProperties: []types.NodeRangeProperty{node}}
			_, err := c.RegisterJobDefinition(ctx, &definition{JobDefinitionName: aws.String("nodes"), Type: "multinode", NodeProperties: nodes})
			if err != nil {
				return err
			}
			return submitting(func(in *job) {
				in.JobDefinition, in.NodeOverrides = aws.String("nodes"), &types.NodeOverrides{NodePropertyOverrides: []types.NodePropertyOverride{{
					TargetNodes: aws.String("0:"), ContainerOverrides: &types.ContainerOverrides{Environment: []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "x")}}}}}
			})(ctx, c)
		}, "Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		"a queue's priority": {queueing(func(in *queue) { in.Priority = aws.Int32(1001) }), "priority is required, between 0 and 1000."},
		"a policy":           {queueing(func(in *queue) { in.SchedulingPolicyArn = aws.String("policy_arn") }), `"policy_arn" is not the ARN of a scheduling policy.`},
		"a policy not there": {queueing(func(in *queue) { in.SchedulingPolicyArn = aws.String(model.ARN(model.KindPolicy, "none")) }), "SchedulingPolicy " + model.ARN(model.KindPolicy, "none") + " not found."},
		"mixed environments": {queueing(func(in *queue) { in.ComputeEnvironmentOrder = orderOf("ec2", "fargate") }), "Fargate and EC2 compute environments can not be mixed."},
		"a time limit": {queueing(func(in *queue) {
			in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{{Action: "CANCEL", MaxTimeSeconds: aws.Int32(1), Reason: aws.String("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"), State: "RUNNABLE"}}
		}), "maxTimeSeconds must be between 600 and 86400."},
		"deleting an ENABLED queue": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.DeleteJobQueue(ctx, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("main")})
			return err
		}, "Cannot delete, job queue main must be DISABLED first."},
		"deleting an ENABLED environment": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.DeleteComputeEnvironment(ctx, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("fargate")})
			return err
		}, "Cannot delete, compute environment fargate must be DISABLED first."},
		"deleting nothing": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.DeleteJobQueue(ctx, &awsbatch.DeleteJobQueueInput{JobQueue: aws.String("none")})
			return err
		}, "Job Queue none does not exist."},
		"a DISABLED environment":   {environing(func(in *environment) { in.State = "DISABLED" }), "Compute Environment must be created in ENABLED state."},
		"desiredvCpus":             {environing(func(in *environment) { in.ComputeResources.DesiredvCpus = aws.Int32(5) }), "desiredvCpus should be between minvCpus and maxvCpus."},
		"an unknown instance type": {environing(func(in *environment) { in.ComputeResources.InstanceTypes = []string{"t2", "unknown"} }), "Instance type unknown does not exist."},
		"an environment's name":    {environing(func(in *environment) { in.ComputeEnvironmentName = aws.String("ec2") }), "Object already exists: compute environment ec2."},
		"a queue's name":           {queueing(func(in *queue) { in.JobQueueName = aws.String("default") }), "Object already exists: job queue default."},
		"a definition without revision": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.DeregisterJobDefinition(ctx, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("work")})
			return err
		}, "JobDefinition work: name and revision (name:revision) are needed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, Options{})
			w.register("work", "1", "64")
			w.environment("ec2", types.CRTypeEc2, 4)
			w.environment("fargate", types.CRTypeFargate, 4)
			w.Queue("main", []string{"ec2"})
			refused(t, c.call(t.Context(), w.Client), c.want)
			w.idle()
		})
	}
}
