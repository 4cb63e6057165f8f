package once

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// Bounds of what one command does for the history. Of a larger array, children at equal distances are recorded.
const (
	// sampledChildren is how many children of an array are recorded: five requests.
	sampledChildren = 500
	// maxMeasured is how many logs are read for measurements; AWS allows 25 requests for events a second.
	maxMeasured = 100
	// readersOfLogs is how many of them are read concurrently.
	readersOfLogs = 8
	// recording is how long all of it may take. What is missing then, a later command records.
	recording = 10 * time.Second
	// settled is how long after the end of an attempt its log is complete.
	settled = time.Minute
)

// History returns the record of attempts beside the ledger.
func (l *Ledger) History() history.Store { return history.Store{Dir: l.Dir} }

// recordAttempts records the attempts of jobs that have ended, with what they used. An error loses no row: the next
// command that sees the jobs tries again.
func (c *Client) recordAttempts(jobs []types.JobDetail) error {
	ctx, cancel := context.WithTimeout(context.Background(), recording)
	defer cancel()
	r := recorder{client: c, store: c.Ledger.History(), sweeps: map[string]*sweep.Sweep{}}
	var ended []types.JobDetail
	for _, job := range jobs {
		switch {
		case !batch.HasEnded(job.Status) || job.Status == StatusExpired:
		case batch.ArraySize(job) == 0:
			ended = append(ended, job)
		default:
			children, err := r.children(ctx, job)
			if err != nil {
				return err
			}
			ended = append(ended, children...)
		}
	}
	var rows []history.Attempt
	details := map[string]types.JobDetail{}
	for _, job := range ended {
		details[aws.ToString(job.JobId)] = job
		rows = append(rows, r.rows(job)...)
	}
	if len(rows) == 0 {
		return nil
	}
	known, err := r.store.Find(rows...)
	if err != nil {
		return err
	}
	rows = unknown(rows, known, details)
	if len(rows) == 0 {
		return nil
	}
	r.addHashes(ctx, rows, details)
	r.addMachines(ctx, rows, details)
	r.addImageDigests(ctx, rows, details)
	r.addUsage(ctx, rows, details)
	return r.store.Add(rows...)
}

// unknown returns the rows that are not recorded, and those of measured attempts whose log was not searched.
func unknown(rows, known []history.Attempt, details map[string]types.JobDetail) (missing []history.Attempt) {
	type key struct {
		job    string
		number int
	}
	recorded := map[key]history.Attempt{}
	for _, a := range known {
		recorded[key{a.Job, a.Number}] = a
	}
	for _, a := range rows {
		k, found := recorded[key{a.Job, a.Number}]
		if !found || k.Usage == nil && !k.Searched && client.IsMeasured(details[a.Job]) {
			missing = append(missing, a)
		}
	}
	return missing
}

// recorder builds rows of the history.
type recorder struct {
	client *Client
	store  history.Store
	sweeps map[string]*sweep.Sweep // by document
}

// children describes children of an array that are not recorded.
func (r *recorder) children(ctx context.Context, array types.JobDetail) ([]types.JobDetail, error) {
	size, id := batch.ArraySize(array), aws.ToString(array.JobId)
	n := min(size, sampledChildren)
	var rows []history.Attempt
	for i := range n {
		rows = append(rows, history.Attempt{Target: r.client.Ledger.Target, Job: batch.ChildID(id, i*size/n), Number: 1})
	}
	known, err := r.store.Find(rows...)
	if err != nil {
		return nil, err
	}
	isKnown := map[string]bool{}
	for _, a := range known {
		isKnown[a.Job] = a.Usage != nil || a.Searched || !client.IsMeasured(array)
	}
	var missing []string
	for _, a := range rows {
		if !isKnown[a.Job] {
			missing = append(missing, a.Job)
		}
	}
	if missing == nil {
		return nil, nil
	}
	found, err := r.client.ByID(ctx, missing)
	if err != nil {
		return nil, err
	}
	var children []types.JobDetail
	for _, id := range missing {
		if job, ok := found[id]; ok && batch.HasEnded(job.Status) {
			children = append(children, job)
		}
	}
	return children, nil
}

