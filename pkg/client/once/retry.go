package once

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// RetryTag is the tag of a job with the id of the job that it runs again.
const RetryTag = "batchctl:retry-of"

const (
	retrySuffix = "-retry"
	// maxChildren is the maximum number of children of an array (API reference of SubmitJob).
	maxChildren = 10000
)

// RetryOptions are the options of Retry.
type RetryOptions struct {
	// Partial includes the children that have failed so far in arrays that have not ended.
	Partial bool
}

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

// RetryError reports a job that cannot be run again from the data that the service and the ledger
// have about it.
type RetryError struct{ Job, ID, Why string }

// Error names the job and the cause.
func (e *RetryError) Error() string {
	return fmt.Sprintf("job %s (%s) cannot be retried: %s", e.Job, batch.ShortID(e.ID), e.Why)
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
	r := retrying{client: c, options: o, definitions: map[string]types.JobDefinition{}}
	var all []*runAgain
	for _, job := range jobs {
		again, err := r.again(ctx, job, wanted[*job.JobId])
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
	runs, err := c.runsAgain(all)
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

// retrying is a Retry in progress.
type retrying struct {
	client      *Client
	options     RetryOptions
	definitions map[string]types.JobDefinition // by ARN
}

// again returns the jobs that run the failed parts of a job again; none if nothing failed.
func (r *retrying) again(ctx context.Context, job types.JobDetail, wanted []int) (*runAgain, error) {
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

// failed returns the indexes of the FAILED children, among those that are wanted or all.
func (r *retrying) failed(ctx context.Context, array string, wanted []int) (indexes []int, err error) {
	ids, err := r.client.FailedChildren(ctx, array)
	for _, id := range ids {
		_, suffix := batch.SplitID(id)
		index, err := strconv.Atoi(suffix[1:])
		if err == nil && (wanted == nil || slices.Contains(wanted, index)) {
			indexes = append(indexes, index)
		}
	}
	return indexes, err
}

// cellsOf returns the cells of an array's children: their indexes, unless the array has others.
func cellsOf(job types.JobDetail, indexes []int) ([]int, error) {
	text, listed := variable(job, sweep.CellsVariable)
	if !listed || text == "" {
		return indexes, nil
	}
	all, err := sweep.ParseCells(text)
	if err != nil {
		return nil, damagedCells(job, err.Error())
	}
	var cells []int
	for _, i := range indexes {
		cell, ok := all.At(i)
		if !ok {
			return nil, damagedCells(job, fmt.Sprintf("it has no cell for index %d", i))
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// damagedCells returns the error for cells that cannot be read.
func damagedCells(job types.JobDetail, why string) error {
	return &RetryError{aws.ToString(job.JobName), aws.ToString(job.JobId), sweep.CellsVariable + ": " + why}
}

// asSweep lets the children find their cells. Children of a sweep can do so already; a plain
// array gets a launcher.
func asSweep(job types.JobDetail, in *awsbatch.SubmitJobInput) error {
	_, text := variable(job, sweep.DocumentVariable)
	_, url := variable(job, sweep.URLVariable)
	if text || url {
		return nil
	}
	if len(job.Container.Command) == 0 {
		return &RetryError{aws.ToString(job.JobName), aws.ToString(job.JobId),
			"it runs the default command of its image, which cannot be given a launcher; write the command in the job file, and submit the whole array again"}
	}
	s := sweep.Sweep{Kind: sweep.Plain, Launcher: sweep.Shell, Size: batch.ArraySize(job)}
	in.ContainerOverrides.Command = s.Command(job.Container.Command)
	setVariable(in, sweep.DocumentVariable, s.Document())
	return nil
}

// arrays returns the jobs for some cells. Each has as many cells as fit into a request.
func (r *retrying) arrays(job types.JobDetail, in *awsbatch.SubmitJobInput, cells []int) (all []*plan.Job, err error) {
	setVariable(in, sweep.CellsVariable, "")
	size, err := sizeOf(*withVariable(in.ContainerOverrides, client.NewSubmissionID()))
	if err != nil {
		return nil, err
	}
	capacity := plan.MaxOverrides - plan.OverridesReserve - size
	var parts [][]int
	for len(cells) > 0 {
		// sort.Search works because the text of more cells is never shorter.
		n := sort.Search(min(len(cells), maxChildren), func(i int) bool { return len(sweep.FormatCells(cells[:i+1])) > capacity })
		n = max(n, 1) // a single cell that does not fit gets an error of its own
		parts, cells = append(parts, cells[:n]), cells[n:]
	}
	for i, part := range parts {
		suffix := retrySuffix
		if len(parts) > 1 {
			suffix = fmt.Sprintf("%s-%dof%d", retrySuffix, i+1, len(parts))
		}
		one := *in
		overrides := *in.ContainerOverrides
		overrides.Environment = slices.Clone(overrides.Environment)
		one.ContainerOverrides = &overrides
		setVariable(&one, sweep.CellsVariable, sweep.FormatCells(part))
		if len(part) > 1 {
			one.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(len(part)))}
		}
		all = append(all, retryJob(job, &one, suffix))
	}
	return all, nil
}

// retryJob returns a job of the plan, named after the one that it runs again.
func retryJob(job types.JobDetail, in *awsbatch.SubmitJobInput, suffix string) *plan.Job {
	name := aws.ToString(job.JobName)
	name = name[:min(len(name), client.MaxUserName-len(suffix))]
	in.JobName = aws.String(name + suffix)
	bound, _ := strconv.Atoi(job.Tags[MaxParallelTag]) // "" and other text: no limit
	return &plan.Job{Name: *in.JobName, Submit: in, Group: name + retrySuffix, MaxParallel: max(bound, 0),
		Queue: plan.Choice{Queue: *in.JobQueue, Reason: "queue of job " + batch.ShortID(aws.ToString(job.JobId)) + ", which is run again"}}
}

// variable returns an environment variable of a job of one container.
func variable(job types.JobDetail, name string) (value string, ok bool) {
	if job.Container == nil {
		return "", false
	}
	for _, v := range job.Container.Environment {
		if aws.ToString(v.Name) == name {
			return aws.ToString(v.Value), true
		}
	}
	return "", false
}

// setVariable sets an environment variable of the request.
func setVariable(in *awsbatch.SubmitJobInput, name, value string) {
	in.ContainerOverrides = cmp.Or(in.ContainerOverrides, &types.ContainerOverrides{})
	list := &in.ContainerOverrides.Environment
	*list = slices.DeleteFunc(*list, func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == name })
	*list = append(*list, types.KeyValuePair{Name: &name, Value: &value})
}
