package session

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestListedReason(t *testing.T) {
	const common = "Essential container in task exited"
	job := func(status types.JobStatus, reason string, exit int32, container string) types.JobSummary {
		s := types.JobSummary{Status: status, StatusReason: &reason}
		if exit >= 0 {
			s.Container = &types.ContainerSummary{ExitCode: &exit}
		}
		if container != "" {
			s.Container = &types.ContainerSummary{ExitCode: &exit, Reason: &container}
		}
		return s
	}
	array := func(status types.JobStatus, reason string, failed int32) types.JobSummary {
		return types.JobSummary{Status: status, StatusReason: &reason, ArrayProperties: &types.ArrayPropertiesSummary{Size: aws.Int32(10),
			StatusSummary: map[string]int32{"FAILED": failed, "SUCCEEDED": 10 - failed}}}
	}
	neverRan := job("FAILED", "Task failed to start", -1, "")
	neverRan.Container = &types.ContainerSummary{Reason: aws.String("CannotPullContainerError: no such image")}
	for _, c := range []struct {
		job  types.JobSummary
		want string
	}{
		{job("SUCCEEDED", common, 0, ""), ""},
		{job("FAILED", common, 1, ""), "exit code 1"},
		{job("FAILED", common, 0, ""), "exit code 0"},
		{job("FAILED", common, 137, "OutOfMemoryError: Container killed due to memory usage"), "exit code 137, OutOfMemoryError: Container killed due to memory usage"},
		{neverRan, "Task failed to start, CannotPullContainerError: no such image"},
		{job("FAILED", common, -1, ""), common},
		{job("FAILED", "Job attempt duration exceeded timeout", 143, ""), "Job attempt duration exceeded timeout, exit code 143"},
		{job("FAILED", "stopped with batchctl stop", -1, ""), "stopped with batchctl stop"},
		{job("FAILED", "Dependent Job failed", -1, ""), "Dependent Job failed"},
		{job("RUNNABLE", "CAPACITY: no instance", -1, ""), "CAPACITY: no instance"},
		{job("RUNNABLE", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met by the CE(s) attached to the job queue: the job asks for 8 vCPUs, this machine has 2", -1, ""), "the job asks for 8 vCPUs, this machine has 2"},
		{job("RUNNING", "", -1, ""), ""},
		{array("FAILED", "Array Child Job failed", 3), "3 of 10 failed"},
		{array("FAILED", "Dependent Job failed", 10), "Dependent Job failed, 10 of 10 failed"},
		{array("SUCCEEDED", "", 0), ""},
		{array("PENDING", "", 2), "10 of 10 ended SUCCEEDED:8 FAILED:2"},
		{job("FAILED", LedgerNote("AWS Batch")+", "+common, 3, ""), "from the ledger: AWS Batch no longer has it, exit code 3"},
		{job("SUCCEEDED", LedgerNote("the local engine")+", "+common, 0, ""), "from the ledger: the local engine no longer has it"},
	} {
		if got := ListedReason(c.job); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.job.Status, aws.ToString(c.job.StatusReason), got, c.want)
		}
	}
}
