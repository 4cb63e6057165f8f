package batchapi

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// serving returns an API with the resources for service jobs.
func serving(t *testing.T) *testAPI {
	w := newAPI(t, modeltest.Options{})
	modeltest.ServiceResources(func(operation, body string) { w.must(operation, body) })
	return w
}

// serve submits a service job and returns its id.
func (w *testAPI) serve(queue, payload string, more ...func(*awsbatch.SubmitServiceJobInput)) string {
	w.t.Helper()
	in := &awsbatch.SubmitServiceJobInput{JobName: aws.String("train"), JobQueue: &queue, ServiceJobType: types.ServiceJobTypeSagemakerTraining, ServiceRequestPayload: &payload}
	for _, f := range more {
		f(in)
	}
	return *must(w.t, w.submitServiceJob, in).JobId
}

// training describes a service job.
func (w *testAPI) training(id string) *awsbatch.DescribeServiceJobOutput {
	w.t.Helper()
	return must(w.t, w.describeServiceJob, &awsbatch.DescribeServiceJobInput{JobId: &id})
}

// endService terminates a service job.
func (w *testAPI) endService(id string) {
	w.t.Helper()
	must(w.t, w.terminateServiceJob, &awsbatch.TerminateServiceJobInput{JobId: &id, Reason: aws.String("enough")})
}

// TestServiceCapacity checks the limit of a service environment, fair shares and their priorities, and the operations
// that list and update jobs.
func TestServiceCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t)
		w.must("CreateJobQueue", `{"jobQueueName": "fair", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "schedulingPolicyArn": "`+*must(t, w.createSchedulingPolicy, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair")}).Arn+`",
			"serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`)
		named := func(name, share string, priority int32) func(*awsbatch.SubmitServiceJobInput) {
			return func(in *awsbatch.SubmitServiceJobInput) {
				in.JobName, in.ShareIdentifier, in.SchedulingPriority = &name, &share, &priority
			}
		}
		var ids []string
		hold := w.serve("sage", modeltest.Training(1, "1m"))
		w.must("UpdateServiceEnvironment", `{"serviceEnvironment": "training", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]}`)
		for i, name := range []string{"a1", "a2", "a3", "b1"} {
			ids = append(ids, w.serve("fair", modeltest.Training(1, "1m"), named(name, name[:1], int32(i))))
		}
		large := w.serve("sage", modeltest.Training(2, "1m"))
		w.Want(large, types.JobStatusRunnable, "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job queue "+
			"cannot meet the capacity requirement of the job: the job asks for 2 instances of ml.m5.large, the limit is 1")
		must(t, w.updateServiceJob, &awsbatch.UpdateServiceJobInput{JobId: &ids[0], SchedulingPriority: aws.Int32(9)})
		list := func(in awsbatch.ListServiceJobsInput) string {
			t.Helper()
			var names []string
			in.JobQueue = cmp.Or(in.JobQueue, aws.String("fair"))
			for more := true; more; more = in.NextToken != nil {
				page := must(t, w.listServiceJobs, &in)
				in.NextToken = page.NextToken
				for _, s := range page.JobSummaryList {
					names = append(names, *s.JobName)
				}
			}
			return strings.Join(names, " ")
		}
		filter := func(name, value string) []types.KeyValuesPair {
			return []types.KeyValuesPair{{Name: &name, Values: []string{value}}}
		}
		for _, c := range []struct {
			in   awsbatch.ListServiceJobsInput
			want string
		}{
			{awsbatch.ListServiceJobsInput{}, ""},
			{awsbatch.ListServiceJobsInput{JobQueue: aws.String("sage")}, "train"},
			{awsbatch.ListServiceJobsInput{JobStatus: types.ServiceJobStatusRunnable, MaxResults: aws.Int32(3)}, "b1 a3 a2 a1"},
			{awsbatch.ListServiceJobsInput{JobStatus: types.ServiceJobStatusScheduled}, ""},
			{awsbatch.ListServiceJobsInput{Filters: filter("JOB_NAME", "A*")}, "a3 a2 a1"},
			{awsbatch.ListServiceJobsInput{Filters: filter("SHARE_IDENTIFIER", "b")}, "b1"},
			{awsbatch.ListServiceJobsInput{Filters: filter("SHARE_IDENTIFIER", "b"), JobStatus: types.ServiceJobStatusFailed}, ""},
			{awsbatch.ListServiceJobsInput{Filters: filter("QUOTA_SHARE_NAME", "b")}, ""},
			{awsbatch.ListServiceJobsInput{Filters: filter("BEFORE_CREATED_AT", "1")}, ""},
			{awsbatch.ListServiceJobsInput{Filters: filter("AFTER_CREATED_AT", "1")}, "b1 a3 a2 a1"},
		} {
			if got := list(c.in); got != c.want {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
		w.endService(large)
		w.Idle()
		if n := w.Most; n != 1 {
			t.Errorf("%d ran at the same time", n)
		}
		w.Want(hold, types.JobStatusSucceeded, "Received status from SageMaker: Training job completed")
		var got []string
		for _, id := range w.IDs() {
			got = append(got, *w.training(id).JobName)
		}
		if want := "train a1 b1 a3 a2"; strings.Join(got, " ") != want {
			t.Errorf("started %v, want %s", got, want)
		}
		_, err := do(w.updateServiceJob, &awsbatch.UpdateServiceJobInput{JobId: &ids[0], SchedulingPriority: aws.Int32(1)})
		refused(t, err, "Service job "+ids[0]+" has ended; its priority cannot be changed.")
	})
}

// TestServiceTokens checks that the same request with the same client token is rejected, and others are not.
func TestServiceTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serving(t)
		with := func(token string) func(*awsbatch.SubmitServiceJobInput) {
			return func(in *awsbatch.SubmitServiceJobInput) { in.ClientToken = &token }
		}
		id := w.serve("sage", modeltest.Training(1), with("t"))
		in := &awsbatch.SubmitServiceJobInput{JobName: aws.String("train"), JobQueue: aws.String("sage"), ServiceJobType: types.ServiceJobTypeSagemakerTraining,
			ServiceRequestPayload: aws.String(modeltest.Training(1)), ClientToken: aws.String("t")}
		_, err := do(w.submitServiceJob, in)
		refused(t, err, "The same request with clientToken t was accepted as service job "+id+".")
		w.serve("sage", modeltest.Training(1), with("u"))
		w.serve("sage", modeltest.Training(2), with("t"))
		w.Idle()
		time.Sleep(9 * time.Hour)
		w.serve("sage", modeltest.Training(1), with("u"))
		w.Idle()
	})
}

