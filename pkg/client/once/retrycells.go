package once

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// retrySuffix ends the name of a job that runs another one again.
const retrySuffix = "-retry"

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
			"it runs the default command of its image, which cannot have a launcher; write the command in the job file, and submit the whole array again"}
	}
	s := sweep.Sweep{Kind: sweep.Plain, Launcher: sweep.Shell, Size: batch.ArraySize(job)}
	in.ContainerOverrides.Command = s.Command(job.Container.Command)
	setVariable(in, sweep.DocumentVariable, s.Document())
	return nil
}

// maxChildren is the maximum number of children of an array (API reference of SubmitJob).
const maxChildren = 10000

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
		n := sort.Search(min(len(cells), maxChildren),
			func(i int) bool { return len(sweep.FormatCells(cells[:i+1])) > capacity })
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
	return &plan.Job{Name: *in.JobName, Again: aws.ToString(job.JobId), Submit: in, Group: name + retrySuffix,
		MaxParallel: max(bound, 0),
		Queue: plan.Choice{Queue: *in.JobQueue, Reason: "queue of job " + batch.ShortID(aws.ToString(job.JobId)) +
			", which is run again"}}
}
