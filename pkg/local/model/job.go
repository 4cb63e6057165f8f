package model

import (
	"cmp"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

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

// class is what tasks in one list of a queue have in common: if one of them has to wait for a
// consumable resource, all have to.
type class struct {
	share    string
	priority int32 // in the share, higher first
	platform types.PlatformCapability
	consumes string
	unit     string // instance type of service jobs
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

// Resource returns the resource of a job.
func (j *Job) Resource() Resource {
	if j.Service != nil {
		return ResourceOf(KindServiceJob, j.ID)
	}
	return ResourceOf(KindJob, j.ID)
}

// load returns what the job takes of an environment and of its share: thousandths of a vCPU, or of an
// instance.
func (j *Job) load() int64 {
	if j.Service != nil {
		return j.Service.Training.instanceCount() * 1000
	}
	return j.Need.MilliCPU
}

// ID returns the job's id, with :index for a child.
func (t *Task) ID() string {
	if t.IsChild() {
		return t.Job.ID + ":" + strconv.Itoa(int(t.Index))
	}
	return t.Job.ID
}

// ARN returns the ARN of the task.
func (t *Task) ARN() string {
	if t.Job.Service != nil {
		return t.Job.Resource().ARN()
	}
	return ARN(KindJob, t.ID())
}

// IsParent reports whether the task is the parent of an array.
func (t *Task) IsParent() bool { return t.Index < 0 && len(t.Job.Children) > 0 }

// IsChild reports whether the task is a child of an array.
func (t *Task) IsChild() bool { return t.Index >= 0 }

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

// Stop returns the event that cancels or terminates the task. It returns none if that has no effect: the task has
// ended, it is being terminated, or it has started and would only be cancelled.
func (t *Task) Stop(terminate bool, reason string) []Event {
	if t.State.Ended() || t.Terminated || !terminate && !t.State.Waits() {
		return nil
	}
	return []Event{{Stopped: &Stop{Job: t.ID(), Terminate: terminate, Reason: reason}}}
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

// counted returns the number of attempts for the retry strategy. Preempted ones have their own limit.
func (t *Task) counted() (n int) {
	for i := range t.Attempts {
		if !t.Attempts[i].Preempted {
			n++
		}
	}
	return n
}
