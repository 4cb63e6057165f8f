//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestRegisterRefuses makes one member of a valid definition invalid per case.
func TestRegisterRefuses(t *testing.T) {
	type in = awsbatch.RegisterJobDefinitionInput
	w := open(t, Options{})
	resource := func(kind types.ResourceType, value string) func(*in) {
		return func(r *in) {
			all := r.ContainerProperties.ResourceRequirements
			all = slices.DeleteFunc(all, func(v types.ResourceRequirement) bool { return v.Type == kind })
			if value != "" {
				all = append(all, types.ResourceRequirement{Type: kind, Value: &value})
			}
			r.ContainerProperties.ResourceRequirements = all
		}
	}
	rule := func(e types.EvaluateOnExit) func(*in) {
		return func(r *in) {
			r.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2), EvaluateOnExit: []types.EvaluateOnExit{e}}
		}
	}
	for _, c := range []struct {
		edit func(*in)
		want string
	}{
		{func(r *in) { r.JobDefinitionName = aws.String("a b") }, "Error executing request, Exception : Job definition name should match a valid pattern"},
		{func(r *in) { r.JobDefinitionName = aws.String(strings.Repeat("a", 129)) }, "Error executing request, Exception : Job definition name should match a valid pattern"},
		{func(r *in) { r.Type = "task" }, `Job definition type "task" is not valid. Valid types: [container, multinode]`},
		{func(r *in) { r.Type = "multinode" }, "Error executing request, Exception : Node properties of multinode job is required"},
		{func(r *in) { r.EksProperties = hostNetwork() }, "Cannot use both ECS containerProperties and eksProperties"},
		{func(r *in) { r.ContainerProperties, r.EksProperties = nil, hostNetwork() }, "Containers must be provided for Batch on EKS jobs."},
		{func(r *in) { r.EcsProperties = &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{}} }, "Error executing request, Exception : Cannot use both ECS containerProperties and ecsProperties"},
		{func(r *in) { r.ConsumableResourceProperties = asks("licence", 0) }, "quantity of consumable resource licence should be at least 1."},
		{func(r *in) {
			p := asks("licence", 1)
			p.ConsumableResourceList = append(p.ConsumableResourceList, p.ConsumableResourceList[0])
			r.ConsumableResourceProperties = p
		}, "Cannot have duplicate consumableResource in consumableResourceProperties"},
		{func(r *in) { r.Tags = map[string]string{"aws:x": ""} }, "Tag aws:x: keys must not start with aws:."},
		{func(r *in) { r.ContainerProperties = nil }, "ECS Container Image must be provided."},
		{func(r *in) { r.ContainerProperties.Image = nil }, "ECS Container Image must be provided."},
		{func(r *in) { r.ContainerProperties.InstanceType = aws.String("p4d") }, "instanceType is only for multi-node jobs."},
		{func(r *in) { r.PlatformCapabilities = []types.PlatformCapability{"EC2", "FARGATE"} }, "Exactly 1 capability must be provided."},
		{func(r *in) { r.SchedulingPriority = aws.Int32(10000) }, "Scheduling priority must be between 0 and 9999."},
		{resource("VCPU", ""), "Error executing request, Exception : vCPU is not provided"},
		{resource("VCPU", "0.5"), "vCPU must be at least 1, got 0.5."},
		{resource("VCPU", "two"), "Value two for type VCPU in resourceRequirement is not valid. Please provide a numeric value."},
		{resource("VCPU", "NaN"), "Value NaN for type VCPU in resourceRequirement is not valid. Please provide a numeric value."},
		{resource("MEMORY", ""), "Memory is required."},
		{resource("MEMORY", "3"), "Memory must be at least 4 Mib, got 3 Mib."},
		{resource("MEMORY", "2GB"), "Value 2GB for type MEMORY in resourceRequirement is not valid. Please provide a numeric value."},
		{resource("GPU", "0.5"), "Value 0.5 for type GPU in resourceRequirement is not valid. Please provide a numeric value."},
		{resource("DISK", "1"), "ResourceRequirement type DISK is not valid. Valid types: [GPU, MEMORY, VCPU]"},
		{func(r *in) { r.ContainerProperties.Vcpus = aws.Int32(1) }, "Cannot use both ECS containerProperties Vcpus and resourceRequirement VCPU."},
		{func(r *in) { r.ContainerProperties.Memory = aws.Int32(64) }, "Cannot use both ECS containerProperties Memory and resourceRequirement MEMORY."},
		{func(r *in) {
			c := r.ContainerProperties
			c.ResourceRequirements = append(c.ResourceRequirements, c.ResourceRequirements[0])
		}, "Cannot provide duplicates in resourceRequirements."},
		{func(r *in) { r.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("", "x")} }, "Environment variable name is required."},
		{func(r *in) {
			r.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "x")}
		}, "Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{func(r *in) { r.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(59)} }, "AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		{func(r *in) { r.RetryStrategy = &types.RetryStrategy{} }, "RetryAttempts must be provided with retry strategy."},
		{func(r *in) { r.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(11)} }, "RetryAttempts must be between 1 and 10."},
		{rule(types.EvaluateOnExit{Action: "RETRY"}), "EvaluateOnExit should contain at least one of onExitCode, onReason or onStatusReason."},
		{rule(types.EvaluateOnExit{Action: "STOP", OnReason: aws.String("*")}), `EvaluateOnExit action "STOP" is not valid. Valid actions: [RETRY, EXIT]`},
		{rule(types.EvaluateOnExit{Action: "EXIT", OnExitCode: aws.String("1?")}), "Evaluate on exit condition contains restricted characters."},
		{rule(types.EvaluateOnExit{Action: "EXIT", OnReason: aws.String(strings.Repeat("a", 513))}), "Evaluate on exit condition cannot exceed 512 characters."},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := &in{JobDefinitionName: aws.String("work"), Type: "container", ContainerProperties: &types.ContainerProperties{
				Image: aws.String("busybox"), ResourceRequirements: []types.ResourceRequirement{
					{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}
			c.edit(r)
			_, err := w.RegisterJobDefinition(t.Context(), r)
			refused(t, err, c.want)
		})
	}
	if n := len(w.engine.model.Definitions); n != 0 {
		t.Errorf("%d definitions exist after rejected requests only", n)
	}
}

