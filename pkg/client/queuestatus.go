package client

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// QueueStatus is the content of a queue at one time. It comes from six calls, so it may be incomplete.
type QueueStatus struct {
	// Jobs are the unfinished jobs, the furthest in their life first. It has the first page of each
	// status, on AWS 1,000 jobs.
	Jobs []types.JobSummary
	// More are the statuses in which the queue has more jobs.
	More []types.JobStatus
	// Snapshot is nil if the service does not return one; SnapshotErr then has the cause.
	Snapshot    *awsbatch.GetJobQueueSnapshotOutput
	SnapshotErr error
}

// QueueStatus reads a queue with one call per status and one for its snapshot, however many jobs
// it has. A role may not be allowed to read a snapshot, and a server may not have one. Then
// QueueStatus returns only the jobs.
func (j *Jobs) QueueStatus(ctx context.Context, queue string) (*QueueStatus, error) {
	state := &QueueStatus{}
	index := map[string]int{}
	for _, status := range NotEnded { // in this order a job that changes its status is not missed
		page, err := j.api.ListJobs(ctx, &awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: status})
		if err != nil {
			return nil, Failed("list jobs", err)
		}
		for _, job := range page.JobSummaryList {
			id := aws.ToString(job.JobId)
			job.JobName = displayed(job.JobName)
			if i, again := index[id]; again {
				state.Jobs[i] = job // its status changed between two calls
				continue
			}
			index[id] = len(state.Jobs)
			state.Jobs = append(state.Jobs, job)
		}
		if page.NextToken != nil {
			state.More = append(state.More, status)
		}
	}
	slices.SortStableFunc(state.Jobs, func(a, b types.JobSummary) int {
		return slices.Index(NotEnded, b.Status) - slices.Index(NotEnded, a.Status)
	})
	var err error
	if state.Snapshot, err = j.queues.QueueSnapshot(ctx, queue); err != nil && !SnapshotDenied(err) {
		return nil, err
	}
	state.SnapshotErr = err
	return state, nil
}

// SnapshotDenied reports whether the service denies a snapshot to this caller, rather than being
// busy or unreachable.
func SnapshotDenied(err error) bool {
	if _, unreachable := errors.AsType[*UnreachableError](err); unreachable {
		return false
	}
	return !Throttled(err) && status(err)/100 >= 4
}
