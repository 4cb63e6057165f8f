package once

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

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
