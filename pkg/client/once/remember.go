package once

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/jsonlines"
	"github.com/batchctl/batchctl/pkg/stable"
)

// keptFor is how long Batch keeps a job that has ended, at least (user guide, job states: seven
// days).
const keptFor = 7 * 24 * time.Hour

// StatusExpired is the status of a job that the service has forgotten and whose outcome no command
// of this user has seen. AWS has no such status.
const StatusExpired types.JobStatus = "UNKNOWN-EXPIRED"

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
		o := l.outcome(job)
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

// outcome returns the record of a job that has ended.
func (l *Ledger) outcome(job types.JobDetail) Outcome {
	o := Outcome{Seen: time.Now().UTC().Truncate(time.Millisecond), Target: l.Target, ID: aws.ToString(job.JobId), Name: aws.ToString(job.JobName),
		Queue: aws.ToString(job.JobQueue), Definition: aws.ToString(job.JobDefinition), Status: job.Status, Reason: aws.ToString(job.StatusReason),
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
	job := types.JobDetail{JobId: &o.ID, JobName: &o.Name, JobQueue: optional(o.Queue), JobDefinition: optional(o.Definition), Status: o.Status,
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

// Recalled is a job as the service describes it, or as the ledger recorded it.
type Recalled struct {
	types.JobDetail
	// Forgotten means that the service no longer has the job.
	Forgotten bool
}

// Recall is Describe with the help of the ledger. A job that the service has forgotten is returned
// as the ledger recorded it, with StatusExpired if its outcome is unknown. A *MissingError names
// the jobs that neither has, or that are too recent to be forgotten. Recall records the outcomes
// that it sees.
func (c *Client) Recall(ctx context.Context, ids ...string) ([]Recalled, error) {
	known, err := c.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var all []Recalled
	var missing []string
	var memory memory
	for _, id := range ids {
		job, ok := known[id]
		remembered := !ok
		if remembered {
			if memory, err = c.memory(memory); err != nil {
				return nil, err
			}
			job, ok = memory.job(id)
		}
		if ok {
			all = append(all, Recalled{job, remembered && job.Status != types.JobStatusSubmitted})
		} else {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		return all, &client.MissingError{IDs: missing}
	}
	return all, nil
}

// Keep records how the jobs ended and their attempts, if the client has a ledger.
func (c *Client) Keep(jobs ...types.JobDetail) error {
	if c.Ledger == nil {
		return nil
	}
	err := c.recordAttempts(jobs) // first: the first row of a history comes after the outcomes of earlier versions
	return errors.Join(err, c.Ledger.Remember(jobs...))
}

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

// Own returns the entries of this ledger's target, oldest first. It skips damaged lines.
func (l *Ledger) Own() ([]Entry, error) {
	entries, err := l.Entries()
	if err := l.passDamage(err); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return !l.Covers(e.Target) }), nil
}

// Covers reports whether the ledger's target includes jobs of a target. A read-only command does
// not query its account, so it covers the jobs of any account.
func (l *Ledger) Covers(target string) bool {
	return target == l.Target || target != "" && withoutAccount(l.Target) == l.Target && withoutAccount(target) == l.Target
}

// withoutAccount removes the account from `aws 123456789012 us-east-1`.
func withoutAccount(target string) string {
	rest, ok := strings.CutPrefix(target, "aws ")
	if !ok {
		return target
	}
	if after, ok := strings.CutPrefix(rest, "(account not known) "); ok {
		return "aws " + after
	}
	account, after, ok := strings.Cut(rest, " ")
	if ok && strings.Trim(account, "0123456789") == "" {
		return "aws " + after
	}
	return target
}

// Forgotten returns jobs of the ledger that the service has forgotten, newest first and at most
// most of them. seen reports whether the service has just listed an id. Jobs submitted within the
// service's retention time are left out.
func (c *Client) Forgotten(ctx context.Context, seen func(id string) bool, fits func(types.JobSummary) bool, most int) ([]types.JobSummary, error) {
	m, err := c.memory(memory{})
	if err != nil || c.Ledger == nil {
		return nil, err
	}
	var unsure []string // outcome unknown: ask the service whether it has the job
	var found []types.JobSummary
	for _, e := range m.newest() {
		if len(found) >= most {
			break
		}
		if seen(e.ID) || time.Since(e.Time) < keptFor {
			continue
		}
		job, _ := m.job(e.ID)
		if s := summaryOf(job); fits(s) {
			found = append(found, s)
			unsure = append(unsure, e.ID)
		}
	}
	known, err := c.ByID(ctx, unsure)
	return slices.DeleteFunc(found, func(s types.JobSummary) bool { _, ok := known[*s.JobId]; return ok }), err
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