// hostNetwork returns pods without containers.
func hostNetwork() *types.EksProperties {
	return &types.EksProperties{PodProperties: &types.EksPodProperties{HostNetwork: aws.Bool(true)}}
}

// TestSubmitRefuses makes one member of a valid request invalid per case.
func TestSubmitRefuses(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	w.register("refers", "1", "64", func(r *awsbatch.RegisterJobDefinitionInput) {
		r.ContainerProperties.Command = []string{"echo", "Ref::who"}
	})
	one := w.submit("work")
	pair := w.submit("work", array(2))
	w.idle()
	type in = awsbatch.SubmitJobInput
	missing := call.NewID()
	for _, c := range []struct {
		edit func(*in)
		want string
	}{
		{func(r *in) { r.JobName = aws.String("-a") }, "Error executing request, Exception : Job name should match valid pattern"},
		{func(r *in) { r.JobQueue = aws.String("other") }, "JobQueue other not found."},
		{func(r *in) { r.JobDefinition = aws.String("other") }, "JobDefinition name other does not exist or is not in ACTIVE status."},
		{func(r *in) { r.JobDefinition = aws.String("work:2") }, "JobDefinition name work:2 does not exist or is not in ACTIVE status."},
		{func(r *in) { r.JobDefinition = aws.String("work:latest") }, "JobDefinition name work:latest does not exist or is not in ACTIVE status."},
		{func(r *in) { r.JobDefinition = aws.String("refers") }, "Unable to substitute value. No parameter found for reference who"},
		{array(1), "Array size must be between 2 and 10000, got 1."},
		{array(10001), "Array size must be between 2 and 10000, got 10001."},
		{after(slices.Repeat([]string{one}, 21)...), "Job cannot have more than 20 dependencies"},
		{after(missing), "Job " + missing + " in dependsOn does not exist."},
		{depends(one, "AFTER"), "Dependency type AFTER is not valid. Valid types: [N_TO_N, SEQUENTIAL]"},
		{depends("", ""), "A dependency needs a jobId."},
		{depends("", "SEQUENTIAL"), "A dependency needs a jobId."},
		{depends(pair, "N_TO_N"), "A dependency of type N_TO_N is only for array jobs."},
		{func(r *in) { array(2)(r); depends(one, "N_TO_N")(r) }, "A dependency of type N_TO_N needs an array job; " + one + " is not an array."},
		{func(r *in) { array(3)(r); depends(pair, "N_TO_N")(r) }, "A dependency of type N_TO_N needs an array of the same size; " + pair + " has 2 children."},
		{func(r *in) { r.ShareIdentifier = aws.String("team") }, "Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy."},
		{func(r *in) { r.ConsumableResourcePropertiesOverride = asks("licence", 1) }, "Consumable resource licence does not exist."},
		{func(r *in) { r.NodeOverrides = &types.NodeOverrides{NumNodes: aws.Int32(2)} }, "nodeOverrides need a job definition of type multinode."},
		{func(r *in) {
			r.EcsPropertiesOverride = &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{}}}
		}, "ecsPropertiesOverride needs a job definition that has ecsProperties."},
		{timeout(30), "AttemptDurationSeconds in Timeout must be at least 60 seconds."},
		{attempts(0), "RetryAttempts must be between 1 and 10."},
		{func(r *in) {
			r.ContainerOverrides = &types.ContainerOverrides{Environment: []types.KeyValuePair{attempt.Variable("AWS_BATCH_JOB_ID", "x")}}
		}, "Environment variable AWS_BATCH_JOB_ID is not valid: names must not start with AWS_BATCH."},
		{func(r *in) {
			r.ContainerOverrides = &types.ContainerOverrides{ResourceRequirements: []types.ResourceRequirement{{Type: "MEMORY", Value: aws.String("1")}}}
		}, "Memory must be at least 4 Mib, got 1 Mib."},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := &in{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
			c.edit(r)
			_, err := w.SubmitJob(t.Context(), r)
			refused(t, err, c.want)
		})
	}
	if n := len(w.engine.model.BySubmission); n != 2 {
		t.Errorf("%d jobs exist, want the 2 valid ones", n)
	}
}

