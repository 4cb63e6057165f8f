package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// The intervals between two queries. AWS limits the request rate of an account; a query of the local engine costs
// some milliseconds.
const (
	liveLocal = time.Second
	liveAWS   = 5 * time.Second
	// safety is the interval while the local engine tells what changes, and apart the shortest time between two queries.
	safety = 15 * time.Second
	apart  = 200 * time.Millisecond
	// longestPause is the longest interval while the target does not answer.
	longestPause = time.Minute
	// The full list of jobs is read at most this often, and never for more than a twentieth of the time.
	listLocal = 15 * time.Second
	listAWS   = time.Minute
	// tagsAtOnce is how many jobs are described for their tags between two queries: one DescribeJobs call.
	tagsAtOnce = 100
	// mostForgotten is the most jobs that are added from the ledger.
	mostForgotten = 1000
)

// Observer queries the target for all open pages: queues, their history, and the list of jobs.
type Observer struct {
	c       *Commander
	options jobs.Options
	isLocal bool
	// watchers is the number of topics that someone watches; queries are rare without one.
	watchers atomic.Int32
	// hasStream reports that the local engine tells what changes.
	hasStream atomic.Bool
	wake      chan struct{} // ends the pause of the observer

	mu       sync.Mutex
	snapshot *top.Snapshot // nil before the first answer
	failure  error         // of the last query
	asked    time.Time     // when the last query was answered
	history  map[string]*queueHistory
	changed  chan struct{} // closed and replaced with each answer
	Began    time.Time

	Jobs      joblist.List
	jobsRead  chan struct{} // closed when the list has been read once
	readOnce  sync.Once
	wantsJobs atomic.Int32
	jobsErr   error // why the last reading of the list failed; under mu
}

// newObserver returns an observer. The caller starts Run.
func newObserver(c *Commander, o jobs.Options, isLocal bool) *Observer {
	return &Observer{c: c, options: o, isLocal: isLocal, wake: make(chan struct{}, 1),
		history: map[string]*queueHistory{}, changed: make(chan struct{}),
		Began: time.Now(), jobsRead: make(chan struct{})}
}

// Live is the interval while a page is open.
func (o *Observer) Live() time.Duration {
	if o.isLocal {
		return liveLocal
	}
	return liveAWS
}

// Run queries until ctx ends, while someone watches.
func (o *Observer) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		if o.watchers.Load() == 0 {
			select {
			case <-ctx.Done():
			case <-o.wake:
			}
			continue
		}
		pause := o.Live()
		if o.hasStream.Load() {
			pause = safety
		}
		select {
		case <-o.wake: // the query answers it
		default:
		}
		if o.Query(ctx, min(o.Live()/2, apart)) != nil {
			failures = min(failures+1, 6)
			pause = min(o.Live()<<failures, longestPause)
		} else {
			failures = 0
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-o.wake:
			_ = rpc.Sleep(ctx, apart) // more changes may follow
		}
		timer.Stop()
	}
}

// FollowEngine wakes the observer when something changes at the local engine, until ctx ends. Without a running engine,
// the observer queries every second.
func (o *Observer) FollowEngine(ctx context.Context) {
	for o.isLocal && ctx.Err() == nil {
		if call, err := o.Open(ctx); err == nil {
			_ = call.Changes(ctx, func() {
				o.hasStream.Store(true)
				o.wakeUp()
			})
			_ = call.Close()
		}
		o.hasStream.Store(false)
		_ = rpc.Sleep(ctx, liveAWS)
	}
}

// wakeUp ends the pause of the observer.
func (o *Observer) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// Query takes a snapshot, at most as old as age, and keeps it or the error.
func (o *Observer) Query(ctx context.Context, age time.Duration) error {
	s, err := Ask(ctx, o.c, age, snapshot(o.options.Target))
	if ctx.Err() != nil {
		return context.Cause(ctx) // who asked has left; this tells nothing about the target
	}
	o.mu.Lock()
	o.failure, o.asked = err, time.Now()
	if err == nil && (o.snapshot == nil || !s.Time.Equal(o.snapshot.Time)) {
		o.snapshot = s
		o.remember(s)
	}
	o.mu.Unlock()
	if err == nil {
		o.updateJobs(ctx, s)
	}
	o.signal()
	return err
}

// remember adds a snapshot to the histories, and forgets queues that no longer exist. The caller holds the lock.
func (o *Observer) remember(s *top.Snapshot) {
	for _, q := range s.Queues {
		h := o.history[q.Name]
		if h == nil {
			h = &queueHistory{}
			o.history[q.Name] = h
		}
		inUse, _ := InUse(q)
		h.add(Sample{At: s.Time, Jobs: q.Jobs, InUse: inUse, Shares: Shares(q)})
	}
	for name := range o.history {
		if !slices.ContainsFunc(s.Queues, func(q top.Queue) bool { return q.Name == name }) {
			delete(o.history, name)
		}
	}
}