// rows returns a row for each attempt of a job that has ended. A job that never started has none.
func (r *recorder) rows(job types.JobDetail) (rows []history.Attempt) {
	base := history.Attempt{Target: r.client.Ledger.Target, Job: aws.ToString(job.JobId), Name: aws.ToString(job.JobName),
		Queue: batch.Name(aws.ToString(job.JobQueue)), Share: aws.ToString(job.ShareIdentifier), Submission: job.Tags[client.SubmissionTag],
		Definition: batch.Name(aws.ToString(job.JobDefinition)), Cell: r.cell(job), Requested: requested(job),
		Status: types.JobStatusFailed, CreatedAt: aws.ToInt64(job.CreatedAt)}
	if job.Container != nil {
		base.Image = aws.ToString(job.Container.Image)
	}
	for i, a := range job.Attempts {
		row := base
		row.Number, row.Reason = i+1, aws.ToString(a.StatusReason)
		row.StartedAt, row.StoppedAt = aws.ToInt64(a.StartedAt), aws.ToInt64(a.StoppedAt)
		if a.Container != nil {
			row.Container, row.ExitCode, row.LogStream = aws.ToString(a.Container.Reason), a.Container.ExitCode, aws.ToString(a.Container.LogStreamName)
		}
		for _, task := range a.TaskProperties {
			for _, c := range task.Containers { // the container that failed, or else the first
				if row.ExitCode == nil || aws.ToInt32(row.ExitCode) == 0 && aws.ToInt32(c.ExitCode) != 0 {
					row.Container, row.ExitCode, row.LogStream = aws.ToString(c.Reason), c.ExitCode, aws.ToString(c.LogStreamName)
				}
			}
		}
		rows = append(rows, row)
	}
	for i, a := range job.EksAttempts {
		row, end := base, batch.PodEnd(a)
		row.Number, row.Reason, row.Container, row.ExitCode = i+1, aws.ToString(a.StatusReason), aws.ToString(end.Reason), end.ExitCode
		row.StartedAt, row.StoppedAt = aws.ToInt64(a.StartedAt), aws.ToInt64(a.StoppedAt)
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		rows[len(rows)-1].Status = job.Status
	}
	return rows
}

// requested sums what the containers of a job request.
func requested(job types.JobDetail) (r history.Resources) {
	add := func(list []types.ResourceRequirement) {
		for _, q := range list {
			value, err := strconv.ParseFloat(aws.ToString(q.Value), 64)
			if err != nil {
				continue
			}
			switch q.Type {
			case types.ResourceTypeVcpu:
				r.VCPUs += value
			case types.ResourceTypeMemory:
				r.MemoryMiB += int64(value)
			case types.ResourceTypeGpu:
				r.GPUs += int(value)
			}
		}
	}
	if c := job.Container; c != nil {
		add(c.ResourceRequirements)
		if r.VCPUs == 0 {
			r.VCPUs = float64(aws.ToInt32(c.Vcpus))
		}
		if r.MemoryMiB == 0 {
			r.MemoryMiB = int64(aws.ToInt32(c.Memory))
		}
	}
	if job.EcsProperties != nil {
		for _, task := range job.EcsProperties.TaskProperties {
			for _, c := range task.Containers {
				add(c.ResourceRequirements)
			}
		}
	}
	return r
}

// cell returns the values of a child, from the variables that its launcher reads; nil if it has none, or if they are
// in S3.
func (r *recorder) cell(job types.JobDetail) map[string]string {
	s := r.sweep(job)
	if s == nil || len(s.Names) == 0 {
		return nil
	}
	cell, ok := cellIndex(job)
	if !ok || cell >= s.Len() {
		return nil
	}
	values := map[string]string{}
	for i, value := range s.Cell(cell) {
		values[s.Names[i]] = value
	}
	return values
}

// sweep returns the sweep of a job; nil if it has none, or none that can be read here.
func (r *recorder) sweep(job types.JobDetail) *sweep.Sweep {
	text, path := variableOf(job, sweep.DocumentVariable), variableOf(job, sweep.URLVariable)
	if text == "" && path == "" {
		return nil
	}
	s, known := r.sweeps[text+"\n"+path]
	if known {
		return s
	}
	if text == "" && r.client.LogsAtOnce && filepath.IsAbs(path) { // on the local target, a file
		if f, err := os.Open(path); err == nil {
			all, _ := io.ReadAll(io.LimitReader(f, sweep.MaxDocument))
			_ = f.Close()
			text = string(all)
		}
	}
	s, err := sweep.Parse(text)
	if err != nil {
		s = nil
	}
	r.sweeps[text+"\n"+path] = s
	return s
}

// variableOf returns an environment variable of a job's container; "" if it is not set.
func variableOf(job types.JobDetail, name string) (value string) {
	if job.Container == nil {
		return ""
	}
	for _, v := range job.Container.Environment {
		if aws.ToString(v.Name) == name {
			value = aws.ToString(v.Value)
		}
	}
	return value
}

