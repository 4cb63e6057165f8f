package once

import (
	"context"
	"fmt"
	"slices"
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

// PendingError reports a job that an interrupted submission runs again when it is resumed.
type PendingError struct{ Job, ID, Run string }

// Error names the job and the submission.
func (e *PendingError) Error() string {
	return fmt.Sprintf("the interrupted submission %s runs job %s (%s) again", e.Run, e.Job, batch.ShortID(e.ID))
}

// Retry creates a plan that runs failed jobs again. For an array it runs the FAILED children, or
// those of them that are named (array:3), in as many jobs as needed. Any other FAILED job runs as
// before. What a newer job of the same chain runs again counts only there: if it SUCCEEDED, nothing of it
// runs again. Jobs keep their definition, queue, overrides, parameters, timeout, retry strategy and
// tags. They keep only the dependencies that run again as well, those in the client included; the
// others have ended. sweep.CellsVariable tells the children their cells. A plain array gets a
// launcher that sets the old index, for which its image needs a shell. Jobs without failures are
// ignored. The error is a *NothingFailedError, a *NotEndedError, a *PendingError, a *RetryError,
// a *MissingError or an error of a call.
func (c *Client) Retry(ctx context.Context, ids []string, o RetryOptions) (*plan.Plan, error) {
	jobs, chains, wanted, err := c.retried(ctx, ids)
	if err != nil {
		return nil, err
	}
	r := retrying{client: c.Client, options: o, definitions: map[string]types.JobDefinition{}}
	var all []*runAgain
	for _, chain := range chains {
		replaced := chain.Replaced()
		for i, k := range chain {
			job, ok := jobs[k.ID]
			if !ok {
				continue // not named, or forgotten
			}
			again, err := r.failedParts(ctx, job, wanted[k.ID], replaced[i])
			if err != nil {
				return nil, err
			}
			if len(again.parts) > 0 {
				again.chain = chain
				all = append(all, again)
			}
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

// retried returns the chains of jobs and the descriptions of the jobs that may run again. wanted are the indexes of
// the children that are meant; an array without an entry is meant as a whole.
func (c *Client) retried(ctx context.Context,
	ids []string) (jobs map[string]types.JobDetail, chains []client.Chain, wanted map[string][]int, err error) {
	named, children, err := partedIDs(ids)
	if err != nil {
		return nil, nil, nil, err
	}
	described, err := c.Describe(ctx, named...)
	if err != nil {
		return nil, nil, nil, err
	}
	var known []client.Known
	for _, job := range described {
		known = append(known, client.KnownOf(job))
	}
	if chains = client.ChainsOf(known, known); c.Ledger != nil {
		if chains, err = c.Ledger.Chains(known); err != nil {
			return nil, nil, nil, err
		}
	}
	var whole []string
	jobs, wanted = map[string]types.JobDetail{}, map[string][]int{}
	for i, chain := range chains {
		var members []string
		for _, k := range chain {
			members = append(members, k.ID)
		}
		more, err := c.ByID(ctx, members)
		if err != nil {
			return nil, nil, nil, err
		}
		chains[i] = chain.Described(more)
		for _, k := range chains[i] {
			if job, ok := more[k.ID]; ok {
				jobs[k.ID] = job
			}
			if slices.Contains(named, k.ID) && children[k.ID] == nil {
				whole = append(whole, members...)
			}
		}
	}
	for _, chain := range chains {
		for _, k := range chain {
			for _, index := range children[k.ID] {
				for _, part := range chain.Part(k.ID, index) {
					if base, at, isChild := batch.SplitChildID(part.ID); isChild {
						wanted[base] = append(wanted[base], at)
					} else {
						whole = append(whole, part.ID)
					}
				}
			}
		}
	}
	if c.Ledger != nil {
		pending, err := c.Ledger.pending()
		if err != nil {
			return nil, nil, nil, err
		}
		for _, k := range pending {
			if job, ok := jobs[k.Again]; ok {
				return nil, nil, nil, &PendingError{aws.ToString(job.JobName), k.Again, k.Run}
			}
		}
	}
	for id := range jobs {
		if slices.Contains(whole, id) {
			delete(wanted, id)
		} else if wanted[id] == nil {
			delete(jobs, id)
		}
	}
	return jobs, chains, wanted, nil
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

// failedParts returns the jobs that run the failed parts of a job again; none if nothing failed that is not replaced.
func (r *retrying) failedParts(ctx context.Context, job types.JobDetail, wanted []int,
	replaced map[int]bool) (*runAgain, error) {
	name, id := aws.ToString(job.JobName), aws.ToString(job.JobId)
	if !batch.HasEnded(job.Status) && wanted == nil && !r.options.Partial {
		return nil, &NotEndedError{name, id, job.Status}
	}
	again := &runAgain{job: job}
	if batch.ArraySize(job) == 0 {
		if job.Status != types.JobStatusFailed || replaced[0] {
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
	failed = slices.DeleteFunc(failed, func(index int) bool { return replaced[index] })
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
