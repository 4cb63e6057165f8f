package once

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/stable"
)

// keptFor is how long Batch keeps a job that has ended, at least (user guide, job states: seven
// days).
const keptFor = 7 * 24 * time.Hour

// StatusExpired is the status of a job that the service has forgotten and whose outcome no command
// of this user has seen. AWS has no such status.
const StatusExpired types.JobStatus = "UNKNOWN-EXPIRED"

// memory is the content of the ledger: the outcomes, and the entries by id.
type memory struct {
	outcomes map[string]Outcome
	entries  map[string]Entry
}

// memory reads the ledger, unless m has it already.
func (c *Client) memory(m memory) (memory, error) {
	if m.outcomes != nil || c.Ledger == nil {
		return m, nil
	}
	entries, err := c.Ledger.Own()
	if err != nil {
		return m, err
	}
	m.entries = map[string]Entry{}
	for _, e := range entries {
		m.entries[e.ID] = e
	}
	m.outcomes, err = c.Ledger.outcomes()
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
		return Entry{Time: e.Time, Queue: parent.Queue, Name: parent.Name, ID: id, Definition: parent.Definition}.expired(), true
	}
	switch age := time.Since(e.Time); {
	case ok && age >= keptFor:
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
	stable.Sort(entries, func(a, b Entry) int { return b.Time.Compare(a.Time) })
	return entries
}

// expired returns the job of an entry whose outcome is unknown.
func (e Entry) expired() types.JobDetail {
	return types.JobDetail{JobId: &e.ID, JobName: &e.Name, JobQueue: optional(e.Queue), JobDefinition: optional(e.Definition),
		Status: StatusExpired, CreatedAt: aws.Int64(max(0, e.Time.UnixMilli()))}
}

// unlisted returns the job of an entry that DescribeJobs does not list yet.
func (e Entry) unlisted() types.JobDetail {
	job := e.expired()
	job.Status, job.StatusReason = types.JobStatusSubmitted, aws.String("accepted a moment ago; the service does not list it yet")
	return job
}

// summaryOf returns a job in the form of ListJobs.
func summaryOf(job types.JobDetail) types.JobSummary {
	s := types.JobSummary{JobId: job.JobId, JobName: job.JobName, JobDefinition: job.JobDefinition, Status: job.Status, StatusReason: job.StatusReason,
		CreatedAt: job.CreatedAt, StartedAt: job.StartedAt, StoppedAt: job.StoppedAt}
	if job.Container != nil {
		s.Container = &types.ContainerSummary{ExitCode: job.Container.ExitCode, Reason: job.Container.Reason}
	}
	if job.ArrayProperties != nil {
		s.ArrayProperties = &types.ArrayPropertiesSummary{Size: job.ArrayProperties.Size, StatusSummary: job.ArrayProperties.StatusSummary}
	}
	return s
}

// known lets the embedded client query the ledger.
type known struct{ c *Client }

// Jobs returns the jobs of the ledger's target. It ignores damaged lines: the service lists the
// jobs that such lines had.
func (k known) Jobs() ([]client.Known, error) {
	if k.c.Ledger == nil {
		return nil, nil
	}
	entries, err := k.c.Ledger.Entries()
	if _, damaged := errors.AsType[*DamageError](err); err != nil && !damaged {
		return nil, err
	}
	var jobs []client.Known
	for _, e := range entries {
		if k.c.Ledger.Covers(e.Target) {
			jobs = append(jobs, e.Known())
		}
	}
	return jobs, nil
}

// Children returns the size of an array from its submission or its remembered outcome.
func (k known) Children(id string) (int, error) {
	m, err := k.c.memory(memory{})
	if err != nil {
		return 0, err
	}
	if e := m.entries[id]; e.ArraySize > 0 {
		return e.ArraySize, nil
	}
	return int(m.outcomes[id].Size), nil
}
