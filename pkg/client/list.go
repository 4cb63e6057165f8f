package client

import (
	"context"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// List yields the jobs with the names that users gave them, each once. It goes through queues, and
// through statuses in the order of a job's life, so that it does not miss a job whose status
// changes meanwhile. ListJobs itself accepts one filter and one status, and shows only RUNNING jobs
// without one.
func (j *Jobs) List(ctx context.Context, f Filter) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		for job, err := range j.Each(ctx, f) {
			job.JobName = displayed(job.JobName)
			if !yield(job, err) {
				return
			}
		}
	}
}

// Each is List with the names that the jobs have in the service.
func (j *Jobs) Each(ctx context.Context, f Filter) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		inputs, err := j.listInputs(ctx, f)
		if err != nil {
			yield(types.JobSummary{}, err)
			return
		}
		seen := map[string]bool{}
		for _, in := range inputs {
			for job, err := range j.EachPage(ctx, in) {
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
func (j *Jobs) listInputs(ctx context.Context, f Filter) (inputs []awsbatch.ListJobsInput, err error) {
	if f.ArrayOf != "" {
		for _, s := range f.statuses() {
			inputs = append(inputs, awsbatch.ListJobsInput{ArrayJobId: &f.ArrayOf, JobStatus: s})
		}
		return inputs, nil
	}
	queues := f.Queues
	if len(queues) == 0 {
		if queues, err = j.queues.names(ctx); err != nil {
			return nil, err
		}
	}
	for _, q := range queues {
		inputs = append(inputs, f.inputs(q)...)
	}
	return inputs, nil
}

// EachPage yields the jobs of one ListJobs request, page by page.
func (j *Jobs) EachPage(ctx context.Context, in awsbatch.ListJobsInput) iter.Seq2[types.JobSummary, error] {
	return func(yield func(types.JobSummary, error) bool) {
		pages := awsbatch.NewListJobsPaginator(j.api, &in)
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

// NotEnded are the statuses of jobs that have not ended, in the order of a job's life.
var NotEnded = []types.JobStatus{types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable,
	types.JobStatusStarting, types.JobStatusRunning}

// Depth counts the unfinished jobs of a queue by status; for an array it counts the children.
func (j *Jobs) Depth(ctx context.Context, queue string) (map[types.JobStatus]int, error) {
	depth := map[types.JobStatus]int{}
	var arrays []string
	seen := map[string]types.JobStatus{} // a job whose status changes meanwhile is listed again, with the later one
	for _, status := range NotEnded {
		for job, err := range j.EachPage(ctx, awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: status}) {
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
	details, err := j.Describe(ctx, arrays...)
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

// FailedChildren returns the ids of an array's FAILED children, by index. It calls ListJobs once
// per thousand.
func (j *Jobs) FailedChildren(ctx context.Context, array string) ([]string, error) {
	var indexes []int
	err := j.polling.patiently(ctx, func() error {
		indexes = nil
		for job, err := range j.List(ctx, Filter{ArrayOf: array, Statuses: []types.JobStatus{types.JobStatusFailed}}) {
			if err != nil {
				return err
			}
			// Some servers do not filter exactly.
			if job.ArrayProperties != nil && job.ArrayProperties.Index != nil && job.Status == types.JobStatusFailed {
				indexes = append(indexes, int(*job.ArrayProperties.Index))
			}
		}
		return nil
	})
	slices.Sort(indexes)
	ids := make([]string, len(indexes))
	for i, index := range indexes {
		ids[i] = batch.ChildID(array, index)
	}
	return ids, err
}
