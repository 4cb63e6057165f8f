package once

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// DefaultSettle is how long batchctl searches for a job before it counts as not accepted. AWS
	// documents no limit for how far ListJobs lags behind. In a simulation with a lag of 1 s on
	// average, 5 s left one duplicate in a thousand and 15 s none in 100,000.
	DefaultSettle    = 15 * time.Second
	firstSearchPause = 250 * time.Millisecond
	// searchPatience is how much longer a failing search is retried.
	searchPatience = time.Minute
	// searchTimeout limits one search: a service that does not answer counts as failed.
	searchTimeout = 20 * time.Second
)

// UnknownError reports a failed search: batchctl cannot tell whether the job was accepted.
type UnknownError struct {
	Job string
	Err error
}

// Error names the job and the cause.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("job %s may have been accepted, and searching for it failed: %v", e.Job, e.Err)
}

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Err }

// sighting is a job at the service that has a job's submission id.
type sighting struct {
	id, definition string
	created        int64 // epoch milliseconds, by the service's clock
	status         types.JobStatus
	reason         string
	started        bool
}

// ran reports whether a job that has ended had started.
func (s sighting) ran() bool { return s.status == types.JobStatusSucceeded || s.started }

// finder finds the jobs of intents at a target.
type finder struct {
	jobs *client.Client
	// settle is how long a listing of the target may lag.
	settle time.Duration
	// takesOnce is that of the Client.
	takesOnce bool
}

// finder returns the finder of the client's target. A service that recognises a submission answers
// a second SubmitJob with the first job's id, so one search is enough there.
func (c *Client) finder() finder {
	f := finder{jobs: c.Client, settle: cmp.Or(c.Settle, DefaultSettle), takesOnce: c.TakesOnce}
	if c.TakesOnce {
		f.settle = 0
	}
	return f
}

// find returns the jobs with the task's submission id, oldest first. The listing's filter ignores
// case, so find compares names and tags itself.
func (f finder) find(ctx context.Context, t *plannedJob) ([]sighting, error) {
	name := aws.ToString(t.submit.JobName)
	in := awsbatch.ListJobsInput{JobQueue: t.submit.JobQueue,
		Filters: []types.KeyValuesPair{{Name: aws.String("JOB_NAME"), Values: []string{name}}}}
	var ids []string
	seen := map[string]types.JobSummary{}
	for job, err := range f.jobs.EachPage(ctx, in) {
		if err != nil {
			return nil, err
		}
		id := aws.ToString(job.JobId)
		if _, again := seen[id]; again || aws.ToString(job.JobName) != name || batch.IsChild(job) {
			continue
		}
		ids = append(ids, id)
		seen[id] = job
	}
	details, err := f.jobs.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []sighting
	for _, id := range ids {
		if s, ours := t.sighted(seen[id], details); ours {
			found = append(found, s)
		}
	}
	sortSightings(found)
	return found, nil
}

// sighted returns a listed job of the task's jobName, if it has the task's submission id.
func (t *plannedJob) sighted(job types.JobSummary, details map[string]types.JobDetail) (s sighting, ours bool) {
	s = sighting{aws.ToString(job.JobId), aws.ToString(job.JobDefinition), aws.ToInt64(job.CreatedAt), job.Status,
		aws.ToString(job.StatusReason), job.StartedAt != nil}
	d, known := details[s.id]
	if tag, tagged := d.Tags[client.SubmissionTag]; tagged && tag != t.submission || !tagged &&
		aws.ToString(job.JobName) == t.name {
		return s, false // another submission's, or a name without an id
	}
	if known {
		s.definition, s.reason = cmp.Or(aws.ToString(d.JobDefinition), s.definition),
			cmp.Or(aws.ToString(d.StatusReason), s.reason)
		s.created, s.status, s.started = aws.ToInt64(d.CreatedAt), d.Status, d.StartedAt != nil
	}
	return s, true
}

// sortSightings sorts by creation, oldest first.
func sortSightings(found []sighting) {
	slices.SortStableFunc(found, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.created, b.created),
			cmp.Compare(a.id, b.id))
	})
}

// findSoon is find with a time limit.
func (f finder) findSoon(ctx context.Context, t *plannedJob) ([]sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	return f.find(ctx, t)
}

// findPatiently repeats find while the service has problems. It gives up at a given time, or when
// the service rejects the request.
func (f finder) findPatiently(ctx context.Context, t *plannedJob, until time.Time) ([]sighting, error) {
	for try := 1; ; try++ {
		found, err := f.findSoon(ctx, t)
		if err == nil || ctx.Err() != nil || client.Refused(err) && !client.Throttled(err) || time.Now().After(until) {
			return found, err
		}
		if err := rpc.Sleep(ctx, fullJitter(try)); err != nil {
			return nil, err
		}
	}
}

