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
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// topJobs is how many jobs one snapshot shows.
	topJobs = 1000
	// topDetails is how many jobs are described for one snapshot: the maximum of one
	// DescribeJobs call.
	topDetails = 100
	// topQueues is how many queues one snapshot shows, and topAtOnce how many of them are
	// queried at the same time. AWS limits the request rate of an account.
	topQueues = 50
	topAtOnce = 4
	// topPatience limits one snapshot of a target that does not answer.
	topPatience = 30 * time.Second
)

// Read takes one snapshot of the queues and jobs that the options name, or of all.
func Read(ctx context.Context, con *term.Console, o jobs.Options) (*Snapshot, error) {
	r := newReader(ctx, con, o)
	s, err := r.read(ctx, nil)
	return s, errors.Join(err, r.close())
}

// Snapshot is the state of a target's queues at one time. top --output json
// prints it.
type Snapshot struct {
	Target string    `json:"target"`
	Time   time.Time `json:"time"`
	// Queues are the queues of the command line, or all, sorted by name.
	Queues []Queue `json:"queues"`
	// Jobs are the unfinished jobs: running ones first, and then the oldest.
	Jobs []Job `json:"jobs"`
	// MoreJobs reports that the queues have more jobs than Jobs shows.
	MoreJobs bool `json:"moreJobs"`
	// Note names data that the service did not provide, and why.
	Note string `json:"note,omitempty"`
}

// MachinesInUse describes the machines that AWS Batch does not scale, with the capacity in use.
func (s *Snapshot) MachinesInUse() []string {
	var environments []jobqueue.Environment
	for _, q := range s.Queues {
		environments = append(environments, q.EnvironmentStates...)
	}
	return jobqueue.MachinesInUse(environments)
}

// Queue is a queue with its first job.
type Queue struct {
	jobqueue.Queue
	// AtLeast are the statuses whose number of jobs is only a lower bound.
	AtLeast []types.JobStatus `json:"atLeast,omitempty"`
	Head    *Head             `json:"head,omitempty"`
}

// Head is the first RUNNABLE job of a queue.
type Head struct {
	JobID   string `json:"jobId"`
	JobName string `json:"jobName,omitempty"`
	// Since is the earliest time at which the job was first, in milliseconds since 1970.
	Since        *int64 `json:"earliestTimeAtPosition,omitempty"`
	StatusReason string `json:"statusReason,omitempty"`
}

// Job is an unfinished job.
type Job struct {
	Queue string                         `json:"jobQueue"`
	Job   wire.Native[*types.JobSummary] `json:"job"`
	// Attempts is the number of attempts; nil if this snapshot did not describe the job.
	Attempts *int `json:"attempts,omitempty"`
	// Allowed is the number of attempts in the job's retry strategy; 0 if it is unknown.
	Allowed int `json:"attemptsAllowed,omitempty"`
}

func (j Job) id() string              { return aws.ToString(j.Job.Shape.JobId) }
func (j Job) name() string            { return aws.ToString(j.Job.Shape.JobName) }
func (j Job) status() types.JobStatus { return j.Job.Shape.Status }

// since returns the start of a running job, and the creation of any other.
func (j Job) since() *int64 {
	if s := j.Job.Shape; aws.ToInt64(s.StartedAt) > 0 && s.Status == types.JobStatusRunning {
		return s.StartedAt
	}
	return j.Job.Shape.CreatedAt
}

// children returns the number of an array's children by status; nil for other
// jobs.
func (j Job) children() map[string]int32 {
	if a := j.Job.Shape.ArrayProperties; a != nil && a.Index == nil && aws.ToInt32(a.Size) > 0 {
		return a.StatusSummary
	}
	return nil
}

// topReader reads snapshots of a target. It reconnects when a local engine ends
// or begins. It is not safe for concurrent use.
type topReader struct {
	open func() (*jobs.Call, error)
	con  *term.Console // for the resolver's notes
	args []string      // queues and handles of the command line; empty for all queues
	call *jobs.Call
	lost bool // the last snapshot failed
	// chosen is what args mean; nil before the first snapshot.
	chosen *selection
}

// newReader returns a reader of what the options name. The caller closes it.
func newReader(ctx context.Context, con *term.Console, o jobs.Options) *topReader {
	return &topReader{con: con, args: o.Args,
		open: func() (*jobs.Call, error) { return jobs.OpenFor(ctx, con, o, target.ToRead) }}
}

// read takes one snapshot. It describes the jobs with the ids of wanted first.
func (r *topReader) read(ctx context.Context, wanted []string) (*Snapshot, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, topPatience, errors.New("no answer for "+text.Duration(topPatience)))
	defer cancel()
	s, err := r.snapshot(ctx, wanted)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.lost = err != nil
	return s, err
}

// connect opens the target. It opens it again after a failure, because there may
// be new credentials or another engine. It also opens an engine in this process
// again each time, because that only shows the state which an ended engine left
// on the disk.
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

// close closes the target, if it is open.
func (r *topReader) close() error {
	if r.call == nil {
		return nil
	}
	return r.call.Close()
}