// addMachines adds the instance types and whether they were Spot instances. What this user is not allowed to describe,
// and what AWS has forgotten, remains unknown.
func (r *recorder) addMachines(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	if r.client.Machines == nil {
		return
	}
	at := make([]string, len(rows)) // the container instance of each
	var all []string
	for i, a := range rows {
		job := details[a.Job]
		if slices.Contains(job.PlatformCapabilities, types.PlatformCapabilityFargate) {
			rows[i].InstanceType = string(types.PlatformCapabilityFargate)
			continue
		}
		if n := a.Number - 1; n < len(job.Attempts) {
			at[i] = containerInstance(job.Attempts[n])
		}
		if at[i] != "" && !slices.Contains(all, at[i]) {
			all = append(all, at[i])
		}
	}
	if all == nil {
		return
	}
	machines, _ := r.client.Machines(ctx, all)
	for i := range rows {
		if m, ok := machines[at[i]]; ok {
			rows[i].InstanceType, rows[i].Spot = m.Type, m.Spot
		}
	}
}

// addImageDigests adds the digests of the images. They remain unknown where addMachines leaves the machine unknown, and
// for pods, of which AWS Batch has no digest.
func (r *recorder) addImageDigests(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	if r.client.ImageDigests == nil {
		return
	}
	tasks := make([]string, len(rows)) // of each attempt
	for i, a := range rows {
		if job, n := details[a.Job], a.Number-1; n < len(job.Attempts) {
			tasks[i] = ecsTaskOf(job.Attempts[n])
		}
	}
	all := slices.DeleteFunc(slices.Clone(tasks), func(arn string) bool { return arn == "" })
	if len(all) == 0 {
		return
	}
	digests, _ := r.client.ImageDigests(ctx, all)
	for i := range rows {
		rows[i].ImageDigests = digests[tasks[i]]
	}
}

// ecsTaskOf returns the ARN of the ECS task of an attempt; "" if it has none.
func ecsTaskOf(a types.AttemptDetail) string {
	if a.Container != nil && a.Container.TaskArn != nil {
		return *a.Container.TaskArn
	}
	for _, task := range a.TaskProperties {
		if task.TaskArn != nil {
			return *task.TaskArn
		}
	}
	return ""
}

// containerInstance returns the ARN of the container instance of an attempt; "" if it has none.
func containerInstance(a types.AttemptDetail) string {
	if a.Container != nil && a.Container.ContainerInstanceArn != nil {
		return *a.Container.ContainerInstanceArn
	}
	for _, task := range a.TaskProperties {
		if task.ContainerInstanceArn != nil {
			return *task.ContainerInstanceArn
		}
	}
	return ""
}

// addUsage reads what measured attempts used, from their logs. Where a log has no measurement, or is gone, the object
// beside the outputs has it.
func (r *recorder) addUsage(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	var readers sync.WaitGroup
	var once sync.Once
	free := make(chan struct{}, readersOfLogs)
	places := make([]string, len(rows))
	for i, a := range rows {
		places[i] = r.measuredAt(details[a.Job], a.Number)
	}
	left := maxMeasured
	if r.client.LogsAtOnce { // the local engine, which has no quota
		left = sampledChildren
	}
	for i := range rows {
		job := details[rows[i].Job]
		age := time.Since(time.UnixMilli(rows[i].StoppedAt))
		if !client.IsMeasured(job) || age > keptFor || left == 0 {
			continue
		}
		left--
		free <- struct{}{}
		readers.Go(func() {
			defer func() { <-free }()
			used, err := r.client.Usage(ctx, job, rows[i].Number)
			if used == nil && places[i] != "" {
				if stored := r.stored(ctx, places[i]); stored != nil {
					used, err = stored, nil
				}
			}
			if err != nil {
				once.Do(func() { r.warn(fmt.Errorf("the history lacks what some attempts used: %w", err)) })
				return
			}
			rows[i].Usage, rows[i].Searched = used, used == nil && (r.client.LogsAtOnce || age > settled)
		})
	}
	readers.Wait()
}

// stored reads a measurement beside the outputs of a job. It is nil if there is none: the launcher may be older, or
// may lack the permission to write it.
func (r *recorder) stored(ctx context.Context, at string) []usage.Usage {
	text, err := r.client.Measured(ctx, at)
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
func (r *recorder) measuredAt(job types.JobDetail, number int) string {
	text := variableOf(job, stage.Variable)
	if r.client.Measured == nil || text == "" || !client.IsMeasured(job) {
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

// cellIndex returns the cell of a child; 0 for a job that is no child. ok is false if its cells cannot be read.
func cellIndex(job types.JobDetail) (cell int, ok bool) {
	if job.ArrayProperties != nil {
		cell = int(aws.ToInt32(job.ArrayProperties.Index))
	}
	if text := variableOf(job, sweep.CellsVariable); text != "" {
		cells, err := sweep.ParseCells(text)
		at, found := cells.At(cell)
		return at, err == nil && found
	}
	return cell, true
}

// warn reports a problem that the command survives.
func (r *recorder) warn(err error) {
	if r.client.Warn != nil {
		r.client.Warn(err)
	}
}
