// Package client is the user's side of AWS Batch: submit, watch, logs, stop. It
// drives the cloud and the local engine alike; only the aws.Config differs.
package client

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// Client talks to whatever speaks AWS Batch.
type Client struct {
	// Ledger is told of every accepted job and asked first for ids and names.
	// It may be nil.
	Ledger *Ledger
	// PollAtMost bounds the pause between two looks at a job; 0 stands for 5 s,
	// which is kind to an account's request quota.
	PollAtMost time.Duration
	// LogsAtOnce says that a job's log is complete when the job has ended, as the
	// local engine's is. Elsewhere what comes in the seconds after it is read too.
	LogsAtOnce bool
	// Trouble is told what a watch lives through: that it is throttled, that the
	// service fails, that credentials had to be loaded anew; each once a watch. It
	// is called by several goroutines and may be nil.
	Trouble func(error)

	batch *batch.Client
	logs  *cloudwatchlogs.Client
}

// New returns a client for the account, Region or engine that cfg leads to.
func New(cfg aws.Config) *Client {
	return &Client{batch: batch.NewFromConfig(cfg), logs: cloudwatchlogs.NewFromConfig(cfg)}
}

// describeLimit is the most ids that one DescribeJobs takes.
const describeLimit = 100

// Describe returns the jobs in the order of the ids. Ids that the service does
// not know are named by a *MissingError, which comes together with the jobs
// that it does know.
func (c *Client) Describe(ctx context.Context, ids ...string) ([]types.JobDetail, error) {
	jobs, err := c.describe(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []types.JobDetail
	var missing []string
	for _, id := range ids {
		if job, ok := jobs[id]; ok {
			found = append(found, job)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return found, &MissingError{missing}
	}
	return found, nil
}

// describe returns the jobs that the service knows, by id.
func (c *Client) describe(ctx context.Context, ids []string) (map[string]types.JobDetail, error) {
	jobs := make(map[string]types.JobDetail, len(ids))
	for some := range slices.Chunk(ids, describeLimit) {
		out, err := c.batch.DescribeJobs(ctx, &batch.DescribeJobsInput{Jobs: some})
		if err != nil {
			return nil, failure("describe jobs", err)
		}
		for _, job := range out.Jobs {
			jobs[aws.ToString(job.JobId)] = job
		}
	}
	return jobs, nil
}

// Ended reports whether a job in this status will never change again.
func Ended(s types.JobStatus) bool {
	return s == types.JobStatusSucceeded || s == types.JobStatusFailed
}

// isArrayParent tells an array job from its children, which have an index.
func isArrayParent(job types.JobDetail) bool {
	return job.ArrayProperties != nil && job.ArrayProperties.Index == nil
}

// sleep waits for d, or less when ctx ends; then it returns the reason.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// collect drains a sequence up to its first error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}