// snapshot reads the queues and their jobs, and describes some of the jobs.
func (r *topReader) snapshot(ctx context.Context, wanted []string) (*Snapshot, error) {
	if err := r.connect(); err != nil {
		return nil, err
	}
	if err := r.choose(ctx); err != nil {
		return nil, err
	}
	queues, err := r.call.Described(ctx, r.chosen.queues)
	if err != nil {
		return nil, err
	}
	queues = slices.DeleteFunc(queues, jobqueue.Queue.HasServiceJobs) // top shows jobs
	s := &Snapshot{Target: titleOf(r.call), Queues: []Queue{}, Jobs: []Job{}}
	if n := len(queues); n > topQueues {
		queues = queues[:topQueues]
		s.Note = fmt.Sprintf("showing the first %d of %d queues; to choose others: batchctl top QUEUE", topQueues, n)
	}
	statuses, err := r.readQueues(ctx, queues)
	if err != nil {
		return nil, err
	}
	for i, q := range queues {
		s.add(q, statuses[i])
	}
	s.Time = time.Now()
	if err := r.chosen.filter(r.call, s); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.Jobs, firstInLife)
	if len(s.Jobs) > topJobs {
		s.Jobs, s.MoreJobs = s.Jobs[:topJobs], true
	}
	return s, s.describe(ctx, r.call.Client, wanted)
}

// readQueues queries the queues, topAtOnce at a time. An error stops the
// remaining queries.
func (r *topReader) readQueues(ctx context.Context, queues []jobqueue.Queue) ([]*client.QueueStatus, error) {
	statuses, errs := make([]*client.QueueStatus, len(queues)), make([]error, len(queues))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	turn := make(chan struct{}, topAtOnce)
	for i, q := range queues {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if statuses[i], errs[i] = r.call.Client.QueueStatus(ctx, q.Name); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	for _, err := range errs { // prefer the error that stopped the others
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return statuses, errors.Join(errs...)
}

// titleOf names the target for the head of the screen.
func titleOf(call *jobs.Call) string {
	switch {
	case call.IsLocal() && call.Engine != nil:
		return call.Label + " (no engine is running; this is its last recorded state)"
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
func (s *Snapshot) add(q jobqueue.Queue, status *client.QueueStatus) {
	t := Queue{Queue: q, AtLeast: status.More}
	s.MoreJobs = s.MoreJobs || len(status.More) > 0
	for _, job := range status.Jobs {
		s.Jobs = append(s.Jobs, Job{Queue: q.Name, Job: wire.Native[*types.JobSummary]{Shape: &job}})
	}
	t.Jobs = depthOf(status.Jobs)
	switch snapshot := status.Snapshot; {
	case snapshot == nil:
		s.Note = "capacity in use and heads of queues are not shown: " + status.SnapshotErr.Error()
	default:
		t.Utilization.Shape = snapshot.QueueUtilization
		if snapshot.FrontOfQueue != nil && len(snapshot.FrontOfQueue.Jobs) > 0 {
			first := snapshot.FrontOfQueue.Jobs[0]
			t.Head = &Head{JobID: batch.Name(aws.ToString(first.JobArn)), Since: first.EarliestTimeAtPosition}
		}
	}
	s.Queues = append(s.Queues, t)
}

// depthOf counts jobs by status. Of an array, it counts the children.
func depthOf(list []types.JobSummary) map[types.JobStatus]int {
	depth := map[types.JobStatus]int{}
	for _, status := range lifeOrder {
		depth[status] = 0
	}
	for i := range list {
		children := Job{Job: wire.Native[*types.JobSummary]{Shape: &list[i]}}.children()
		if children == nil {
			depth[list[i].Status]++
		}
		for status := range depth {
			depth[status] += int(children[string(status)])
		}
	}
	return depth
}

// describe fetches what the list does not have: the attempts, and why the first
// job of each queue waits. Jobs that no longer exist stay unchanged.
func (s *Snapshot) describe(ctx context.Context, c *once.Client, wanted []string) error {
	details, err := c.Describe(ctx, s.detailIDs(wanted)...)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return err
	}
	byID := make(map[string]*types.JobDetail, len(details))
	for i := range details {
		byID[aws.ToString(details[i].JobId)] = &details[i]
	}
	for i := range s.Jobs {
		if d := byID[s.Jobs[i].id()]; d != nil {
			s.Jobs[i].Attempts = aws.Int(batch.Attempts(*d))
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

// mask masks credentials in the texts of the live view. The screen is written in
// pieces, in which a masking writer could not find them.
func (s *Snapshot) mask() {
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

// detailIDs returns the ids for one DescribeJobs call: the first jobs of the queues, the
// wanted jobs, and then the first listed ones.
func (s *Snapshot) detailIDs(wanted []string) []string {
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

// lifeOrder are the statuses of unfinished jobs, in the order of a job's life.
var lifeOrder = [...]types.JobStatus{types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable,
	types.JobStatusStarting, types.JobStatusRunning}

// firstInLife orders jobs by progress: running jobs come first, and arrays with
// running children. Jobs with the same progress are ordered by age, the oldest
// first.
func firstInLife(a, b Job) int {
	return cmp.Or(
		cmp.Compare(b.progress(), a.progress()),
		oldestFirst(a, b),
	)
}

// oldestFirst orders jobs by the time of since, and then by id, so that the order
// is stable between snapshots.
func oldestFirst(a, b Job) int {
	return cmp.Or(cmp.Compare(aws.ToInt64(a.since()), aws.ToInt64(b.since())), cmp.Compare(a.id(), b.id()))
}

// progress returns the index of the job's status in lifeOrder. For an array, it
// is that of its most advanced unfinished child.
func (j Job) progress() int {
	furthest := slices.Index(lifeOrder[:], j.status())
	for i, status := range lifeOrder {
		if j.children()[string(status)] > 0 {
			furthest = max(furthest, i)
		}
	}
	return furthest
}
