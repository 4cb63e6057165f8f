package attempts

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Recorder records the attempts of one target's jobs. It is for one call of Record.
type Recorder struct {
	Client *client.Client
	// Target is where the jobs went, as in the ledger.
	Target string
	Store  history.Store
	// Machines returns the instances behind container instances. Without it, they are unknown.
	Machines func(ctx context.Context, containerInstances []string) (map[string]rpc.Machine, error)
	// Measured returns the text of an object at an s3:// URL: the measurement of an attempt whose log has none. Without
	// it, only logs have measurements.
	Measured func(ctx context.Context, url string) (text string, err error)
	// ImageDigests returns the digests of the images of ECS tasks, by the task and the container's name. Without it,
	// they are unknown.
	ImageDigests func(ctx context.Context, tasks []string) (map[string]map[string]string, error)

	sweeps map[string]*sweep.Sweep // by document
}

// rows returns a row for each attempt of a job that has ended. A job that never started has none.
func (r *Recorder) rows(job types.JobDetail) (rows []history.Attempt) {
	base := history.Attempt{Target: r.Target, Job: aws.ToString(job.JobId), Name: aws.ToString(job.JobName),
		Queue: batch.Name(aws.ToString(job.JobQueue)), Share: aws.ToString(job.ShareIdentifier),
		Submission: job.Tags[client.SubmissionTag],
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
			row.Container, row.ExitCode, row.LogStream = aws.ToString(a.Container.Reason), a.Container.ExitCode,
				aws.ToString(a.Container.LogStreamName)
		}
		if c, ok := batch.TaskEnd(a); ok {
			row.Container, row.ExitCode, row.LogStream = aws.ToString(c.Reason), c.ExitCode,
				aws.ToString(c.LogStreamName)
		}
		rows = append(rows, row)
	}
	for i, a := range job.EksAttempts {
		row, end := base, batch.PodEnd(a)
		row.Number, row.Reason, row.Container, row.ExitCode = i+1, aws.ToString(a.StatusReason),
			aws.ToString(end.Reason), end.ExitCode
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
func (r *Recorder) cell(job types.JobDetail) map[string]string {
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
func (r *Recorder) sweep(job types.JobDetail) *sweep.Sweep {
	text, path := variableOf(job, sweep.DocumentVariable), variableOf(job, sweep.URLVariable)
	if text == "" && path == "" {
		return nil
	}
	s, known := r.sweeps[text+"\n"+path]
	if known {
		return s
	}
	if text == "" && r.Client.LogsAtOnce && filepath.IsAbs(path) { // on the local target, a file
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
	if r.sweeps == nil {
		r.sweeps = map[string]*sweep.Sweep{}
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
func (r *Recorder) warn(err error) {
	if r.Client.Warn != nil {
		r.Client.Warn(err)
	}
}
