//go:build unix

package local

import (
	"os/exec"
	"testing"
)

// serviceWithCLI is the tutorial of AWS's guide ("Getting started with AWS Batch on SageMaker AI") with the AWS CLI,
// then every other operation with boto3.
const serviceWithCLI = `
set -e
aws batch create-service-environment --service-environment-name e --service-environment-type SAGEMAKER_TRAINING --capacity-limits capacityUnit=NUM_INSTANCES,maxCapacity=5 >/dev/null
aws batch create-job-queue --job-queue-name q --job-queue-type SAGEMAKER_TRAINING --priority 1 --service-environment-order order=1,serviceEnvironment=e >/dev/null
id=$(aws batch submit-service-job --job-queue q --job-name j --service-job-type SAGEMAKER_TRAINING --retry-strategy attempts=1 --timeout-config attemptDurationSeconds=60 \
  --service-request-payload '{"TrainingJobName": "t", "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 9}}' --query jobId --output text)
aws batch describe-service-job --job-id $id --query '[status, capacityUsage[0].quantity]' --output text
aws batch terminate-service-job --job-id $id --reason enough
aws batch list-service-jobs --job-queue q --job-status FAILED --query 'jobSummaryList[].[jobName, statusReason]' --output text
`

const serviceWithBoto3 = `
import boto3
batch = boto3.client("batch")
policy = batch.create_scheduling_policy(name="quota", quotaSharePolicy={"idleResourceAssignmentStrategy": "FIFO"})["arn"]
limits = [{"capacityUnit": "ml.m5.large", "maxCapacity": 1}]
batch.create_service_environment(serviceEnvironmentName="typed", serviceEnvironmentType="SAGEMAKER_TRAINING", capacityLimits=limits)
batch.create_job_queue(jobQueueName="quotas", priority=1, jobQueueType="SAGEMAKER_TRAINING", schedulingPolicyArn=policy,
    serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": "typed"}])
share = batch.create_quota_share(quotaShareName="team", jobQueue="quotas", capacityLimits=limits, tags={"a": "b"},
    resourceSharingConfiguration={"strategy": "LEND"}, preemptionConfiguration={"inSharePreemption": "ENABLED"})["quotaShareArn"]
print(share, [s["quotaShareName"] for s in batch.list_quota_shares(jobQueue="quotas")["quotaShares"]])
job = batch.submit_service_job(jobName="j", jobQueue="quotas", serviceJobType="SAGEMAKER_TRAINING", quotaShareName="team", schedulingPriority=1,
    serviceRequestPayload='{"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 2}}')["jobId"]
print(batch.update_service_job(jobId=job, schedulingPriority=7)["jobName"], batch.describe_service_job(jobId=job)["schedulingPriority"])
print(len(batch.get_job_queue_snapshot(jobQueue="quotas")["frontOfQuotaShares"]["quotaShares"]["team"]))
print(len([j for page in batch.get_paginator("list_service_jobs").paginate(jobQueue="quotas", filters=[{"name": "QUOTA_SHARE_NAME", "values": ["team"]}]) for j in page["jobSummaryList"]]))
batch.update_quota_share(quotaShareArn=share, state="DISABLED")
print(batch.describe_quota_share(quotaShareArn=share)["state"], batch.describe_quota_share(quotaShareArn=share)["tags"])
batch.delete_quota_share(quotaShareArn=share)
print(batch.describe_service_job(jobId=job)["statusReason"])
batch.update_job_queue(jobQueue="quotas", state="DISABLED")
batch.delete_job_queue(jobQueue="quotas")
batch.update_service_environment(serviceEnvironment="typed", state="DISABLED")
print(batch.describe_service_environments(serviceEnvironments=["typed"])["serviceEnvironments"][0]["state"])
batch.delete_service_environment(serviceEnvironment="typed")
`

// TestServiceClients drives the operations for service jobs with other clients than the SDK for Go.
func TestServiceClients(t *testing.T) {
	for _, c := range []struct {
		name string
		need []string
		run  []string
		want string
	}{
		{"aws", []string{"aws", "batch", "submit-service-job", "help"}, []string{"sh", "-c", serviceWithCLI}, "RUNNABLE\t9.0\nj\tenough\n"},
		{"boto3", []string{"python3", "-c", `import boto3; boto3.client("batch", region_name="a").create_quota_share`}, []string{"python3", "-c", serviceWithBoto3},
			"arn:aws:batch:local:000000000000:job-queue/quotas/quota-share/team ['team']\nj 7\n1\n1\nDISABLED {'a': 'b'}\nQuota share team was deleted\nDISABLED\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool(t, c.need[0], c.need[1:]...)
			_, connection, _ := served(t)
			cmd := exec.Command(c.run[0], c.run[1:]...)
			cmd.Env = toolEnvironment(t, connection)
			text, err := cmd.CombinedOutput()
			if err != nil || string(text) != c.want {
				t.Errorf("%v:\n%s\nwant\n%s", err, text, c.want)
			}
		})
	}
}