// TestStopRefuses checks what is rejected. Batch answers 200 for any text that names no job, and so does the engine,
// with a notice.
func TestStopRefuses(t *testing.T) {
	w := open(t, Options{})
	notice := w.heard()
	missing := call.NewID()
	for _, id := range []string{missing, "work", missing + ":", missing + ":01", missing + "#x", "arn:aws:batch:local:000000000000:job/work"} {
		_, err := w.CancelJob(t.Context(), &awsbatch.CancelJobInput{JobId: &id, Reason: aws.String("x")})
		want := "AWS Batch accepts this silently; no such job exists: " + strings.TrimPrefix(id, "arn:aws:batch:local:000000000000:job/")
		if err != nil || *notice != want {
			t.Errorf("%s: %v, notice %q, want %q", id, err, *notice, want)
		}
	}
	_, err := w.TerminateJob(t.Context(), &awsbatch.TerminateJobInput{JobId: &missing, Reason: aws.String(strings.Repeat("x", 1025))})
	refused(t, err, "reason can have at most 1024 characters.")
	_, err = w.TerminateJob(t.Context(), &awsbatch.TerminateJobInput{JobId: aws.String(""), Reason: aws.String("x")})
	refused(t, err, "jobId is required.")
}

// TestDescriptionsAreComplete checks the members that Batch always shows, even if the request had
// none.
func TestDescriptionsAreComplete(t *testing.T) {
	w := open(t, Options{})
	w.register("plain", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = nil
		in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(1), EvaluateOnExit: []types.EvaluateOnExit{{Action: "Exit", OnReason: aws.String("x")}}}
	})
	out, err := w.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("plain")})
	if err != nil {
		t.Fatal(err)
	}
	d := out.JobDefinitions[0]
	c := d.ContainerProperties
	if d.Parameters == nil || d.Tags == nil || c.Command == nil || c.Environment == nil || c.Secrets == nil || c.Volumes == nil ||
		d.RetryStrategy.EvaluateOnExit[0].Action != "exit" || c.FargatePlatformConfiguration != nil {
		t.Errorf("definition %+v, container %+v", d, c)
	}
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	cluster := "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local"
	if j := w.job(id); aws.ToString(j.Container.ContainerInstanceArn) != cluster || aws.ToString(j.Attempts[0].Container.ContainerInstanceArn) != cluster {
		t.Errorf("container instance %v", aws.ToString(j.Container.ContainerInstanceArn))
	}
	policy, err := w.CreateSchedulingPolicy(t.Context(), &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("even")})
	if err != nil {
		t.Fatal(err)
	}
	described, err := w.DescribeSchedulingPolicies(t.Context(), &awsbatch.DescribeSchedulingPoliciesInput{Arns: []string{*policy.Arn}})
	if err != nil {
		t.Fatal(err)
	}
	if s := described.SchedulingPolicies[0].FairsharePolicy; s == nil || *s.ComputeReservation != 0 || *s.ShareDecaySeconds != 0 || s.ShareDistribution == nil {
		t.Errorf("policy %+v", described.SchedulingPolicies[0])
	}
}

