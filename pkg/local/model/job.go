package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Definition is one revision of a job definition.
type Definition struct {
	Revision int32 // from 1
	Request  *awsbatch.RegisterJobDefinitionInput
	Inactive bool // it was deregistered
}

// Name returns the definition's name, without the revision.
func (d *Definition) Name() string { return *d.Request.JobDefinitionName }

// ID returns the definition's name:revision.
func (d *Definition) ID() string { return d.Name() + ":" + strconv.Itoa(int(d.Revision)) }

// Job is the result of one SubmitJob: everything that its task and its children share.
type Job struct {
	Task
	ID         string // UUID
	Seq        int64  // order of submission
	CreatedAt  int64  // epoch milliseconds
	Definition *Definition
	Request    *awsbatch.SubmitJobInput
	Directory  string // where its commands run; empty: its own scratch directory
	// Service is what only service jobs have; nil for other jobs. Their Definition and Request are
	// derived from it.
	Service *Service
	Work
	class      class
	fit        int               // in Dispatcher.fits
	Children   []Task            // of an array
	Tally      [Failed + 1]int32 // children by state
	TallyAt    int64             // when the tally changed last, epoch milliseconds
	dependents []*Job
}

// Work is what a job runs and requests: its definition with the request's overrides.
type Work struct {
	// Container is the only container; of several, the leading one.
	Container *types.ContainerProperties
	// Parts are the containers of a task that has several or of a pod, or the nodes; else empty.
	Parts    []Part
	Pod      *types.EksPodPropertiesDetail // nil for other jobs
	Need     Amount                        // of each attempt
	Consumes []Requirement
}

// WorkOf returns what a job of the definition runs and requests with the overrides of its request.
// The error is Batch's answer to an invalid request.
func WorkOf(d *Definition, in *awsbatch.SubmitJobInput) (*Work, error) {
	consumes := requirements(d.Request, in)
	if d.Request.EksProperties != nil {
		return podWork(d.Request.EksProperties, in.EksPropertiesOverride, consumes)
	}
	c, parts, need, err := requests(d, in)
	return &Work{Container: c, Parts: parts, Need: need, Consumes: consumes}, err
}

// podWork returns the work of a job of a pod. It accepts what older engines accepted: the journal must stay readable.
func podWork(p *types.EksProperties, over *types.EksPropertiesOverride, consumes []Requirement) (*Work, error) {
	pod, err := PodOf(p, over)
	if err != nil {
		return nil, err
	}
	w := &Work{Container: &types.ContainerProperties{}, Pod: pod, Parts: podParts(pod), Consumes: consumes}
	w.Need = podNeed(w.Parts)
	if at := slices.IndexFunc(w.Parts, func(p Part) bool { return p.Essential() }); at >= 0 {
		w.Container = w.Parts[at].Container
	}
	return w, nil
}

// Task is something with a state: a job, an array's parent or a child. A child and its parent
// have the same Job.
type Task struct {
	Job   *Job
	Index int32 // in the array; -1: the job itself
	State State
	// Cancelled ends the task if it has not started.
	Cancelled bool
	// Terminated also ends running attempts; both leave their reason in stopReason.
	Terminated bool
	stopReason string
	Reason     string // statusReason
	reasonAt   int64  // when the reason was given
	since      int64  // when it came into its state
	// parked is true for a RUNNABLE task that is not in its queue's order because it fits no
	// environment.
	parked    bool
	StartedAt int64 // of the newest attempt, epoch milliseconds
	StoppedAt int64 // when it ended, epoch milliseconds; 0: it has not
	Attempts  []Attempt
}

// Attempt is one run of a task.
type Attempt struct {
	Stream string // UUID of the log stream
	Handle string // by which the executor finds it
	// ImageDigest is that of the only container; "" is unknown.
	ImageDigest string
	GPUs        []string // devices
	// Environment is nil in journals of engines that had only one.
	Environment  *Environment
	CreatedAt    int64  // epoch milliseconds
	StartedAt    int64  // epoch milliseconds; 0: its command has not started
	StoppedAt    int64  // epoch milliseconds; 0: it is under way
	Exit         *int32 // nil: the container left no exit code
	Reason       string // of the container
	StatusReason string
	Executor     string         // that runs it; empty: unknown
	Containers   []ContainerEnd // of a task of several
	Preempted    bool           // it ended for another service job
}

