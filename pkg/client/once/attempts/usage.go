package attempts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/usage"
)

// addUsage reads what measured attempts used, from their logs. Where a log has no measurement, or is gone, the object
// beside the outputs has it.
func (r *Recorder) addUsage(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	var readers sync.WaitGroup
	var once sync.Once
	free := make(chan struct{}, readersOfLogs)
	places := make([]string, len(rows))
	for i, a := range rows {
		places[i] = r.measuredAt(details[a.Job], a.Number)
	}
	left := maxMeasured
	if r.Client.LogsAtOnce { // the local engine, which has no quota
		left = sampledChildren
	}
	for i := range rows {
		job := details[rows[i].Job]
		age := time.Since(time.UnixMilli(rows[i].StoppedAt))
		if !client.IsMeasured(job) || age > client.KeptFor || left == 0 {
			continue
		}
		left--
		free <- struct{}{}
		readers.Go(func() {
			defer func() { <-free }()
			used, err := r.Client.Usage(ctx, job, rows[i].Number)
			if used == nil && places[i] != "" {
				if stored := r.stored(ctx, places[i]); stored != nil {
					used, err = stored, nil
				}
			}
			if err != nil {
				once.Do(func() { r.warn(fmt.Errorf("the usage of some attempts was not recorded: %w", err)) })
				return
			}
			rows[i].Usage, rows[i].Searched = used, used == nil && (r.Client.LogsAtOnce || age > settled)
		})
	}
	readers.Wait()
}

// stored reads a measurement beside the outputs of a job. It is nil if there is none: the launcher may be older, or
// may lack the permission to write it.
func (r *Recorder) stored(ctx context.Context, at string) []usage.Usage {
	text, err := r.Measured(ctx, at)
	if err != nil {
		return nil
	}
	if u, ok := usage.ParseText(text); ok {
		return []usage.Usage{u}
	}
	return nil
}

// measuredAt returns where the launcher stores the measurement of an attempt; "" for no place. DescribeJobs does not
// report the variables that AWS Batch and the launcher set, so it rebuilds them.
func (r *Recorder) measuredAt(job types.JobDetail, number int) string {
	text := variableOf(job, stage.Variable)
	if r.Measured == nil || text == "" || !client.IsMeasured(job) {
		return ""
	}
	environ := map[string]string{}
	for _, v := range job.Container.Environment {
		environ[aws.ToString(v.Name)] = aws.ToString(v.Value)
	}
	environ["AWS_BATCH_JQ_NAME"] = batch.Name(aws.ToString(job.JobQueue))
	environ["AWS_BATCH_JOB_ID"], environ["AWS_BATCH_JOB_ATTEMPT"] = aws.ToString(job.JobId), strconv.Itoa(number)
	cell, ok := cellIndex(job)
	if !ok {
		return ""
	}
	isChild := job.ArrayProperties != nil && job.ArrayProperties.Index != nil
	if s := r.sweep(job); s != nil && cell < s.Len() {
		isChild = true
		for i, value := range s.Cell(cell) {
			environ[sweep.Variable(s.Names[i])] = value
		}
		if slices.Contains(s.Templates, stage.Variable) {
			text = s.Replace(cell, text)
		}
	}
	if isChild { // the launcher sets the index to the cell's
		environ["AWS_BATCH_JOB_ARRAY_INDEX"], environ[sweep.CellVariable] = strconv.Itoa(cell), strconv.Itoa(cell)
	}
	d, err := stage.Parse(text)
	if err != nil {
		return ""
	}
	return d.MeasuredAt(func(name string) (string, bool) { value, ok := environ[name]; return value, ok })
}