// Past returns the history of a queue.
func (o *Observer) Past(name string) []Sample {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.history[name]; h != nil {
		return slices.Clone(h.samples)
	}
	return nil
}

// signal wakes those who watch.
func (o *Observer) signal() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
}

// Latest returns the last snapshot. It queries if the last answer is old.
func (o *Observer) Latest(ctx context.Context) (*top.Snapshot, error) {
	o.mu.Lock()
	isFresh := time.Since(o.asked) < 2*o.Live()
	o.mu.Unlock()
	if !isFresh {
		_ = o.Query(ctx, o.Live()) // the error is kept
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.snapshot == nil && o.failure == nil { // the browser has left before the first answer
		return nil, context.Cause(ctx)
	}
	return o.snapshot, o.failure
}

// Watch publishes a number with each answer, until ctx ends.
func (o *Observer) Watch(ctx context.Context, publish func([]byte)) error {
	if o.watchers.Add(1) == 1 {
		o.wakeUp()
	}
	defer o.watchers.Add(-1)
	for {
		o.mu.Lock()
		changed, failure, at := o.changed, o.failure, int64(0)
		if o.snapshot != nil {
			at = o.snapshot.Time.UnixMilli()
		}
		o.mu.Unlock()
		publish(EventOf(at, failure))
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// EventOf returns the data of an event: a version, or why there is no newer one.
func EventOf(version int64, failure error) []byte {
	text, _ := json.Marshal(struct { // two basic types cannot fail
		Version string `json:"version"`
		Problem string `json:"problem,omitempty"`
	}{strconv.FormatInt(version, 36), messageOf(failure)})
	return text
}

// messageOf returns the message of an error; "" for nil.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return show.Text(err.Error())
}

// WatchJobs keeps the list of jobs current, and publishes its versions, until ctx ends.
func (o *Observer) WatchJobs(ctx context.Context, publish func([]byte)) error {
	o.wantsJobs.Add(1)
	defer o.wantsJobs.Add(-1)
	o.startReading()
	return o.Watch(ctx, func([]byte) {
		o.mu.Lock()
		failure := cmp.Or(o.failure, o.jobsErr)
		o.mu.Unlock()
		publish(EventOf(int64(o.Jobs.Version()), failure))
	})
}

// startReading begins to read the list of jobs, once.
func (o *Observer) startReading() { o.readOnce.Do(func() { go o.readJobs(o.c.Base) }) }

// readJobs reads the complete list of jobs again and again, while a page shows it.
func (o *Observer) readJobs(ctx context.Context) {
	pause := listAWS
	if o.isLocal {
		pause = listLocal
	}
	for first := true; ctx.Err() == nil; {
		begun := time.Now()
		if first || o.wantsJobs.Load() > 0 {
			err := o.listJobs(ctx, first)
			o.mu.Lock()
			o.jobsErr = err
			o.mu.Unlock()
			if first && err == nil {
				first = false
				close(o.jobsRead)
			}
			o.signal()
		}
		if first { // the target did not answer
			_ = rpc.Sleep(ctx, liveAWS)
			continue
		}
		_ = rpc.Sleep(ctx, max(pause, 20*time.Since(begun)))
	}
}

// Open opens the target for reading. Messages of other packages have no place on a page.
func (o *Observer) Open(ctx context.Context) (*jobs.Call, error) {
	con := &term.Console{Streams: term.Streams{In: nil, Out: io.Discard, Err: io.Discard}}
	return jobs.OpenFor(ctx, con, o.options, target.ToRead)
}

// Seed stores a complete list of jobs, so that the observer does not read it. Tests call it.
func (o *Observer) Seed(all []joblist.Job) {
	o.readOnce.Do(func() { close(o.jobsRead) })
	o.Jobs.Replace(nil) // the list would keep what it knows of a job
	o.Jobs.Replace(all)
}

// partSize is how many jobs are shown at a time while the list is read for the first time. AWS lists 100 jobs for each
// request, so a list of 100,000 takes half a minute.
const partSize = 1000

// listJobs reads all jobs of all queues, and those that only the ledger remembers. The first time, it shows parts of
// the list while it reads.
func (o *Observer) listJobs(ctx context.Context, isFirst bool) error {
	call, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer call.Close()
	queues, err := call.Described(ctx, nil)
	if err != nil {
		return err
	}
	member := o.submissions(call)
	var all []joblist.Job
	seen := map[string]bool{}
	for _, q := range queues {
		if q.HasServiceJobs() {
			continue
		}
		for job, err := range call.Client.List(ctx, client.Filter{Queues: []string{q.Name}}) {
			if err != nil {
				return err
			}
			seen[aws.ToString(job.JobId)] = true
			all = append(all, member(Listed(job, q.Name)))
			if isFirst && len(all)%partSize == 0 {
				o.Jobs.Update(all[len(all)-partSize:])
				o.signal()
			}
		}
	}
	old, err := call.Client.Forgotten(ctx, func(id string) bool { return seen[id] },
		func(types.JobSummary) bool { return true }, mostForgotten)
	if err != nil {
		return err
	}
	for _, job := range old {
		all = append(all, member(Listed(job, "")))
	}
	o.Jobs.Replace(all)
	return nil
}

// submissions returns a function that adds what the ledger knows of a job: its submission and workflow.
func (o *Observer) submissions(call *jobs.Call) func(joblist.Job) joblist.Job {
	con := &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}
	entries, _ := session.Entries(con, call.Target) // without a ledger, no job has a workflow
	type membership struct{ run, workflow, queue string }
	known := make(map[string]membership, len(entries))
	for _, e := range entries {
		known[e.ID] = membership{e.Run, e.Workflow, batch.Name(e.Queue)}
	}
	return func(j joblist.Job) joblist.Job {
		if m, ok := known[j.ID]; ok {
			j.Run, j.Workflow, j.Queue = m.run, m.workflow, cmp.Or(j.Queue, m.queue)
		}
		return j
	}
}

// Listed converts a listed job.
func Listed(s types.JobSummary, queue string) joblist.Job {
	j := joblist.Job{ID: aws.ToString(s.JobId), Name: aws.ToString(s.JobName), Status: string(s.Status), Queue: queue,
		Definition: batch.Name(aws.ToString(s.JobDefinition)),
		Reason:     session.ListedReason(s), Created: aws.ToInt64(s.CreatedAt), Started: aws.ToInt64(s.StartedAt),
		Stopped: aws.ToInt64(s.StoppedAt)}
	if a := s.ArrayProperties; a != nil && a.Index == nil && aws.ToInt32(a.Size) > 0 {
		j.Size, j.Counts = int(*a.Size), map[string]int{}
		for status, n := range a.StatusSummary {
			if n > 0 {
				j.Counts[status] = int(n)
			}
		}
	}
	return j
}

// updateJobs applies a snapshot to the list of jobs: those that it shows, and those that it no longer shows because
// they ended. It also reads the tags of some jobs.
func (o *Observer) updateJobs(ctx context.Context, s *top.Snapshot) {
	select {
	case <-o.jobsRead:
	default:
		return // there is no list yet
	}
	if o.wantsJobs.Load() == 0 {
		return
	}
	var current []joblist.Job
	shown, isNew := map[string]bool{}, false
	for _, j := range s.Jobs {
		job := Listed(*j.Job.Shape, j.Queue)
		_, known := o.Jobs.Get(job.ID)
		shown[job.ID], isNew = true, isNew || !known
		current = append(current, job)
	}
	var wanted []string
	for _, id := range o.Jobs.Unfinished() {
		if !shown[id] && !s.MoreJobs && len(wanted) < tagsAtOnce {
			wanted = append(wanted, id)
		}
	}
	wanted = append(wanted, o.Jobs.Untagged(tagsAtOnce-len(wanted))...)
	if !isNew && len(wanted) == 0 {
		o.Jobs.Update(current)
		return
	}
	call, err := o.Open(ctx)
	if err != nil {
		return // the next snapshot reports it
	}
	defer call.Close()
	if isNew { // the ledger tells which workflow they belong to
		member := o.submissions(call)
		for i := range current {
			current[i] = member(current[i])
		}
	}
	o.Jobs.Update(current)
	if len(wanted) == 0 {
		return
	}
	details, err := call.Client.Describe(ctx, wanted...)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return
	}
	byID := map[string]types.JobDetail{}
	for _, d := range details {
		byID[aws.ToString(d.JobId)] = d
	}
	var described []joblist.Job
	for _, id := range wanted {
		job, known := o.Jobs.Get(id)
		d, found := byID[id]
		switch {
		case found:
			job = WithDetail(job, d)
		case known && job.Tags == nil: // the service no longer has it: do not ask again
			job.Tags = map[string]string{}
		}
		if known {
			described = append(described, job)
		}
	}
	o.Jobs.Update(described)
}

// WithDetail returns a listed job with what only its description has.
func WithDetail(j joblist.Job, d types.JobDetail) joblist.Job {
	j.Status, j.Started, j.Stopped = string(d.Status), aws.ToInt64(d.StartedAt), aws.ToInt64(d.StoppedAt)
	j.Tags = d.Tags
	if j.Tags == nil {
		j.Tags = map[string]string{}
	}
	if j.Run == "" {
		j.Run, j.Workflow = d.Tags[client.RunTag], d.Tags[client.WorkflowTag]
	}
	if a := d.ArrayProperties; a != nil && j.Size > 0 {
		j.Counts = map[string]int{}
		for status, n := range a.StatusSummary {
			if n > 0 {
				j.Counts[status] = int(n)
			}
		}
	}
	summary := types.JobSummary{Status: d.Status, StatusReason: d.StatusReason}
	if d.Container != nil {
		summary.Container = &types.ContainerSummary{ExitCode: d.Container.ExitCode, Reason: d.Container.Reason}
	}
	j.Reason = session.ListedReason(summary)
	return j
}