// IsParent reports whether the task is the parent of an array.
func (t *Task) IsParent() bool { return t.Index < 0 && len(t.Job.Children) > 0 }

// IsChild reports whether the task is a child of an array.
func (t *Task) IsChild() bool { return t.Index >= 0 }

// ID returns the job's id, with :index for a child.
func (t *Task) ID() string {
	if t.IsChild() {
		return t.Job.ID + ":" + strconv.Itoa(int(t.Index))
	}
	return t.Job.ID
}

// compare compares by the order of submission; children of one array by index.
func (t *Task) compare(u *Task) int {
	return cmp.Or(cmp.Compare(t.Job.Seq, u.Job.Seq), cmp.Compare(t.Index, u.Index))
}

// Last returns the newest attempt; nil if there is none.
func (t *Task) Last() *Attempt {
	if len(t.Attempts) == 0 {
		return nil
	}
	return &t.Attempts[len(t.Attempts)-1]
}

// Active returns the attempt that has started and not ended; nil if there is none.
func (t *Task) Active() *Attempt {
	if t.State == Scheduled || t.State == Starting || t.State == Running {
		return t.Last()
	}
	return nil
}

// Stopped returns the reason for which the task, or its array, is being ended.
func (t *Task) Stopped() (reason string, ok bool) {
	if t.Cancelled || t.Terminated {
		return t.stopReason, true
	}
	if p := &t.Job.Task; t.IsChild() && (p.Cancelled || p.Terminated) {
		return p.stopReason, true
	}
	return "", false
}

// Retry returns the job's retry strategy: the request's overrides the definition's.
func (j *Job) Retry() *types.RetryStrategy {
	if j.Request.RetryStrategy != nil {
		return j.Request.RetryStrategy
	}
	return j.Definition.Request.RetryStrategy
}

// Timeout returns the maximum duration of an attempt in seconds; 0 for none.
func (j *Job) Timeout() int32 {
	t := j.Request.Timeout
	if t == nil {
		t = j.Definition.Request.Timeout
	}
	if t == nil {
		return 0
	}
	return aws.ToInt32(t.AttemptDurationSeconds)
}

// SchedulingPriority returns the job's priority in its share: the request's overrides the
// definition's.
func (j *Job) SchedulingPriority() *int32 {
	if j.Request.SchedulingPriorityOverride != nil {
		return j.Request.SchedulingPriorityOverride
	}
	return j.Definition.Request.SchedulingPriority
}

// Parameters returns the definition's parameters with those of the request, which override them.
func (j *Job) Parameters() map[string]string {
	return Merged(j.Definition.Request.Parameters, j.Request.Parameters)
}

// Ordered is a list of tasks in the order of submission.
type Ordered []*Task

// insert adds a task at its position, mostly at the end.
func (o *Ordered) insert(t *Task) {
	if n := len(*o); n == 0 || (*o)[n-1].compare(t) < 0 {
		*o = append(*o, t)
		return
	}
	at, _ := slices.BinarySearchFunc(*o, t, (*Task).compare)
	*o = slices.Insert(*o, at, t)
}

// remove takes a task out of the list; it must be in it.
func (o *Ordered) remove(t *Task) {
	at, ok := 0, len(*o) > 0 && (*o)[0] == t
	if !ok {
		at, ok = slices.BinarySearchFunc(*o, t, (*Task).compare)
	}
	switch {
	case !ok:
	case at == 0: // jobs mostly leave at the head; nothing is moved then
		(*o)[0] = nil
		*o = (*o)[1:]
	case at < len(*o)/2: // the shorter part moves
		copy((*o)[1:at+1], (*o)[:at])
		(*o)[0] = nil
		*o = (*o)[1:]
	default:
		*o = slices.Delete(*o, at, at+1)
	}
}

// SplitID returns the job id and the index of an id:index; the index is -1 if there is none.
func SplitID(id string) (job string, index int32, ok bool) {
	if !strings.Contains(id, ":") {
		return id, -1, true
	}
	job, n, ok := batch.SplitChildID(id)
	return job, int32(n), ok
}

// Fargate reports whether jobs of the definition run on Fargate.
func (d *Definition) Fargate() bool {
	return slices.Contains(d.Request.PlatformCapabilities, types.PlatformCapabilityFargate)
}
