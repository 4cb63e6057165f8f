package modeltest

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Edit changes the request of a job.
type Edit = func(*awsbatch.SubmitJobInput)

// Words sets the command of a job; see Engine.
func Words(command ...string) Edit {
	return func(in *awsbatch.SubmitJobInput) { in.ContainerOverrides = &types.ContainerOverrides{Command: command} }
}

// After makes a job depend on others.
func After(ids ...string) Edit {
	return func(in *awsbatch.SubmitJobInput) {
		for _, id := range ids {
			in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: &id})
		}
	}
}

// Depends makes a job depend on another one, or with an empty id on none.
func Depends(id string, kind types.ArrayJobDependency) Edit {
	return func(in *awsbatch.SubmitJobInput) {
		var named *string
		if id != "" {
			named = &id
		}
		in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: named, Type: kind})
	}
}

// Array makes a job an array.
func Array(size int32) Edit {
	return func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: &size} }
}

// Attempts sets the retry strategy of a job.
func Attempts(n int32, rules ...types.EvaluateOnExit) Edit {
	return func(in *awsbatch.SubmitJobInput) {
		in.RetryStrategy = &types.RetryStrategy{Attempts: &n, EvaluateOnExit: rules}
	}
}

// Timeout sets the timeout of a job.
func Timeout(seconds int32) Edit {
	return func(in *awsbatch.SubmitJobInput) { in.Timeout = &types.JobTimeout{AttemptDurationSeconds: &seconds} }
}

// To sets the queue of a job.
func To(queue string) Edit {
	return func(in *awsbatch.SubmitJobInput) { in.JobQueue = &queue }
}

// In puts a job into a share of the queue shared, and names it SHARE-PRIORITY.
func In(share string, priority int32) Edit {
	return func(in *awsbatch.SubmitJobInput) {
		in.JobQueue, in.ShareIdentifier, in.SchedulingPriorityOverride = aws.String("shared"), &share, &priority
		in.JobName = aws.String(fmt.Sprintf("%s-%d", share, priority))
	}
}

// Largest begins the status reason of a job that needs more than the machine has.
const Largest = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "

// Asks returns a list of a quantity of each consumable resource.
func Asks(quantity int64, names ...string) *types.ConsumableResourceProperties {
	p := &types.ConsumableResourceProperties{}
	for _, name := range names {
		p.ConsumableResourceList = append(p.ConsumableResourceList,
			types.ConsumableResourceRequirement{ConsumableResource: &name, Quantity: &quantity})
	}
	return p
}

// Consuming makes a job ask for consumable resources.
func Consuming(quantity int64, names ...string) Edit {
	return func(in *awsbatch.SubmitJobInput) { in.ConsumableResourcePropertiesOverride = Asks(quantity, names...) }
}
