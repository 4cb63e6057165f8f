package once

import (
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
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
