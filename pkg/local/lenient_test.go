//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/smithy-go"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// heard returns where a client of w keeps the notice of the last answer.
func (w *testEngine) heard() *string {
	notice := new(string)
	w.Client = awsbatch.NewFromConfig(w.engine.Config(""), func(o *awsbatch.Options) {
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

// TestLenientTakes checks that a lenient engine accepts what a strict engine rejects, and puts
// the same text into its notice.
func TestLenientTakes(t *testing.T) {
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
		}), "Multi-node parallel jobs cannot run on Fargate."},
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
		"a DISABLED environment": {environing(func(in *environment) { in.State = "DISABLED" }), "Compute Environment must be created in ENABLED state."},
		"desiredvCpus":           {environing(func(in *environment) { in.ComputeResources.DesiredvCpus = aws.Int32(5) }), "desiredvCpus should be between minvCpus and maxvCpus."},
		"a definition without revision": {func(ctx context.Context, c *awsbatch.Client) error {
			_, err := c.DeregisterJobDefinition(ctx, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("work")})
			return err
		}, "JobDefinition work: name and revision (name:revision) are needed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, lenient := range []bool{false, true} {
				w := open(t, Options{Lenient: lenient})
				notice := w.heard()
				w.register("work", "1", "64")
				w.environment("ec2", types.CRTypeEc2, 4)
				w.environment("fargate", types.CRTypeFargate, 4)
				w.Queue("main", []string{"ec2"})
				err := c.call(t.Context(), w.Client)
				if !lenient {
					refused(t, err, c.want)
				} else if want := "the engine is lenient; AWS Batch rejects this: " + c.want; err != nil || !strings.Contains(*notice, want) {
					t.Errorf("lenient: %v, notice %q, want %q", err, *notice, want)
				}
				w.idle()
			}
		})
	}
}

// TestLenientRefuses checks that a lenient engine rejects what moto rejects, with moto's message,
// even if the request also has a value that the engine would accept.
func TestLenientRefuses(t *testing.T) {
	w := open(t, Options{Lenient: true})
	w.register("work", "1", "64")
	w.environment("ec2", types.CRTypeEc2, 4)
	for _, c := range []struct {
		call       func(context.Context, *awsbatch.Client) error
		code, want string
	}{
		{environing(func(in *awsbatch.CreateComputeEnvironmentInput) {
			in.ComputeResources.InstanceTypes = []string{"t2", "unknown"}
		}),
			"InvalidParameterValue", "Instance type unknown does not exist"},
		{environing(func(in *awsbatch.CreateComputeEnvironmentInput) { in.ComputeEnvironmentName = aws.String("ec2") }),
			"ClientException", "Compute environment ec2 already exists"},
		{queueing(func(in *awsbatch.CreateJobQueueInput) { in.JobQueueName = aws.String("default") }), "ClientException", "Job queue default already exists"},
		{queueing(func(in *awsbatch.CreateJobQueueInput) { in.ComputeEnvironmentOrder = orderOf("none") }), "ClientException", "computeEnvironmentOrder is malformed"},
		{queueing(func(in *awsbatch.CreateJobQueueInput) { in.ComputeEnvironmentOrder = orderOf("ec2", "a", "b", "c") }),
			"ClientException", "computeEnvironmentOrder is malformed"},
		{registering(func(in *awsbatch.RegisterJobDefinitionInput) {
			in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(3)}
			in.ContainerProperties.ResourceRequirements = in.ContainerProperties.ResourceRequirements[:1]
		}), "ClientException", "Memory is required."},
		{registering(func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "x"), attempt.Variable("", "b")}
		}), "ClientException", "Environment variable name is required."},
		{submitting(func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(0)} }),
			"ClientException", "Array size must be between 2 and 10000, got 0."},
		{submitting(func(in *awsbatch.SubmitJobInput) {
			in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(1)}
			in.DependsOn = []types.JobDependency{{JobId: aws.String("none"), Type: "SEQUENTIAL"}}
		}), "ClientException", "Job none in dependsOn does not exist."},
	} {
		err := c.call(t.Context(), w.Client)
		if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != c.code || e.ErrorMessage() != c.want {
			t.Errorf("%v, want %s: %s", err, c.code, c.want)
		}
	}
	if n := len(w.engine.model.BySubmission); n != 0 {
		t.Errorf("%d jobs after rejected requests only", n)
	}
}