// TestServiceRequestsAreChecked tries requests that AWS Batch rejects.
func TestServiceRequestsAreChecked(t *testing.T) {
	w := serving(t)
	const environment = `{"serviceEnvironmentName": "e", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [`
	const queue = `{"jobQueueName": "q", "priority": 1, `
	const share = `{"quotaShareName": "s", "jobQueue": "quotas", "preemptionConfiguration": {"inSharePreemption": "ENABLED"}, `
	const job = `{"jobName": "j", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "{}", `
	const quota = "arn:aws:batch:local:000000000000:scheduling-policy/quota"
	for _, c := range [][3]string{
		{"CreateServiceEnvironment", environment + `]}`, "Capacitylimits are required."},
		{"CreateServiceEnvironment", environment + `{"capacityUnit": "NUM_INSTANCES"}]}`, "Max capacity must be more than 0."},
		{"CreateServiceEnvironment", environment + `{"capacityUnit": "VCPU", "maxCapacity": 1}]}`, "VCPU is unknown capacity unit"},
		{"CreateServiceEnvironment", environment + `{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}, {"capacityUnit": "ml.m5.large", "maxCapacity": 1}]}`,
			"Capacity units must specify either number of instances OR instance type"},
		{"CreateServiceEnvironment", `{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]}`,
			"Object already exists: service environment training."},
		{"DeleteServiceEnvironment", `{"serviceEnvironment": "training"}`, "Cannot delete, service environment training must be DISABLED first."},
		{"UpdateServiceEnvironment", `{"serviceEnvironment": "training", "capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}]}`,
			"Service environment training is limited by instance types; only a job queue with quota shares can use it."},
		{"CreateJobQueue", queue + `"jobQueueType": "SAGEMAKER_TRAINING"}`, "Job queues of type SAGEMAKER_TRAINING must have serviceEnvironmentOrder."},
		{"CreateJobQueue", queue + `"serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`, "Only job queues of type SAGEMAKER_TRAINING can have serviceEnvironmentOrder."},
		{"CreateJobQueue", queue + `"jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}],
			"computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}]}`, "A job queue cannot have both serviceEnvironmentOrder and computeEnvironmentOrder."},
		{"CreateJobQueue", queue + `"jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}, {"order": 2, "serviceEnvironment": "typed"}]}`,
			"Job queue can only have 1 service environment."},
		{"CreateJobQueue", queue + `"computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}], "schedulingPolicyArn": "` + quota + `"}`,
			"Quota Management feature is only supported for SageMaker Training job queues."},
		{"CreateJobQueue", queue + `"jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}], "schedulingPolicyArn": "` + quota + `"}`,
			"Service environment training is limited by NUM_INSTANCES; a job queue with quota shares needs limits of instance types."},
		{"CreateJobQueue", queue + `"jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}],
			"jobStateTimeLimitActions": [{"state": "RUNNABLE", "action": "CANCEL", "reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", "maxTimeSeconds": 600}]}`,
			"Invalid job action. Valid job actions: [TERMINATE]"},
		{"UpdateJobQueue", `{"jobQueue": "sage", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}]}`,
			"A job queue cannot change between computeEnvironmentOrder and serviceEnvironmentOrder."},
		{"CreateSchedulingPolicy", `{"name": "both", "fairsharePolicy": {"shareDecaySeconds": 60}, "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}`,
			"A scheduling policy can have either fairsharePolicy or quotaSharePolicy"},
		{"UpdateSchedulingPolicy", `{"arn": "` + quota + `", "fairsharePolicy": {"shareDecaySeconds": 60}}`, "The type of scheduling policy quota cannot be changed."},
		{"CreateQuotaShare", share + `"capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}], "resourceSharingConfiguration": {"strategy": "LEND"}}`,
			"NUM_INSTANCES is unknown capacity unit"},
		{"CreateQuotaShare", share + `"capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}], "resourceSharingConfiguration": {"strategy": "LEND", "borrowLimit": 50}}`,
			"borrowLimit can only be used with the strategy LEND_AND_BORROW."},
		{"CreateQuotaShare", strings.Replace(share, "quotas", "sage", 1) + `"capacityLimits": [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}], "resourceSharingConfiguration": {"strategy": "LEND"}}`,
			"Job Queue sage has no scheduling policy with quotaSharePolicy."},
		{"DeleteQuotaShare", `{"quotaShareArn": "arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team"}`, "Cannot delete, quota share team must be DISABLED first."},
		{"SubmitServiceJob", job + `"jobQueue": "quotas"}`, "quotaShareName must be specified."},
		{"SubmitServiceJob", job + `"jobQueue": "quotas", "quotaShareName": "x"}`, "Quota share x does not exist."},
		{"SubmitServiceJob", job + `"jobQueue": "sage", "quotaShareName": "team"}`, "Job with quotaShareName can only be submitted to job queue with quota share scheduling policy."},
		{"SubmitServiceJob", job + `"jobQueue": "sage", "shareIdentifier": "a"}`, "Job with shareIdentifier can only be submitted to job queue with fair share scheduling policy."},
		{"SubmitServiceJob", job + `"jobQueue": "sage", "preemptionConfiguration": {"preemptionRetriesBeforeTermination": 1}}`, "preemptionConfiguration is only for jobs in a quota share."},
		{"SubmitServiceJob", job + `"jobQueue": "sage", "schedulingPriority": 10000}`, "Scheduling priority must be between 0 and 9999."},
		{"SubmitServiceJob", job + `"jobQueue": "sage", "retryStrategy": {"attempts": 11}}`, "RetryAttempts must be between 1 and 10."},
		{"SubmitServiceJob", `{"jobName": "j", "jobQueue": "sage", "serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": "[]"}`,
			"serviceRequestPayload is not a CreateTrainingJob request: json: cannot unmarshal array into Go value of type model.Training"},
		{"TerminateServiceJob", `{"jobId": "x", "reason": "r"}`, "Service job x does not exist."},
		{"DescribeServiceJob", `{"jobId": "x"}`, "Service job x does not exist."},
		{"ListServiceJobs", `{"jobQueue": "none"}`, "Job Queue none does not exist."},
		{"ListServiceJobs", `{"jobQueue": "sage", "filters": [{"name": "JOB_DEFINITION", "values": ["a"]}]}`,
			"Filter JOB_DEFINITION is not valid. Valid filters: [JOB_NAME, BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER, QUOTA_SHARE_NAME]"},
	} {
		_, _, err := w.send(c[0], c[1])
		refused(t, err, c[2])
	}
	w.must("CreateServiceEnvironment", environment+`{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}], "state": "DISABLED", "tags": {"a": "b"}}`)
	out, err := do(w.describeServiceEnvironments, &awsbatch.DescribeServiceEnvironmentsInput{MaxResults: aws.Int32(2)})
	if err != nil || len(out.ServiceEnvironments) != 2 || out.NextToken == nil || out.ServiceEnvironments[0].Tags["a"] != "b" || out.ServiceEnvironments[0].Status != types.ServiceEnvironmentStatusValid {
		t.Errorf("%+v, %v", out, err)
	}
	w.must("DeleteServiceEnvironment", `{"serviceEnvironment": "e"}`)
	queues, err := do(w.describeJobQueues, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"sage"}})
	if q := queues.JobQueues[0]; err != nil || q.JobQueueType != types.JobQueueTypeSagemakerTraining || len(q.ComputeEnvironmentOrder) != 0 ||
		*q.ServiceEnvironmentOrder[0].ServiceEnvironment != "arn:aws:batch:local:000000000000:service-environment/training" || *q.ServiceEnvironmentOrder[0].Order != 1 {
		t.Errorf("%+v, %v", q, err)
	}
	w.must("UpdateServiceEnvironment", `{"serviceEnvironment": "training", "state": "DISABLED"}`)
	_, _, err = w.send("DeleteServiceEnvironment", `{"serviceEnvironment": "training"}`)
	refused(t, err, "Cannot delete, found existing JobQueue relationship")
	tags, err := do(w.listTagsForResource, &awsbatch.ListTagsForResourceInput{ResourceArn: aws.String("arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team")})
	if err != nil || len(tags.Tags) != 0 {
		t.Errorf("%+v, %v", tags, err)
	}
	if !slices.Contains(types.ServiceJobStatus("").Values(), types.ServiceJobStatusScheduled) {
		t.Error("the SDK no longer has SCHEDULED")
	}
}
