package client

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// QueueSnapshot returns how much a queue's jobs use, and which of them are next.
func (c *Client) QueueSnapshot(ctx context.Context, queue string) (*awsbatch.GetJobQueueSnapshotOutput, error) {
	out, err := c.API.GetJobQueueSnapshot(ctx, &awsbatch.GetJobQueueSnapshotInput{JobQueue: &queue})
	if err != nil {
		return nil, Failed("get the snapshot of job queue "+queue, err)
	}
	return out, nil
}

// QueueLook is what a queue holds at one moment, as far as six calls can tell.
type QueueLook struct {
	// Jobs are those that have not ended, the furthest in their life first. Of
	// each status it is the first page, on AWS 1,000 jobs.
	Jobs []types.JobSummary
	// More are the statuses of which the queue has more jobs.
	More []types.JobStatus
	// Snapshot is nil when the service does not give one: SnapshotErr says why.
	Snapshot    *awsbatch.GetJobQueueSnapshotOutput
	SnapshotErr error
}

// Look looks at a queue with one call a status and one for its snapshot, however
// many jobs it holds. Not every role may see a snapshot, and not every endpoint
// that speaks Batch has one: its refusal leaves the jobs.
func (c *Client) Look(ctx context.Context, queue string) (*QueueLook, error) {
	look := &QueueLook{}
	place := map[string]int{}
	for _, status := range NotEnded { // in this order a job that moves on is not missed
		page, err := c.API.ListJobs(ctx, &awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: status})
		if err != nil {
			return nil, Failed("list jobs", err)
		}
		for _, job := range page.JobSummaryList {
			id := aws.ToString(job.JobId)
			job.JobName = displayed(job.JobName)
			if i, again := place[id]; again {
				look.Jobs[i] = job // it moved on between two calls
				continue
			}
			place[id] = len(look.Jobs)
			look.Jobs = append(look.Jobs, job)
		}
		if page.NextToken != nil {
			look.More = append(look.More, status)
		}
	}
	slices.SortStableFunc(look.Jobs, func(a, b types.JobSummary) int {
		return slices.Index(NotEnded, b.Status) - slices.Index(NotEnded, a.Status)
	})
	var err error
	if look.Snapshot, err = c.QueueSnapshot(ctx, queue); err != nil && !SnapshotDenied(err) {
		return nil, err
	}
	look.SnapshotErr = err
	return look, nil
}

// SnapshotDenied tells a service that gives this caller no snapshot from one that
// is busy or not there.
func SnapshotDenied(err error) bool {
	if _, gone := errors.AsType[*UnreachableError](err); gone {
		return false
	}
	return !Throttled(err) && status(err)/100 >= 4
}
