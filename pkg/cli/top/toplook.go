package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
)

const (
	// topJobs is how many jobs one snapshot shows.
	topJobs = 1000
	// topDetails is how many jobs are described for one snapshot: one call's worth.
	topDetails = 100
	// topQueues is how many queues one snapshot shows, and topAtOnce how many of them
	// are looked at together: an account's requests are counted.
	topQueues = 50
	topAtOnce = 4
	// topPatience bounds one look at a target that does not answer.
	topPatience = 30 * time.Second
)

// topSnapshot is one look at the queues of a target, and what `top --output json`
// prints.
type topSnapshot struct {
	Target string    `json:"target"`
	Time   time.Time `json:"time"`
	// Queues are those asked for, by name.
	Queues []topQueue `json:"queues"`
	// Jobs are those that run or wait, running ones first and then the oldest.
	Jobs []topJob `json:"jobs"`
	// MoreJobs: the queues hold more than Jobs shows.
	MoreJobs bool `json:"moreJobs"`
	// Note says what the service did not let us see.
	Note string `json:"note,omitempty"`
}

// topQueue is a queue, and the job that is next.
type topQueue struct {
	jobs.QueueState
	// AtLeast are statuses whose number of jobs is a lower bound.
	AtLeast []types.JobStatus `json:"atLeast,omitempty"`
	Head    *topHead          `json:"head,omitempty"`
}

// topHead is the first RUNNABLE job of a queue.
type topHead struct {
	JobID   string `json:"jobId"`
	JobName string `json:"jobName,omitempty"`
	// Since is the earliest time at which it was first, in milliseconds since 1970.
	Since        *int64 `json:"earliestTimeAtPosition,omitempty"`
	StatusReason string `json:"statusReason,omitempty"`
}

// topJob is a job that runs or waits.
type topJob struct {
	Queue string                         `json:"jobQueue"`
	Job   jobs.Native[*types.JobSummary] `json:"job"`
	// Attempts is nil where the job was not described in this look.
	Attempts *int `json:"attempts,omitempty"`
	// Allowed is the attempts of the job's retry strategy; 0 where it is unknown.
	Allowed int `json:"attemptsAllowed,omitempty"`
}

func (j topJob) id() string              { return aws.ToString(j.Job.Shape.JobId) }
func (j topJob) name() string            { return aws.ToString(j.Job.Shape.JobName) }
func (j topJob) status() types.JobStatus { return j.Job.Shape.Status }

// since is the start of a job that runs, and of others their creation.
func (j topJob) since() *int64 {
	if s := j.Job.Shape; aws.ToInt64(s.StartedAt) > 0 && s.Status == types.JobStatusRunning {
		return s.StartedAt
	}
	return j.Job.Shape.CreatedAt
}

// children counts the children of an array by status; nil for other jobs.
func (j topJob) children() map[string]int32 {
	if a := j.Job.Shape.ArrayProperties; a != nil && a.Index == nil && aws.ToInt32(a.Size) > 0 {
		return a.StatusSummary
	}
	return nil
}

// topReader looks at a target again and again. It finds the local engine again
// when that ended, or began.
type topReader struct {
	open      func() (*jobs.Call, error)
	queueArgs []string // the queues asked for; none stands for all
	call      *jobs.Call
	lost      bool // the last look failed
}

// look takes one snapshot. The jobs of wanted are described first.
func (r *topReader) read(ctx context.Context, wanted []string) (*topSnapshot, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, topPatience, errors.New("no answer for "+term.Short(topPatience)))
	defer cancel()
	s, err := r.snapshot(ctx, wanted)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.lost = err != nil
	return s, err
}

// connect opens the target, and opens it again where that may help: after a failure
// there may be new credentials, or another engine; and an engine in this process only
// shows what an ended one left on the disk.
func (r *topReader) connect() error {
	if r.call != nil && !r.lost && r.call.Engine == nil {
		return nil
	}
	call, err := r.open()
	if err != nil {
		return err
	}
	err = r.close()
	r.call = call
	return err
}