func TestDefinitions(t *testing.T) {
	w := open(t, Options{})
	for range 3 {
		w.register("b", "1", "64")
	}
	w.register("a", "1", "64")
	if _, err := w.DeregisterJobDefinition(t.Context(), &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("b:3")}); err != nil {
		t.Fatal(err)
	}
	find := func(in *awsbatch.DescribeJobDefinitionsInput) string {
		t.Helper()
		var found []string
		pages := awsbatch.NewDescribeJobDefinitionsPaginator(w, in, func(o *awsbatch.DescribeJobDefinitionsPaginatorOptions) {
			if len(in.JobDefinitions) == 0 { // AWS Batch rejects both
				o.Limit = 2
			}
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range out.JobDefinitions {
				found = append(found, fmt.Sprintf("%s:%d %s", *d.JobDefinitionName, *d.Revision, *d.Status))
			}
		}
		return strings.Join(found, ", ")
	}
	for _, c := range []struct {
		in   awsbatch.DescribeJobDefinitionsInput
		want string
	}{
		{awsbatch.DescribeJobDefinitionsInput{}, "a:1 ACTIVE, b:3 INACTIVE, b:2 ACTIVE, b:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("b"), Status: aws.String("ACTIVE")}, "b:2 ACTIVE, b:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{Status: aws.String("INACTIVE")}, "b:3 INACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"b:1", model.ARN("job-definition", "a:1"), "c:1"}}, "b:1 ACTIVE, a:1 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"b:2", "b:3"}, Status: aws.String("ACTIVE")}, "b:2 ACTIVE"},
		{awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("c")}, ""},
	} {
		if got := find(&c.in); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	used := func(definition string) string {
		return *w.job(w.submit(definition)).JobDefinition
	}
	for definition, want := range map[string]string{
		"b": "b:2", "b:1": "b:1", model.ARN("job-definition", "b"): "b:2", model.ARN("job-definition", "b:1"): "b:1"} {
		if got := used(definition); got != model.ARN("job-definition", want) {
			t.Errorf("%s means %s, want %s", definition, got, want)
		}
	}
	_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("j"), JobQueue: aws.String("default"), JobDefinition: aws.String("b:3")})
	refused(t, err, "JobDefinition name b:3 does not exist or is not in ACTIVE status.")
	_, err = w.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"b:1"}, JobDefinitionName: aws.String("b")})
	refused(t, err, "Only one of jobDefinitions and jobDefinitionName can be given.")
	w.register("b", "1", "64")
	if got := used("b"); got != model.ARN("job-definition", "b:4") {
		t.Errorf("after another registration b means %s, want b:4: revisions are not used again", got)
	}
	w.idle()
}

func TestListJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 1, MemoryMiB: 64, Queues: []model.QueueSpec{{Name: "default"}, {Name: "other"}}})
		w.register("work", "1", "64")
		w.register("worker", "1", "64")
		named := func(name string) func(*awsbatch.SubmitJobInput) {
			return func(r *awsbatch.SubmitJobInput) { r.JobName = &name }
		}
		w.submit("work", named("Train-1"))
		w.idle()
		time.Sleep(time.Hour)
		noon := strconv.FormatInt(time.Now().UnixMilli(), 10)
		time.Sleep(time.Hour)
		w.submit("worker", named("train-2"), words("1h"))
		w.submit("work", named("test"), array(3))
		w.submit("work", named("train-3"))
		synctest.Wait()
		list := func(in awsbatch.ListJobsInput) string {
			t.Helper()
			if in.ArrayJobId == nil && in.JobQueue == nil {
				in.JobQueue = aws.String("default")
			}
			var found []string
			pages := awsbatch.NewListJobsPaginator(w, &in, func(o *awsbatch.ListJobsPaginatorOptions) { o.Limit = 2 })
			for pages.HasMorePages() {
				out, err := pages.NextPage(t.Context())
				if err != nil {
					return err.Error()[strings.Index(err.Error(), "ClientException"):]
				}
				for _, s := range out.JobSummaryList {
					name := *s.JobName
					if s.ArrayProperties != nil && s.ArrayProperties.Index != nil {
						name += fmt.Sprintf(":%d", *s.ArrayProperties.Index)
					}
					found = append(found, name)
				}
			}
			return strings.Join(found, " ")
		}
		filter := func(name string, values ...string) awsbatch.ListJobsInput {
			return awsbatch.ListJobsInput{Filters: []types.KeyValuesPair{{Name: &name, Values: values}}}
		}
		var parent string
		for id, j := range w.engine.model.Jobs {
			if len(j.Children) > 0 {
				parent = id
			}
		}
		for _, c := range []struct {
			in   awsbatch.ListJobsInput
			want string
		}{
			{awsbatch.ListJobsInput{}, "train-2"},
			{awsbatch.ListJobsInput{JobQueue: aws.String(model.ARN("job-queue", "default"))}, "train-2"},
			{awsbatch.ListJobsInput{JobStatus: "SUCCEEDED"}, "Train-1"},
			{awsbatch.ListJobsInput{JobStatus: "PENDING"}, "test"},
			{awsbatch.ListJobsInput{JobStatus: "RUNNABLE"}, "train-3"},
			{awsbatch.ListJobsInput{JobStatus: "FAILED"}, ""},
			{awsbatch.ListJobsInput{JobQueue: aws.String("other")}, ""},
			{awsbatch.ListJobsInput{ArrayJobId: &parent, JobStatus: "RUNNABLE"}, "test:0 test:1 test:2"},
			{awsbatch.ListJobsInput{ArrayJobId: &parent}, ""},
			{filter("JOB_NAME", "TRAIN-*"), "train-3 train-2 Train-1"},
			{filter("JOB_NAME", "train-1"), "Train-1"},
			{filter("JOB_NAME", "train"), ""},
			{filter("JOB_STATUS", "RUNNABLE"), "train-3"},
			{filter("JOB_DEFINITION", "work"), "train-3 test Train-1"},
			{filter("JOB_DEFINITION", "work*"), "train-3 test train-2 Train-1"},
			{filter("JOB_DEFINITION", model.ARN("job-definition", "worker:1")), "train-2"},
			{filter("BEFORE_CREATED_AT", noon), "Train-1"},
			{filter("AFTER_CREATED_AT", noon), "train-3 test train-2"},
			{filter("JOB_NAME", "a", "b"), "ClientException: Error executing request, Exception : Filter cannot take more than one value., RequestId: "},
			{filter("JOB_NAME"), "ClientException: Filter JOB_NAME needs a value."},
			{awsbatch.ListJobsInput{Filters: append(filter("JOB_NAME", "a").Filters, filter("JOB_STATUS", "FAILED").Filters...)},
				"ClientException: Error executing request, Exception : Only one filter key-value pair can be specified., RequestId: "},
			{filter("COLOUR", "a"), "ClientException: Filter COLOUR is not valid. Valid filters: [JOB_NAME, JOB_STATUS, JOB_DEFINITION, BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER]"},
			{filter("AFTER_CREATED_AT", "noon"), `ClientException: AFTER_CREATED_AT: "noon" is not a number of milliseconds.`},
			{awsbatch.ListJobsInput{JobQueue: aws.String("none")}, "ClientException: Job Queue none does not exist."},
			{awsbatch.ListJobsInput{JobQueue: aws.String("default"), ArrayJobId: &parent}, "ClientException: Only one of jobQueue, arrayJobId and multiNodeJobId can be given."},
			{awsbatch.ListJobsInput{JobStatus: "LOST"}, "ClientException: Job status LOST is not valid. Valid statuses: [SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED]"},
			{awsbatch.ListJobsInput{NextToken: aws.String("?")}, "ClientException: nextToken is not from an answer to this request."},
		} {
			if got := list(c.in); got != c.want && (!strings.HasSuffix(c.want, "RequestId: ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
		w.idle()
	})
}

