package once

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// Outcome is how a job ended: a line of <Ledger.Dir>/outcomes.jsonl, which is kept longer than the
// service keeps jobs. Times are epoch milliseconds, as in Batch.
type Outcome struct {
	Seen       time.Time        `json:"seen"`
	Target     string           `json:"target"`
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Queue      string           `json:"queue,omitempty"`
	Definition string           `json:"definition,omitempty"`
	Status     types.JobStatus  `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	ExitCode   *int32           `json:"exitCode,omitempty"`
	Container  string           `json:"containerReason,omitempty"`
	CreatedAt  *int64           `json:"createdAt,omitempty"`
	StartedAt  *int64           `json:"startedAt,omitempty"`
	StoppedAt  *int64           `json:"stoppedAt,omitempty"`
	Size       int32            `json:"size,omitempty"`
	Children   map[string]int32 `json:"children,omitempty"`
	DependsOn  []string         `json:"dependsOn,omitempty"`
}

// outcomesPath returns the file with the outcomes.
func (l *Ledger) outcomesPath() string { return filepath.Join(l.Dir, "outcomes.jsonl") }

// Remember records how jobs ended, each once. It ignores jobs that have not ended.
func (l *Ledger) Remember(jobs ...types.JobDetail) error {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j types.JobDetail) bool { return !batch.HasEnded(j.Status) })
	if len(jobs) == 0 {
		return nil
	}
	known, err := l.outcomes()
	if err != nil {
		return err
	}
	var news []Outcome
	for _, job := range jobs {
		o := outcomeOf(l.Target, job)
		if _, again := known[o.ID]; again {
			continue
		}
		known[o.ID] = o
		news = append(news, o)
	}
	if news == nil {
		return nil
	}
	text, err := jsonLines(news)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	return jsonlines.Append(l.outcomesPath(), text)
}

// outcomeOf returns the record of a target's job that has ended.
func outcomeOf(target string, job types.JobDetail) Outcome {
	o := Outcome{Seen: time.Now().UTC().Truncate(time.Millisecond), Target: target, ID: aws.ToString(job.JobId),
		Name:  aws.ToString(job.JobName),
		Queue: aws.ToString(job.JobQueue), Definition: aws.ToString(job.JobDefinition), Status: job.Status,
		Reason:    aws.ToString(job.StatusReason),
		CreatedAt: job.CreatedAt, StartedAt: job.StartedAt, StoppedAt: job.StoppedAt, Size: int32(batch.ArraySize(job))}
	if job.Container != nil {
		o.ExitCode, o.Container = job.Container.ExitCode, aws.ToString(job.Container.Reason)
	}
	if o.Size > 0 {
		o.Children = job.ArrayProperties.StatusSummary
	}
	for _, d := range job.DependsOn {
		o.DependsOn = append(o.DependsOn, aws.ToString(d.JobId))
	}
	return o
}

// outcomes returns the recorded outcomes by job id. A damaged line counts as missing.
func (l *Ledger) outcomes() (map[string]Outcome, error) {
	known := map[string]Outcome{}
	err := readRecords(l.outcomesPath(), func(o Outcome) bool {
		if o.ID == "" {
			return false
		}
		known[o.ID] = o
		return true
	})
	return known, l.passDamage(err)
}

// job returns the recorded part of the outcome in the form of DescribeJobs.
func (o Outcome) job() types.JobDetail {
	job := types.JobDetail{JobId: &o.ID, JobName: &o.Name, JobQueue: optional(o.Queue),
		JobDefinition: optional(o.Definition), Status: o.Status,
		StatusReason: optional(o.Reason), CreatedAt: o.CreatedAt, StartedAt: o.StartedAt, StoppedAt: o.StoppedAt}
	if o.ExitCode != nil || o.Container != "" {
		job.Container = &types.ContainerDetail{ExitCode: o.ExitCode, Reason: optional(o.Container)}
	}
	if o.Size > 0 {
		job.ArrayProperties = &types.ArrayPropertiesDetail{Size: &o.Size, StatusSummary: o.Children}
	}
	for _, id := range o.DependsOn {
		job.DependsOn = append(job.DependsOn, types.JobDependency{JobId: &id})
	}
	return job
}

// optional returns nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