func (r *topReader) close() error {
	if r.call == nil {
		return nil
	}
	return r.call.Close()
}

func (r *topReader) snapshot(ctx context.Context, wanted []string) (*topSnapshot, error) {
	if err := r.connect(); err != nil {
		return nil, err
	}
	queues, err := r.call.Described(ctx, r.queueArgs)
	if err != nil {
		return nil, err
	}
	s := &topSnapshot{Target: titleOf(r.call), Queues: []topQueue{}, Jobs: []topJob{}}
	if n := len(queues); n > topQueues {
		queues = queues[:topQueues]
		s.Note = fmt.Sprintf("the first %d of %d queues; name those that you mean: batchctl top QUEUE", topQueues, n)
	}
	looks, err := r.readQueues(ctx, queues)
	if err != nil {
		return nil, err
	}
	for i, q := range queues {
		s.add(q, looks[i])
	}
	s.Time = time.Now()
	slices.SortStableFunc(s.Jobs, firstInLife)
	if len(s.Jobs) > topJobs {
		s.Jobs, s.MoreJobs = s.Jobs[:topJobs], true
	}
	return s, s.describe(ctx, r.call.Client, wanted)
}

// readQueues looks at the queues, at a few of them at a time.
func (r *topReader) readQueues(ctx context.Context, queues []jobs.QueueState) ([]*client.QueueStatus, error) {
	looks, errs := make([]*client.QueueStatus, len(queues)), make([]error, len(queues))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	turn := make(chan struct{}, topAtOnce)
	for i, q := range queues {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if looks[i], errs[i] = r.call.QueueStatus(ctx, q.Name); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	for _, err := range errs { // not one that only says that another one stopped it
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return looks, errors.Join(errs...)
}

// titleOf names the target as the screen's head does.
func titleOf(call *jobs.Call) string {
	switch {
	case call.IsLocal() && call.Engine != nil:
		return call.Label + " (no engine runs; this is what its directory holds)"
	case call.IsLocal() || call.Platform == nil:
		return call.Label
	}
	entry, ok := call.Platform.Target(call.Name)
	if !ok {
		return call.Label
	}
	title := call.Name + ": " + call.Label
	if entry.Endpoint != "" {
		title += " at " + target.EndpointOf(aws.Config{BaseEndpoint: &entry.Endpoint})
	}
	return title
}

// add adds a queue and its jobs.
func (s *topSnapshot) add(q jobs.QueueState, look *client.QueueStatus) {
	t := topQueue{QueueState: q, AtLeast: look.More}
	s.MoreJobs = s.MoreJobs || len(look.More) > 0
	for _, job := range look.Jobs {
		s.Jobs = append(s.Jobs, topJob{Queue: q.Name, Job: jobs.Native[*types.JobSummary]{Shape: &job}})
	}
	t.Jobs = depthOf(look.Jobs)
	switch snapshot := look.Snapshot; {
	case snapshot == nil:
		s.Note = "capacity in use and heads of queues are not shown: " + look.SnapshotErr.Error()
	default:
		t.Utilization.Shape = snapshot.QueueUtilization
		if snapshot.FrontOfQueue != nil && len(snapshot.FrontOfQueue.Jobs) > 0 {
			first := snapshot.FrontOfQueue.Jobs[0]
			t.Head = &topHead{JobID: batch.Name(aws.ToString(first.JobArn)), Since: first.EarliestTimeAtPosition}
		}
	}
	s.Queues = append(s.Queues, t)
}

// depthOf counts jobs by status; of an array its children count.
func depthOf(list []types.JobSummary) map[types.JobStatus]int {
	depth := map[types.JobStatus]int{}
	for _, status := range lifeOrder {
		depth[status] = 0
	}
	for i := range list {
		children := topJob{Job: jobs.Native[*types.JobSummary]{Shape: &list[i]}}.children()
		if children == nil {
			depth[list[i].Status]++
		}
		for status := range depth {
			depth[status] += int(children[string(status)])
		}
	}
	return depth
}

// describe asks for what a list does not say: the attempts, and why the heads of
// the queues wait. Jobs that have gone meanwhile are left as they were.
func (s *topSnapshot) describe(ctx context.Context, c *once.Client, wanted []string) error {
	details, err := c.Describe(ctx, s.asked(wanted)...)
	if _, gone := errors.AsType[*client.MissingError](err); err != nil && !gone {
		return err
	}
	byID := make(map[string]*types.JobDetail, len(details))
	for i := range details {
		byID[aws.ToString(details[i].JobId)] = &details[i]
	}
	for i := range s.Jobs {
		if d := byID[s.Jobs[i].id()]; d != nil {
			s.Jobs[i].Attempts = aws.Int(len(d.Attempts))
			if d.RetryStrategy != nil {
				s.Jobs[i].Allowed = int(aws.ToInt32(d.RetryStrategy.Attempts))
			}
		}
	}
	for _, q := range s.Queues {
		if q.Head == nil {
			continue
		}
		if d := byID[q.Head.JobID]; d != nil {
			q.Head.JobName, q.Head.StatusReason = aws.ToString(d.JobName), aws.ToString(d.StatusReason)
		}
	}
	return nil
}

// mask masks credentials in the texts that the live view shows. The screen is written
// cell by cell, so a writer could not find them.
func (s *topSnapshot) mask() {
	mask := func(texts ...*string) {
		for _, text := range texts {
			if text != nil {
				*text = secret.Mask("", *text)
			}
		}
	}
	mask(&s.Target, &s.Note)
	for i := range s.Queues {
		q := &s.Queues[i]
		mask(&q.Name)
		if q.Head != nil {
			mask(&q.Head.JobName, &q.Head.StatusReason)
		}
		if q.Utilization.Shape != nil && q.Utilization.Shape.FairshareUtilization != nil {
			for _, share := range q.Utilization.Shape.FairshareUtilization.TopCapacityUtilization {
				mask(share.ShareIdentifier)
			}
		}
	}
	for i := range s.Jobs {
		mask(&s.Jobs[i].Queue, s.Jobs[i].Job.Shape.JobName, s.Jobs[i].Job.Shape.StatusReason)
	}
}

// asked are the ids for one call: heads of queues, what is wanted, and then the
// first jobs.
func (s *topSnapshot) asked(wanted []string) []string {
	listed := map[string]bool{}
	for _, j := range s.Jobs {
		listed[j.id()] = true
	}
	var ids []string
	known := map[string]bool{}
	add := func(id string) {
		if len(ids) < topDetails && !known[id] {
			known[id], ids = true, append(ids, id)
		}
	}
	for _, q := range s.Queues {
		if q.Head != nil {
			add(q.Head.JobID)
		}
	}
	for _, id := range wanted {
		if listed[id] {
			add(id)
		}
	}
	for _, j := range s.Jobs {
		add(j.id())
	}
	return ids
}

// lifeOrder is the statuses of jobs that have not ended, in the order of their life.
var lifeOrder = [...]types.JobStatus{types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable, types.JobStatusStarting, types.JobStatusRunning}

// firstInLife orders jobs: those that run first, with the arrays of which children
// do, then those nearest to it, and of one status the oldest first.
func firstInLife(a, b topJob) int {
	return cmp.Or(
		cmp.Compare(b.progress(), a.progress()),
		oldestFirst(a, b),
	)
}

func oldestFirst(a, b topJob) int {
	return cmp.Or(cmp.Compare(aws.ToInt64(a.since()), aws.ToInt64(b.since())), cmp.Compare(a.id(), b.id()))
}

// progress is the place in a job's life, of an array that of its furthest child
// which has not ended.
func (j topJob) progress() int {
	furthest := slices.Index(lifeOrder[:], j.status())
	for i, status := range lifeOrder {
		if j.children()[string(status)] > 0 {
			furthest = max(furthest, i)
		}
	}
	return furthest
}