func TestLenientCheckIsANotice(t *testing.T) {
	w := open(t, Options{Lenient: true, Check: func(operation string, body []byte) error {
		return errors.New(strings.Repeat("ß", mostNotice) + " [rule]")
	}})
	notice := w.heard()
	w.register("work", "1", "64")
	if want := "the engine is lenient; AWS Batch rejects this: ß"; !strings.HasPrefix(*notice, want) || len([]rune(*notice)) != mostNotice+1 {
		t.Errorf("notice of %d characters: %.80s", len([]rune(*notice)), *notice)
	}
}

// A strict engine reads the jobs that a lenient one accepted.
func TestLenientJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Lenient: true})
		w.register("work", "0.25", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.ContainerProperties.Command = []string{"1h"} })
		c := inPod("main", "0")
		c.Resources = size("300m", "1Gi")
		w.register("pod", "", "", pod(types.EksPodProperties{Containers: []types.EksContainer{c}}))
		id, pod := w.submit("work"), w.submit("pod")
		synctest.Wait()
		w.want(id, types.JobStatusRunning, "")
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		strict := open(t, Options{Dir: w.engine.options.Dir})
		strict.want(pod, types.JobStatusSucceeded, model.ReasonExited)
		_, err := strict.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
		refused(t, err, "vCPU must be at least 1, got 0.25.")
		if d := strict.job(id); d.Status != types.JobStatusFailed || *d.Container.ResourceRequirements[0].Value != "0.25" {
			t.Errorf("%s %+v", d.Status, d.Container)
		}
	})
}

// TestLenientShows checks the answers of a lenient engine that differ from AWS Batch's and agree
// with moto's.
func TestLenientShows(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		w := open(t, Options{Lenient: lenient})
		ctx := t.Context()
		w.register("work", "1", "64")
		w.register("work", "1", "128")
		id := w.submit("work", func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(2)} })
		single := w.submit("work", attempts(2), words("fail"))
		w.idle()
		for _, in := range []*awsbatch.ListJobsInput{{ArrayJobId: &id}, {JobQueue: aws.String("default")}} {
			out, err := w.ListJobs(ctx, in)
			if err != nil || len(out.JobSummaryList) != map[bool]int{true: 2}[lenient] {
				t.Errorf("lenient %v: listed %+v, %v", lenient, out, err)
			}
		}
		named, err := w.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"work", "work:2"}})
		if err != nil || len(named.JobDefinitions) != map[bool]int{false: 1, true: 3}[lenient] {
			t.Errorf("lenient %v: %d definitions, %v", lenient, len(named.JobDefinitions), err)
		}
		all, err := w.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("work"), Status: aws.String("ACTIVE")})
		if err != nil || *all.JobDefinitions[0].Revision != map[bool]int32{false: 2, true: 1}[lenient] {
			t.Errorf("lenient %v: the first of %d is %d, %v", lenient, len(all.JobDefinitions), *all.JobDefinitions[0].Revision, err)
		}
		d := w.job(single)
		own := "work/default/" + single
		if got := *d.Attempts[0].Container.LogStreamName == own; got != lenient || *d.Attempts[1].Container.LogStreamName == own {
			t.Errorf("lenient %v: streams %s and %s", lenient, *d.Attempts[0].Container.LogStreamName, *d.Attempts[1].Container.LogStreamName)
		}
		if got := len(d.Container.Environment); got != map[bool]int{true: 1}[lenient] {
			t.Errorf("lenient %v: environment of %d variables", lenient, got)
		}
		if got := *w.job(id + ":1").Container.LogStreamName; strings.Contains(got, id) {
			t.Errorf("a child's stream is %s", got)
		}
		if got := w.logs(*d.Attempts[0].Container.LogStreamName); len(got) != 0 {
			t.Errorf("log %q", got)
		}
	}
}