// TestReadingChangesNothing checks that describing and listing adds nothing to the journal.
func TestReadingChangesNothing(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	size := w.engine.journal.Size()
	w.job(id)
	if _, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("default")}); err != nil {
		t.Error(err)
	}
	if _, err := w.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{}); err != nil {
		t.Error(err)
	}
	if w.engine.journal.Size() != size {
		t.Errorf("the journal grew from %d to %d bytes", size, w.engine.journal.Size())
	}
}

func TestQueuesAndEnvironments(t *testing.T) {
	w := open(t, Options{Queues: []model.QueueSpec{{Name: "cpu", Priority: 5, Environments: []string{"big", "small"}}, {Name: "gpu", Priority: 7, Environments: []string{"big"}}}})
	queues, err := w.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{JobQueues: []string{model.ARN("job-queue", "cpu"), "none"}})
	if err != nil || len(queues.JobQueues) != 1 {
		t.Fatalf("queues: %v, %v", queues, err)
	}
	if q := queues.JobQueues[0]; *q.JobQueueName != "cpu" || *q.Priority != 5 || q.State != "ENABLED" || q.Status != "VALID" ||
		*q.ComputeEnvironmentOrder[1].ComputeEnvironment != model.ARN("compute-environment", "small") {
		t.Errorf("queue %+v", q)
	}
	all, err := w.DescribeComputeEnvironments(t.Context(), &awsbatch.DescribeComputeEnvironmentsInput{MaxResults: aws.Int32(1)})
	if err != nil || len(all.ComputeEnvironments) != 1 || *all.ComputeEnvironments[0].ComputeEnvironmentName != "big" || all.NextToken == nil {
		t.Fatalf("environments: %+v, %v", all, err)
	}
	all, err = w.DescribeComputeEnvironments(t.Context(), &awsbatch.DescribeComputeEnvironmentsInput{NextToken: all.NextToken})
	if err != nil || len(all.ComputeEnvironments) != 1 || *all.ComputeEnvironments[0].ComputeEnvironmentName != "small" || all.NextToken != nil {
		t.Errorf("second page: %+v, %v", all, err)
	}
}

