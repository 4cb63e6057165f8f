package client

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// JustNow is how long DescribeJobs may omit a job after SubmitJob has returned its id.
	JustNow = time.Minute
	// KeptFor is how long Batch keeps a job that has ended, at least (user guide, job states: seven
	// days).
	KeptFor = 7 * 24 * time.Hour
)

// Event is a change of a watched job.
type Event struct {
	Job types.JobDetail
	// Status is the job's status, Since when the watch first saw it.
	Status types.JobStatus
	Since  time.Time
	// Last is true when no watched job will change again.
	Last bool
}

// Watch polls the jobs and yields each change of status, statusReason or array summary until all
// are SUCCEEDED or FAILED. The first poll counts as a change. It retries a service that has
// answered before for five minutes, and reloads expired credentials once. An error ends the
// sequence. It waits one minute for a missing job, since DescribeJobs lags behind SubmitJob; after
// that the error is a *MissingError.
func (j *Jobs) Watch(ctx context.Context, ids ...string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := &watch{seen: map[string]sight{}, pending: Distinct(ids), start: time.Now()}
		pace := Pace{Polling: j.polling}
		for len(w.pending) > 0 {
			jobs, err := j.ByID(ctx, w.pending)
			pause, err := pace.Next(err)
			var events []Event
			if err == nil && jobs != nil {
				if events, err = w.update(jobs); len(events) > 0 {
					pause = pace.reset()
				}
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if err == nil && len(w.pending) > 0 {
				err = rpc.Sleep(ctx, pause)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// watch is the state of the watched jobs.
type watch struct {
	seen map[string]sight
	// pending are the jobs that have not ended.
	pending []string
	start   time.Time
}

// sight is the last known state of a job.
type sight struct {
	status  types.JobStatus
	since   time.Time
	reason  string
	summary map[string]int32
	at      time.Time
}

// Distinct drops repeated ids and keeps the order.
func Distinct(ids []string) []string {
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := known[id]
		known[id] = true
		return again
	})
}

// update records one answer and returns what has changed.
func (w *watch) update(jobs map[string]types.JobDetail) (events []Event, err error) {
	now := time.Now()
	var pending, missing []string
	for _, id := range w.pending {
		job, ok := jobs[id]
		if !ok && now.Sub(w.lastSeen(id)) > JustNow {
			missing = append(missing, id)
		}
		if ok && w.changed(id, job, now) {
			events = append(events, Event{Job: job, Status: job.Status, Since: w.seen[id].since})
		}
		if !ok || !batch.HasEnded(job.Status) {
			pending = append(pending, id)
		}
	}
	w.pending = pending
	if len(events) > 0 {
		events[len(events)-1].Last = len(pending) == 0
	}
	if missing != nil {
		return events, &MissingError{missing}
	}
	return events, nil
}

// lastSeen returns when a job was last described; the start of the watch for one that never was.
func (w *watch) lastSeen(id string) time.Time {
	if s, ok := w.seen[id]; ok {
		return s.at
	}
	return w.start
}

// changed records the state of a job and reports whether it differs from the last one.
func (w *watch) changed(id string, job types.JobDetail, now time.Time) bool {
	old, known := w.seen[id]
	s := sight{status: job.Status, since: now, reason: aws.ToString(job.StatusReason), at: now}
	if job.ArrayProperties != nil {
		s.summary = job.ArrayProperties.StatusSummary
	}
	if known && old.status == s.status {
		s.since = old.since
	}
	w.seen[id] = s
	return !known || old.status != s.status || old.reason != s.reason || !maps.Equal(old.summary, s.summary)
}
