package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
)

var (
	fullID  = lazy(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	shortID = lazy(`^[0-9a-f]{4,8}(-[0-9a-f-]*)?$`)
)

// AmbiguousIDError reports a short id that several jobs share.
type AmbiguousIDError struct {
	Argument string
	Jobs     []types.JobSummary
}

// Error lists the jobs.
func (e *AmbiguousIDError) Error() string {
	lines := []string{fmt.Sprintf("job id %s matches %d jobs, write more digits:", e.Argument, len(e.Jobs))}
	for _, job := range e.Jobs {
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", aws.ToString(job.JobId), aws.ToString(job.JobName), job.Status))
	}
	return strings.Join(lines, "\n")
}

// NoSuchJobError reports an argument that names no job. Near is the closest name.
type NoSuchJobError struct{ Argument, Near string }

// Error suggests the closest name, if there is one.
func (e *NoSuchJobError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("no job has the id or name %s, did you mean %s?", e.Argument, e.Near)
	}
	return "no job has the id or name " + e.Argument
}

// Resolve returns the id of the job that arg names: a full id, an ARN, the first four or more
// digits of an id, or a name, which means the newest job of that name. The index of a child or
// node may follow: `train:3`, `mpi#0`. If the job does not have it, the error is a
// *NoSuchPartError. Resolve asks the client's Memory first, then the service. No queues means all
// queues.
func (c *Client) Resolve(ctx context.Context, arg string, queues []string) (string, error) {
	if batch.IsARN(arg) {
		_, arg, _ = strings.Cut(arg, "job/")
	}
	base, suffix := batch.SplitID(arg)
	if fullID().MatchString(base) {
		return arg, c.checkSuffix(ctx, arg, base, suffix)
	}
	if base == "" {
		return "", &NoSuchJobError{Argument: arg}
	}
	find := finder{argument: base}
	if err := c.findInMemory(&find); err != nil {
		return "", err
	}
	if len(find.byID)+len(find.byName) == 0 {
		if err := c.findAtService(ctx, &find, queues); err != nil {
			return "", err
		}
	}
	id, err := find.result()
	if e, ok := errors.AsType[*AmbiguousIDError](err); ok {
		c.addStatus(ctx, e.Jobs)
	}
	if err != nil {
		return "", err
	}
	return id + suffix, c.checkSuffix(ctx, arg, id, suffix)
}

// finder collects the jobs that an argument may name.
type finder struct {
	argument string
	byID     []types.JobSummary
	byName   []types.JobSummary
	// names are all names that were found, for a suggestion.
	names []string
}

// see adds a job to the candidates if the argument fits its id or its name.
func (f *finder) see(job types.JobSummary) {
	name := DisplayName(aws.ToString(job.JobName))
	f.names = append(f.names, name)
	if shortID().MatchString(f.argument) && strings.HasPrefix(aws.ToString(job.JobId), f.argument) {
		f.byID = append(f.byID, job)
	}
	if f.argument == name || f.argument == aws.ToString(job.JobName) || CutName(f.argument) == name {
		f.byName = append(f.byName, job)
	}
}

// result returns the only job with the id, or the newest with the name.
func (f *finder) result() (string, error) {
	switch {
	case len(f.byID) == 1:
		return aws.ToString(f.byID[0].JobId), nil
	case len(f.byID) > 1:
		return "", &AmbiguousIDError{f.argument, f.byID}
	case len(f.byName) > 0:
		newest := f.byName[0]
		for _, job := range f.byName {
			if aws.ToInt64(job.CreatedAt) >= aws.ToInt64(newest.CreatedAt) {
				newest = job
			}
		}
		return aws.ToString(newest.JobId), nil
	}
	return "", &NoSuchJobError{f.argument, diag.Near(f.argument, slices.Values(f.names))}
}

// findInMemory searches the jobs in the client's memory.
func (c *Client) findInMemory(f *finder) error {
	if c.Memory == nil {
		return nil
	}
	known, err := c.Memory.Jobs()
	for _, k := range known {
		f.see(types.JobSummary{JobId: &k.ID, JobName: &k.Name, CreatedAt: aws.Int64(k.Submitted.UnixMilli())})
	}
	return err
}

// findAtService lists by name, which the service can filter by. If that finds nothing, it lists
// all jobs.
func (c *Client) findAtService(ctx context.Context, f *finder, queues []string) error {
	for _, filter := range []Filter{{Queues: queues, Name: f.argument}, {Queues: queues}} {
		if filter.Name != "" && shortID().MatchString(f.argument) {
			continue // ids cannot be filtered by
		}
		for job, err := range c.Each(ctx, filter) {
			if err != nil {
				return err
			}
			f.see(job)
		}
		if len(f.byName) > 0 {
			break
		}
	}
	return nil
}

// addStatus adds the status to candidates from the memory. It ignores errors: another error is
// shown.
func (c *Client) addStatus(ctx context.Context, jobs []types.JobSummary) {
	var ids []string
	for _, job := range jobs {
		if job.Status == "" {
			ids = append(ids, aws.ToString(job.JobId))
		}
	}
	details, err := c.ByID(ctx, ids)
	if err != nil {
		return
	}
	for i, job := range jobs {
		if job.Status == "" {
			jobs[i].Status = details[aws.ToString(job.JobId)].Status
		}
	}
}

// lazy returns a regular expression that is compiled when it is first needed.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
