// Package client is the user's side of AWS Batch: submit, watch, logs, stop. It
// drives the cloud and the local engine alike; only the aws.Config differs.
package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Client talks to whatever speaks AWS Batch.
type Client struct {
	// Ledger is told of every accepted job and asked first for ids and names.
	// It may be nil.
	Ledger *Ledger
	// PollAtMost bounds the pause between two looks at a job; 0 stands for 5 s,
	// which is kind to an account's request quota.
	PollAtMost time.Duration
	// Patience bounds how long a watch waits for a service that has answered before and does not
	// answer now; 0 stands for 5 minutes.
	Patience time.Duration
	// LogsAtOnce says that a job's log is complete when the job has ended, as the
	// local engine's is. Elsewhere what comes in the seconds after it is read too.
	LogsAtOnce bool
	// Trouble is told what a watch lives through: that it is throttled, that the
	// service fails, that credentials had to be loaded anew; each once a watch. It
	// is called by several goroutines and may be nil.
	Trouble func(error)
	// Settle is how long a job that may have been accepted is looked for; 0 stands
	// for DefaultSettle.
	Settle time.Duration
	// TakesOnce says that the service knows a SubmitJob again by its
	// Amz-Sdk-Invocation-Id, as the local engine does, and makes no second job of
	// it. Then jobs keep their users' own names.
	TakesOnce bool
	// Replayable says that something between this process and the service can deliver a
	// request twice, see CanReplay. Then jobs are checked for duplicates even after clear answers.
	Replayable bool
	// LeaveLook has Submit and SubmitNow return without waiting for the last look for
	// duplicates. The caller makes it with CheckDuplicates, where OpenRun.Unchecked is not 0.
	LeaveLook bool
	// Attached says that the jobs are to end with this process, so that nothing is
	// left to resume after it.
	Attached bool
	// SubmitAgain has Resume submit jobs again that the service may have forgotten.
	SubmitAgain bool
	// AtOnce is how many jobs may be on their way to the service together; 0 stands
	// for 32.
	AtOnce int
	// StopOnFailure has a submission that is refused in its middle stop what was
	// accepted and give up the rest, in place of leaving the run open for Resume.
	StopOnFailure bool
	// Stage puts a text at its place, an s3:// URL or the absolute path of a file, before
	// the first job that needs it is submitted (plan.Job.Staged). It may be called again
	// for the same, and concurrently for others; nil refuses plans that need it.
	Stage func(ctx context.Context, url, text string) error
	// Accepted is told of each job when it has an id, or is not needed, while Submit or
	// Resume goes on. It may be nil, and may be called concurrently.
	Accepted func(Submitted)
	// Tell is told what a submission meets on its way that its user should know, in
	// one clause. It may be nil, and may be called concurrently.
	Tell func(text string)

	batch *awsbatch.Client
	logs  *rpc.Client
	rate  *rateLimit
}

// New returns a client for the account, Region or engine that cfg leads to.
func New(cfg aws.Config) *Client {
	c := &Client{logs: rpc.New(cfg)}
	c.batch = awsbatch.NewFromConfig(cfg, func(o *awsbatch.Options) {
		c.rate = newRateLimit(aws.ToString(o.BaseEndpoint))
		o.APIOptions = append(slices.Clip(o.APIOptions), c.rate.middleware, inTime, onward)
		o.HTTPClient = bounded{o.HTTPClient}
	})
	return c
}

func (c *Client) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
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

// describe returns the jobs that the service knows, by id, under their users' own
// names.
func (c *Client) describe(ctx context.Context, ids []string) (map[string]types.JobDetail, error) {
	jobs := make(map[string]types.JobDetail, len(ids))
	for some := range slices.Chunk(ids, describeLimit) {
		out, err := c.batch.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: some})
		if err != nil {
			return nil, failure("describe jobs", err)
		}
		for _, job := range out.Jobs {
			job.JobName = displayed(job.JobName)
			jobs[aws.ToString(job.JobId)] = job
		}
	}
	return jobs, nil
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