// TestLenientTagsOfChildren checks that a lenient engine takes the ARN of a child in all operations on tags, for the
// tags of its array, and says that AWS Batch does not.
func TestLenientTagsOfChildren(t *testing.T) {
	w := open(t, Options{Lenient: true})
	notice := w.heard()
	w.register("work", "1", "64")
	id := w.submit("work", array(2), func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"a": "1"} })
	child := aws.String(model.ARN(model.KindJob, id+":1"))
	if _, err := w.TagResource(t.Context(), &awsbatch.TagResourceInput{ResourceArn: child, Tags: map[string]string{"b": "2"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.UntagResource(t.Context(), &awsbatch.UntagResourceInput{ResourceArn: child, TagKeys: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	out, err := w.ListTagsForResource(t.Context(), &awsbatch.ListTagsForResourceInput{ResourceArn: child})
	if err != nil || len(out.Tags) != 1 || out.Tags["b"] != "2" || !strings.Contains(*notice, "aren't supported. Use "+model.ARN(model.KindJob, id)+" instead.") {
		t.Errorf("%+v, %v, notice %q", out, err, *notice)
	}
	w.idle()
	if d := w.job(id); len(d.Tags) != 1 || d.Tags["b"] != "2" {
		t.Errorf("tags of the array: %v", d.Tags)
	}
}

// mostNotice is the longest notice that clients get, in characters.
const mostNotice = 4000

// TestLenientAcceptsAllThatStrictAccepts edits valid requests at random. A lenient engine accepts each request that a
// strict one accepts, under the rules of batchctl serve.
func TestLenientAcceptsAllThatStrictAccepts(t *testing.T) {
	strict, lenient := emptyEngine(t, Options{Check: lintRequest}), emptyEngine(t, Options{Check: lintRequest, Lenient: true})
	accepted, rejected := 0, 0
	try := func(t *rapid.T) {
		base := rapid.SampledFrom(baseRequests).Draw(t, "base")
		var root any
		if err := json.Unmarshal([]byte(base.body), &root); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			root = edited(t, root)
		}
		body, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := strict.call(base.operation, strict.fill(string(body))); status != http.StatusOK {
			rejected++
			return
		}
		accepted++
		if status, message := lenient.call(base.operation, lenient.fill(string(body))); status != http.StatusOK {
			t.Errorf("%s: a lenient engine answers %d %s, a strict one 200: %s", base.operation, status, message, body)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 { // a request takes less time than a draw of rapid
			try(t)
		}
	})
	if accepted == 0 || rejected == 0 {
		t.Errorf("%d requests accepted and %d rejected, want both", accepted, rejected)
	}
}

// edited changes one value of a request: its own or one below it.
func edited(t *rapid.T, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if name := rapid.SampledFrom(append(slices.Sorted(maps.Keys(v)), "")).Draw(t, "member"); name != "" {
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				delete(v, name)
			} else {
				v[name] = edited(t, v[name])
			}
			return v
		}
	case []any:
		if i := rapid.IntRange(-1, len(v)-1).Draw(t, "element"); i >= 0 {
			if rapid.Bool().Draw(t, "again") {
				return append(v, v[i])
			}
			v[i] = edited(t, v[i])
			return v
		}
	}
	return rapid.SampledFrom([]any{nil, "", "x", "aws:x", "0", "0.25", "1000", "*", 0, -1, 1, 59, 100, 2000000, true, false, []any{}, map[string]any{}}).Draw(t, "value")
}