// search searches for a submission until it is found or the listing has settled since then. After
// an error it is unknown whether the job was accepted.
func (f finder) search(ctx context.Context, t *plannedJob, since time.Time) ([]sighting, error) {
	settled := since.Add(f.settle)
	for pause := firstSearchPause; ; pause *= 2 {
		began := time.Now()
		found, err := f.findPatiently(ctx, t, settled.Add(searchPatience))
		if err != nil {
			return nil, &UnknownError{t.name, err}
		}
		if len(found) > 0 || !began.Before(settled) {
			return found, nil
		}
		if err := rpc.Sleep(ctx, min(pause, time.Until(settled))); err != nil {
			return nil, &UnknownError{t.name, err}
		}
	}
}

const (
	// fewNames is the number of jobs up to which each is listed by name.
	fewNames = 20
	// clockMargin is subtracted from the time of the first job: CreatedAt of two jobs need not come
	// from the same clock.
	clockMargin = time.Minute
)

// findMany finds the jobs of many tasks with few calls: it lists what each queue has accepted since
// the run began. It leaves out tasks whose job is not listed, and queues that others use more. find
// lists those by name.
func (f finder) findMany(ctx context.Context, r *run, tasks []*plannedJob) map[*plannedJob][]sighting {
	if f.takesOnce || r.resumed() {
		return nil // names do not contain the submission, and another process's clock set the start
	}
	queues := map[string][]*plannedJob{}
	for _, t := range tasks {
		queue := aws.ToString(t.submit.JobQueue)
		queues[queue] = append(queues[queue], t)
	}
	all := map[*plannedJob][]sighting{}
	for queue, inQueue := range queues {
		if len(inQueue) >= fewNames {
			f.listQueue(ctx, r, queue, inQueue, all)
		}
	}
	return all
}

// listQueue adds the jobs of the tasks of one queue to all. It ignores errors: find lists those
// jobs by name.
func (f finder) listQueue(ctx context.Context, r *run, queue string, tasks []*plannedJob,
	all map[*plannedJob][]sighting) {
	ctx, cancel := context.WithTimeout(ctx, 2*searchTimeout)
	defer cancel()
	since, ok := f.beganAt(ctx, r, tasks)
	if !ok {
		return
	}
	byName := map[string]*plannedJob{}
	for _, t := range tasks {
		byName[aws.ToString(t.submit.JobName)] = t
	}
	jobs, duplicates := map[*plannedJob][]types.JobSummary{}, []string(nil)
	pages := awsbatch.NewListJobsPaginator(f.jobs.API, &awsbatch.ListJobsInput{JobQueue: &queue,
		Filters: []types.KeyValuesPair{{Name: aws.String("AFTER_CREATED_AT"),
			Values: []string{strconv.FormatInt(since.UnixMilli(), 10)}}}})
	for calls := 0; pages.HasMorePages(); calls++ {
		if calls == len(tasks) {
			return // listing by name takes fewer calls
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return
		}
		for _, job := range page.JobSummaryList {
			t := byName[aws.ToString(job.JobName)]
			if t == nil || batch.IsChild(job) {
				continue
			}
			id := aws.ToString(job.JobId)
			if slices.ContainsFunc(jobs[t], func(j types.JobSummary) bool { return aws.ToString(j.JobId) == id }) {
				continue // a page that was listed before
			}
			jobs[t] = append(jobs[t], job)
			if id != t.result.ID {
				duplicates = append(duplicates, id)
			}
		}
	}
	details, err := f.jobs.ByID(ctx, duplicates)
	if err != nil {
		return
	}
	for t, listed := range jobs {
		own := false
		var found []sighting
		for _, job := range listed {
			own = own || aws.ToString(job.JobId) == t.result.ID
			if s, ours := t.sighted(job, details); ours {
				found = append(found, s)
			}
		}
		if own {
			sortSightings(found)
			all[t] = found
		}
	}
}

// beganAt returns when the run began by the service's clock, or slightly earlier. It uses the first
// accepted job, because the local clock may be wrong.
func (f finder) beganAt(ctx context.Context, r *run, tasks []*plannedJob) (time.Time, bool) {
	first := slices.MinFunc(tasks, func(a, b *plannedJob) int { return a.last.Compare(b.last) })
	jobs, err := f.jobs.ByID(ctx, []string{first.result.ID})
	job, known := jobs[first.result.ID]
	if err != nil || !known || aws.ToInt64(job.CreatedAt) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(*job.CreatedAt).Add(r.began.Sub(first.last) - clockMargin), true
}
