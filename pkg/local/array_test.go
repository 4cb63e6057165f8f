package local

import (
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// largest begins the status reason of a job that needs more than the machine has.
const largest = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "

func array(size int32) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: &size} }
}

func depends(id string, kind types.ArrayJobDependency) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) {
		var named *string
		if id != "" {
			named = &id
		}
		in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: named, Type: kind})
	}
}
