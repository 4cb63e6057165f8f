package batch

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// HasEnded reports whether a job in this state never changes again: it SUCCEEDED or FAILED.
func HasEnded(state types.JobStatus) bool {
	return state == types.JobStatusSucceeded || state == types.JobStatusFailed
}

// ArraySize returns how many children a job has; 0 for a job that is not an array, and for a child.
func ArraySize(job types.JobDetail) int {
	if a := job.ArrayProperties; a != nil && a.Index == nil {
		return int(aws.ToInt32(a.Size))
	}
	return 0
}

// IsChild reports whether a listed job is the child of an array. Some servers list children
// together with their array, and not all of those return the index.
func IsChild(job types.JobSummary) bool {
	_, _, isChild := SplitChildID(aws.ToString(job.JobId))
	return isChild || job.ArrayProperties != nil && job.ArrayProperties.Index != nil
}

// EndedChildren returns how many children of an array have ended.
func EndedChildren(array types.JobDetail) int {
	if array.ArrayProperties == nil {
		return 0
	}
	n := array.ArrayProperties.StatusSummary
	return int(n[string(types.JobStatusSucceeded)] + n[string(types.JobStatusFailed)])
}

// IsArray reports whether a job is an array, and not one of its children.
func IsArray(job types.JobDetail) bool {
	return job.ArrayProperties != nil && job.ArrayProperties.Index == nil
}
