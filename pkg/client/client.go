// Package client calls AWS Batch for a user: it lists, watches and stops jobs, and reads logs. The
// cloud and the local engine use the same code; only the aws.Config differs.
package client

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Client talks to AWS Batch, or to a server with its API.
type Client struct {
	// Memory is asked first for ids and names, and for jobs that the service has forgotten. It may
	// be nil.
	Memory Memory
	// PollAtMost limits the pause between two polls of a job. 0 means 5 s, which saves an account's
	// request quota.
	PollAtMost time.Duration
	// Patience limits how long a watch waits for a service that has answered before and no longer
	// does. 0 means 5 minutes.
	Patience time.Duration
	// LogsAtOnce means that a job's log is complete when the job has ended, as in the local engine.
	// Elsewhere the client also reads what arrives in the seconds after that.
	LogsAtOnce bool
	// Warn receives the problems that a watch survives: throttling, a failing service, reloaded
	// credentials. Each is reported once per watch. It may be called concurrently and may be nil.
	Warn func(error)

	API  *awsbatch.Client
	logs *rpc.Client
	Rate *RateLimit
}

// Memory has local records of jobs, besides the service: a ledger.
type Memory interface {
	// Jobs returns the jobs that were submitted to the client's target, oldest first.
	Jobs() ([]Known, error)
	// Children returns the size of an array job; 0 if the memory does not have it.
	Children(id string) (int, error)
}

// Known is a job in a Memory, or one that the service lists.
type Known struct {
	ID, Name  string
	Submitted time.Time
	// Submission is the job's submission id. Run is the id of the submission that the job belongs
	// to, and Workflow its name; it is "" for a single job. They are "" if they are unknown.
	Submission, Run, Workflow string
	// Queue is a name or an ARN, Status that in a listing; "" if they are unknown.
	Queue  string
	Status types.JobStatus
}

// New returns a client for the account, Region or engine of cfg.
func New(cfg aws.Config) *Client {
	c := &Client{logs: rpc.New(cfg)}
	c.API = awsbatch.NewFromConfig(cfg, func(o *awsbatch.Options) {
		c.Rate = NewRateLimit(aws.ToString(o.BaseEndpoint))
		o.APIOptions = append(slices.Clip(o.APIOptions), c.Rate.middleware, rpc.Within(AttemptTimeout), onward)
		o.HTTPClient = bounded{o.HTTPClient}
	})
	return c
}

// describeLimit is how many ids DescribeJobs accepts.
const describeLimit = 100

// Describe returns the jobs in the order of the ids. A *MissingError names the ids that the service
// does not have; it comes together with the other jobs.
func (c *Client) Describe(ctx context.Context, ids ...string) ([]types.JobDetail, error) {
	jobs, err := c.ByID(ctx, ids)
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

// ByID returns the jobs that the service has, by id, with the names that users gave them.
func (c *Client) ByID(ctx context.Context, ids []string) (map[string]types.JobDetail, error) {
	jobs := make(map[string]types.JobDetail, len(ids))
	for some := range slices.Chunk(ids, describeLimit) {
		out, err := c.API.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: some})
		if err != nil {
			return nil, Failed("describe jobs", err)
		}
		for _, job := range out.Jobs {
			job.JobName = displayed(job.JobName)
			jobs[aws.ToString(job.JobId)] = job
		}
	}
	return jobs, nil
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
