package once

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// NothingFailedError reports that none of the jobs failed.
type NothingFailedError struct{ IDs []string }

// Error names the jobs.
func (e *NothingFailedError) Error() string {
	var short []string
	for _, id := range e.IDs {
		short = append(short, batch.ShortID(id))
	}
	return "nothing failed in " + strings.Join(short, ", ")
}

// NotEndedError reports a job that may still fail or succeed.
type NotEndedError struct {
	Job, ID string
	Status  types.JobStatus
}

// Error names the job and its status.
func (e *NotEndedError) Error() string {
	return fmt.Sprintf("job %s (%s) is %s: wait until it ends", e.Job, batch.ShortID(e.ID), e.Status)
}

// Retry creates a plan that runs failed jobs again. For an array it runs the FAILED children, or
// those of them that are named (array:3), in as many jobs as needed. Any other FAILED job runs as
// before. Jobs keep their definition, queue, overrides, parameters, timeout, retry strategy and
// tags. They keep only the dependencies that run again as well, those in the client included; the
// others have ended. sweep.CellsVariable tells the children their cells. A plain array gets a
// launcher that sets the old index, for which its image needs a shell. Jobs without failures are
// ignored. The error is a *NothingFailedError, a *NotEndedError, a *RetryError, a *MissingError or
// an error of a call.
func (c *Client) Retry(ctx context.Context, ids []string, o RetryOptions) (*plan.Plan, error) {
	arrays, wanted, err := partedIDs(ids)
	if err != nil {
		return nil, err
	}
	jobs, err := c.Describe(ctx, arrays...)
	if err != nil {
		return nil, err
	}
	r := retrying{client: c.Client, options: o, definitions: map[string]types.JobDefinition{}}
	var all []*runAgain
	for _, job := range jobs {
		again, err := r.failedParts(ctx, job, wanted[*job.JobId])
		if err != nil {
			return nil, err
		}
		if len(again.parts) > 0 {
			all = append(all, again)
		}
	}
	if len(all) == 0 {
		return nil, &NothingFailedError{ids}
	}
	runs, err := runsAgain(c.Ledger, all)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{}
	p.Jobs, err = inOrder(all)
	if err != nil {
		return nil, err
	}
	p.Name = retryName(p.Jobs, runs)
	return p, nil
}

// partedIDs splits ids into jobs and indexes of children. An array without indexes maps to nil: all
// of its children.
func partedIDs(ids []string) (arrays []string, wanted map[string][]int, err error) {
	wanted = map[string][]int{}
	whole := map[string]bool{}
	for _, id := range ids {
		base, suffix := batch.SplitID(id)
		arrays = append(arrays, base)
		if suffix == "" {
			whole[base] = true
			continue
		}
		index, err := strconv.Atoi(suffix[1:])
		if err != nil || suffix[0] != ':' {
			return nil, nil, &RetryError{id, id, "it is neither a job nor a child of an array"}
		}
		wanted[base] = append(wanted[base], index)
	}
	for base := range whole {
		delete(wanted, base)
	}
	return client.Distinct(arrays), wanted, nil
}

// failedParts returns the jobs that run the failed parts of a job again; none if nothing failed.
func (r *retrying) failedParts(ctx context.Context, job types.JobDetail, wanted []int) (*runAgain, error) {
	name, id := aws.ToString(job.JobName), aws.ToString(job.JobId)
	if !batch.HasEnded(job.Status) && wanted == nil && !r.options.Partial {
		return nil, &NotEndedError{name, id, job.Status}
	}
	again := &runAgain{job: job}
	if batch.ArraySize(job) == 0 {
		if job.Status != types.JobStatusFailed {
			return again, nil
		}
		in, err := r.request(ctx, job)
		if err != nil {
			return nil, err
		}
		again.parts = []*plan.Job{retryJob(job, in, retrySuffix)}
		return again, nil
	}
	failed, err := r.failed(ctx, id, wanted)
	if err != nil || len(failed) == 0 {
		return again, err
	}
	in, err := r.request(ctx, job)
	if err != nil {
		return nil, err
	}
	cells, err := cellsOf(job, failed)
	if err != nil {
		return nil, err
	}
	if err := asSweep(job, in); err != nil {
		return nil, err
	}
	again.children = failed
	again.parts, err = r.arrays(job, in, cells)
	return again, err
}