func TestCreateJobQueue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir})
	create := func(edit func(*awsbatch.CreateJobQueueInput)) error {
		in := &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("urgent"), Priority: aws.Int32(9),
			ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String(model.ARN("compute-environment", "local"))}}}
		edit(in)
		_, err := w.CreateJobQueue(t.Context(), in)
		return err
	}
	for _, c := range []struct {
		edit func(*awsbatch.CreateJobQueueInput)
		want string
	}{
		{func(r *awsbatch.CreateJobQueueInput) { r.JobQueueName = aws.String("a b") }, "Job Queue name should match a valid pattern."},
		{func(r *awsbatch.CreateJobQueueInput) { r.JobQueueName = aws.String("default") }, "Object already exists: job queue default."},
		{func(r *awsbatch.CreateJobQueueInput) {
			r.ComputeEnvironmentOrder[0].ComputeEnvironment = aws.String("other")
		}, "Compute environment other does not exist. Compute Environments must be created and valid before attaching them to a job queue"},
		{func(r *awsbatch.CreateJobQueueInput) {
			r.SchedulingPolicyArn = aws.String(model.ARN(model.KindQueue, "default"))
		}, "Only scheduling policy Arn can be allowed."},
	} {
		refused(t, create(c.edit), c.want)
	}
	if err := create(func(*awsbatch.CreateJobQueueInput) {}); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w = open(t, Options{Dir: dir})
	w.register("work", "1", "64")
	w.submit("work", func(r *awsbatch.SubmitJobInput) { r.JobQueue = aws.String("urgent") })
	out, err := w.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"urgent"}})
	if err != nil || len(out.JobQueues) != 1 || *out.JobQueues[0].Priority != 9 {
		t.Errorf("after a restart: %+v, %v", out, err)
	}
	w.idle()
}

func TestOverrides(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64", func(r *awsbatch.RegisterJobDefinitionInput) {
		r.ContainerProperties.Environment = []types.KeyValuePair{attempt.Variable("A", "1"), attempt.Variable("B", "2")}
		r.Parameters = map[string]string{"x": "1", "y": "2"}
	})
	d := w.job(w.submit("work", func(r *awsbatch.SubmitJobInput) {
		r.Parameters = map[string]string{"y": "3"}
		r.Tags = map[string]string{"team": "a"}
		r.ContainerOverrides = &types.ContainerOverrides{
			Environment:          []types.KeyValuePair{attempt.Variable("B", "3"), attempt.Variable("C", "4")},
			ResourceRequirements: []types.ResourceRequirement{{Type: "MEMORY", Value: aws.String("128")}},
			Vcpus:                aws.Int32(64), // without effect, as at AWS: the definition has a resourceRequirement
		}
	}))
	var env, need []string
	for _, v := range d.Container.Environment {
		env = append(env, *v.Name+"="+*v.Value)
	}
	for _, r := range d.Container.ResourceRequirements {
		need = append(need, string(r.Type)+"="+*r.Value)
	}
	if got := fmt.Sprint(env, need, d.Parameters, d.Tags, *d.Container.Image); got != "[A=1 B=3 C=4] [VCPU=1 MEMORY=128] map[x:1 y:3] map[team:a]busybox:1" {
		t.Errorf("got %s", got)
	}
	w.idle()
}

func TestRequestSizes(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	long := strings.Repeat("x", 31<<10)
	_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work"),
		Parameters: map[string]string{"long": long}})
	refused(t, err, "Job size must be less than 30 KiB, got 31 KiB")
	_, err = w.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("long"), Type: "container",
		Parameters: map[string]string{"long": long}})
	refused(t, err, "Job definition size must be at most 24 KiB, got 31 KiB")
}
