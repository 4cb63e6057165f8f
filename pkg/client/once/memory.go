package once

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// StatusExpired is the status of a job that the service has forgotten and whose outcome no command
// of this user has seen. AWS has no such status.
const StatusExpired types.JobStatus = "UNKNOWN-EXPIRED"

// memory is the content of the ledger: the outcomes, and the entries by id.
type memory struct {
	outcomes map[string]Outcome
	entries  map[string]Entry
}

// read reads the ledger, unless m has it already. Without a ledger m stays empty.
func (m memory) read(l *Ledger) (memory, error) {
	if m.outcomes != nil || l == nil {
		return m, nil
	}
	entries, err := l.Own()
	if err != nil {
		return m, err
	}
	m.entries = map[string]Entry{}
	for _, e := range entries {
		m.entries[e.ID] = e
	}
	m.outcomes, err = l.outcomes()
	return m, err
}

// job returns the record of a job that the service does not have. A child of an array has its
// parent's entry.
func (m memory) job(id string) (types.JobDetail, bool) {
	if o, ok := m.outcomes[id]; ok {
		return o.job(), true
	}
	base, _ := batch.SplitID(id)
	e, ok := m.entries[base]
	e.ID = id
	if parent, ended := m.outcomes[base]; ended {
		return Entry{Time: e.Time, Queue: parent.Queue, Name: parent.Name, ID: id,
			Definition: parent.Definition}.expired(), true
	}
	switch age := time.Since(e.Time); {
	case ok && age >= client.KeptFor:
		return e.expired(), true
	case ok && age < client.JustNow:
		return e.unlisted(), true
	}
	return types.JobDetail{}, false
}

// newest returns the entries, newest first.
func (m memory) newest() []Entry {
	entries := make([]Entry, 0, len(m.entries))
	for _, e := range m.entries {
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.Time.Compare(a.Time) })
	return entries
}

// expired returns the job of an entry whose outcome is unknown.
func (e Entry) expired() types.JobDetail {
	return types.JobDetail{JobId: &e.ID, JobName: &e.Name, JobQueue: optional(e.Queue),
		JobDefinition: optional(e.Definition),
		Status:        StatusExpired, CreatedAt: aws.Int64(max(0, e.Time.UnixMilli()))}
}

// unlisted returns the job of an entry that DescribeJobs does not list yet.
func (e Entry) unlisted() types.JobDetail {
	job := e.expired()
	job.Status, job.StatusReason = types.JobStatusSubmitted,
		aws.String("accepted a moment ago; the service does not list it yet")
	return job
}

// summaryOf returns a job in the form of ListJobs.
func summaryOf(job types.JobDetail) types.JobSummary {
	s := types.JobSummary{JobId: job.JobId, JobName: job.JobName, JobDefinition: job.JobDefinition, Status: job.Status,
		StatusReason: job.StatusReason,
		CreatedAt:    job.CreatedAt, StartedAt: job.StartedAt, StoppedAt: job.StoppedAt}
	if job.Container != nil {
		s.Container = &types.ContainerSummary{ExitCode: job.Container.ExitCode, Reason: job.Container.Reason}
	}
	if job.ArrayProperties != nil {
		s.ArrayProperties = &types.ArrayPropertiesSummary{Size: job.ArrayProperties.Size,
			StatusSummary: job.ArrayProperties.StatusSummary}
	}
	return s
}

// ledgerMemory lets the embedded client query the ledger. It returns the ledger that the client has by then.
type ledgerMemory func() *Ledger

// Jobs returns the jobs of the ledger's target. It ignores damaged lines: the service lists the
// jobs that such lines had.
func (k ledgerMemory) Jobs() ([]client.Known, error) {
	l := k()
	if l == nil {
		return nil, nil
	}
	entries, err := l.Entries()
	if _, damaged := errors.AsType[*DamageError](err); err != nil && !damaged {
		return nil, err
	}
	var jobs []client.Known
	for _, e := range entries {
		if l.Covers(e.Target) {
			jobs = append(jobs, e.Known())
		}
	}
	return jobs, nil
}

// Children returns the size of an array from its submission or its remembered outcome.
func (k ledgerMemory) Children(id string) (int, error) {
	m, err := memory{}.read(k())
	if err != nil {
		return 0, err
	}
	if e := m.entries[id]; e.ArraySize > 0 {
		return e.ArraySize, nil
	}
	return int(m.outcomes[id].Size), nil
}

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
