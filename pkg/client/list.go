package client

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// List yields the jobs with the names that users gave them, each once. It goes through queues, and
// through statuses in the order of a job's life, so that it does not miss a job whose status
// changes meanwhile. ListJobs itself accepts one filter and one status, and shows only RUNNING jobs
// without one.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		for job, err := range c.Each(ctx, f) {
			job.JobName = displayed(job.JobName)
			if !yield(job, err) {
				return
			}
		}
	}
}

// Each is List with the names that the jobs have in the service.
func (c *Client) Each(ctx context.Context, f Filter) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		inputs, err := c.listInputs(ctx, f)
		if err != nil {
			yield(types.JobSummary{}, err)
			return
		}
		seen := map[string]bool{}
		for _, in := range inputs {
			for job, err := range c.EachPage(ctx, in) {
				if err != nil {
					yield(types.JobSummary{}, err)
					return
				}
				id := aws.ToString(job.JobId)
				if seen[id] || !f.matches(job) {
					continue
				}
				seen[id] = true
				if !yield(job, nil) {
					return
				}
			}
		}
	}
}

// listInputs returns the calls that together cover the filter.
func (c *Client) listInputs(ctx context.Context, f Filter) (inputs []awsbatch.ListJobsInput, err error) {
	if f.ArrayOf != "" {
		for _, s := range f.statuses() {
			inputs = append(inputs, awsbatch.ListJobsInput{ArrayJobId: &f.ArrayOf, JobStatus: s})
		}
		return inputs, nil
	}
	queues := f.Queues
	if len(queues) == 0 {
		if queues, err = c.queueNames(ctx); err != nil {
			return nil, err
		}
	}
	for _, q := range queues {
		inputs = append(inputs, f.inputs(q)...)
	}
	return inputs, nil
}

// EachPage yields the jobs of one ListJobs request, page by page.
func (c *Client) EachPage(ctx context.Context, in awsbatch.ListJobsInput) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		pages := awsbatch.NewListJobsPaginator(c.API, &in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.JobSummary{}, Failed("list jobs", err))
				return
			}
			for _, job := range page.JobSummaryList {
				if !yield(job, nil) {
					return
				}
			}
		}
	}
}

// Queues returns all job queues.
func (c *Client) Queues(ctx context.Context) ([]types.JobQueueDetail, error) {
	var queues []types.JobQueueDetail
	pages := awsbatch.NewDescribeJobQueuesPaginator(c.API, &awsbatch.DescribeJobQueuesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Failed("describe job queues", err)
		}
		queues = append(queues, page.JobQueues...)
	}
	return queues, nil
}

// queueNames returns the names of all queues.
func (c *Client) queueNames(ctx context.Context) ([]string, error) {
	queues, err := c.Queues(ctx)
	var names []string
	for _, q := range queues {
		names = append(names, aws.ToString(q.JobQueueName))
	}
	return names, err
}

// CreateQueue creates a FIFO job queue of priority 1 on one compute environment.
func (c *Client) CreateQueue(ctx context.Context, name, environment string) error {
	_, err := c.API.CreateJobQueue(ctx, &awsbatch.CreateJobQueueInput{
		JobQueueName: &name,
		Priority:     aws.Int32(1),
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{
			{Order: aws.Int32(1), ComputeEnvironment: &environment},
		},
	})
	if err != nil {
		return Failed("create job queue "+name, err)
	}
	return nil
}

// NotEnded are the statuses of jobs that have not ended, in the order of a job's life.
var NotEnded = []types.JobStatus{types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable, types.JobStatusStarting, types.JobStatusRunning}

// Depth counts the unfinished jobs of a queue by status; for an array it counts the children.
func (c *Client) Depth(ctx context.Context, queue string) (map[types.JobStatus]int, error) {
	depth := map[types.JobStatus]int{}
	var arrays []string
	seen := map[string]types.JobStatus{} // a job whose status changes meanwhile is listed again, with the later one
	for _, status := range NotEnded {
		for job, err := range c.EachPage(ctx, awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: status}) {
			if err != nil {
				return nil, err
			}
			id := aws.ToString(job.JobId)
			before, again := seen[id]
			seen[id] = status
			if job.ArrayProperties != nil && aws.ToInt32(job.ArrayProperties.Size) > 0 {
				if !again {
					arrays = append(arrays, id)
				}
				continue
			}
			if again {
				depth[before]--
			}
			depth[status]++
		}
	}
	if len(arrays) == 0 {
		return depth, nil
	}
	details, err := c.Describe(ctx, arrays...)
	if err != nil {
		return nil, err
	}
	for _, d := range details {
		for _, status := range NotEnded {
			depth[status] += int(d.ArrayProperties.StatusSummary[string(status)])
		}
	}
	return depth, nil
}

// Environments returns the compute environments with the given names or ARNs, or all if none are
// given.
func (c *Client) Environments(ctx context.Context, names ...string) ([]types.ComputeEnvironmentDetail, error) {
	var all []types.ComputeEnvironmentDetail
	pages := awsbatch.NewDescribeComputeEnvironmentsPaginator(c.API, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: names})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Failed("describe compute environments", err)
		}
		all = append(all, page.ComputeEnvironments...)
	}
	return all, nil
}
