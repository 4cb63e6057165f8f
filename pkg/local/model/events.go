package model

import (
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// Event is one fact; exactly one member is set. Members are only ever added, and keep their name
// and meaning, so that old journals stay readable.
type Event struct {
	Registered   *Registration   `json:"registered,omitempty"`
	Deregistered *Deregistration `json:"deregistered,omitempty"`
	Submitted    *Submission     `json:"submitted,omitempty"`
	Stopped      *Stop           `json:"stopped,omitempty"`
	Moved        *move           `json:"moved,omitempty"`
	Explained    *Explanation    `json:"explained,omitempty"`
	Started      *Start          `json:"started,omitempty"`
	Launched     *Launch         `json:"launched,omitempty"`
	Ended        *end            `json:"ended,omitempty"`

	QueueCreated       *Shape[*awsbatch.CreateJobQueueInput]           `json:"queueCreated,omitempty"`
	QueueUpdated       *Shape[*awsbatch.UpdateJobQueueInput]           `json:"queueUpdated,omitempty"`
	EnvironmentCreated *EnvironmentCreation                            `json:"environmentCreated,omitempty"`
	EnvironmentUpdated *Shape[*awsbatch.UpdateComputeEnvironmentInput] `json:"environmentUpdated,omitempty"`
	PolicyCreated      *Shape[*awsbatch.CreateSchedulingPolicyInput]   `json:"policyCreated,omitempty"`
	PolicyUpdated      *Shape[*awsbatch.UpdateSchedulingPolicyInput]   `json:"policyUpdated,omitempty"`
	ConsumableCreated  *Shape[*awsbatch.CreateConsumableResourceInput] `json:"consumableCreated,omitempty"`
	ConsumableUpdated  *ConsumableTotal                                `json:"consumableUpdated,omitempty"`

	ServiceEnvironmentCreated *Shape[*awsbatch.CreateServiceEnvironmentInput] `json:"serviceEnvironmentCreated,omitempty"`
	ServiceEnvironmentUpdated *Shape[*awsbatch.UpdateServiceEnvironmentInput] `json:"serviceEnvironmentUpdated,omitempty"`
	QuotaShareCreated         *Shape[*awsbatch.CreateQuotaShareInput]         `json:"quotaShareCreated,omitempty"`
	QuotaShareUpdated         *Shape[*awsbatch.UpdateQuotaShareInput]         `json:"quotaShareUpdated,omitempty"`
	ServiceSubmitted          *ServiceSubmission                              `json:"serviceSubmitted,omitempty"`
	Prioritized               *Prioritization                                 `json:"prioritized,omitempty"`
	Preempted                 *Preemption                                     `json:"preempted,omitempty"`

	Deleted *Deletion `json:"deleted,omitempty"`
	Tagged  *Tagging  `json:"tagged,omitempty"`

	LogGroupCreated  *LogGroupCreation  `json:"logGroupCreated,omitempty"`
	LogStreamCreated *LogStreamCreation `json:"logStreamCreated,omitempty"`
	RetentionSet     *Retention         `json:"retentionSet,omitempty"`
	LogGroupDeleted  *LogGroupDeletion  `json:"logGroupDeleted,omitempty"`
	LogGroupTagged   *LogGroupTagging   `json:"logGroupTagged,omitempty"`
	LogStreamDeleted *LogStreamDeletion `json:"logStreamDeleted,omitempty"`
}

// EnvironmentCreation is a compute environment as CreateComputeEnvironment accepted it.
type EnvironmentCreation struct {
	UUID    string                                         `json:"uuid"`
	Request Shape[*awsbatch.CreateComputeEnvironmentInput] `json:"request"`
}

// ConsumableTotal is the new total of a consumable resource.
type ConsumableTotal struct {
	Consumable string `json:"consumable"` // name
	Total      int64  `json:"total"`
	Token      string `json:"token,omitempty"` // clientToken of the request
}

// Deletion removes a resource.
type Deletion struct {
	Resource Resource `json:"resource"`
}

// Tagging sets all tags of a resource.
type Tagging struct {
	Resource Resource          `json:"resource"`
	Tags     map[string]string `json:"tags"`
}

// LogGroupCreation is a log group of CreateLogGroup.
type LogGroupCreation struct {
	Group string            `json:"group"`
	Class string            `json:"class,omitempty"` // "": STANDARD
	Tags  map[string]string `json:"tags,omitempty"`
}

// LogGroupTagging sets all tags of a log group.
type LogGroupTagging struct {
	Group string            `json:"group"`
	Tags  map[string]string `json:"tags"`
}

// LogStreamCreation is a log stream of CreateLogStream. Its events are in the log store.
type LogStreamCreation struct {
	Group  string `json:"group"`
	Stream string `json:"stream"`
	File   string `json:"file"` // name of its files, see package logs
}

// Retention is the retention of a log group.
type Retention struct {
	Group string `json:"group"`
	Days  int32  `json:"days,omitempty"` // 0: events do not expire
}

// LogGroupDeletion removes a log group with its created streams.
type LogGroupDeletion struct {
	Group string `json:"group"`
}

// LogStreamDeletion removes a stream of CreateLogStream.
type LogStreamDeletion struct {
	Group  string `json:"group"`
	Stream string `json:"stream"`
}

// Registration is a new revision of a job definition.
type Registration struct {
	Revision   int32                                       `json:"revision"`
	Invocation string                                      `json:"invocation,omitempty"` // as in submission
	Request    Shape[*awsbatch.RegisterJobDefinitionInput] `json:"request"`
}

// Deregistration makes a revision INACTIVE.
type Deregistration struct {
	Definition string `json:"definition"` // name:revision
}

// Submission is a job as SubmitJob accepted it.
type Submission struct {
	ID         string `json:"id"`
	Definition string `json:"definition"` // name:revision
	Directory  string `json:"directory,omitempty"`
	// Invocation is the client's id of the call, the same on each of its retries.
	Invocation string `json:"invocation,omitempty"`
	// To is the state that the job enters at once, since it waits for no other. "": it is SUBMITTED
	// until a move follows.
	To      State                           `json:"to,omitempty"`
	Request Shape[*awsbatch.SubmitJobInput] `json:"request"`

	// Work is the result of WorkOf, if the caller has it already.
	Work *Work `json:"-"`
}

// ServiceSubmission is a service job as SubmitServiceJob accepted it.
type ServiceSubmission struct {
	ID string `json:"id"`
	// Invocation is as in Submission.
	Invocation string                                 `json:"invocation,omitempty"`
	Request    Shape[*awsbatch.SubmitServiceJobInput] `json:"request"`
}

// Prioritization is the new scheduling priority of a service job.
type Prioritization struct {
	Job      string `json:"job"`
	Priority int32  `json:"priority"`
}

// Preemption asks an attempt of a service job to end, so that another one can start.
type Preemption struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
}

// Stop is the request of CancelJob or TerminateJob. Moves and ends that follow from it are separate
// events.
type Stop struct {
	Job       string `json:"job"` // id or id:index
	Terminate bool   `json:"terminate,omitempty"`
	Reason    string `json:"reason"`
}

// move is a change of state without an attempt.
type move struct {
	Job    string `json:"job"`
	All    bool   `json:"all,omitempty"` // all children of the array, not its parent
	To     State  `json:"to"`
	Reason string `json:"reason,omitempty"`
}

// Explanation is why a RUNNABLE job does not start; "" if it may.
type Explanation struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
	// Waits means that the job can start without a change of a queue or environment, so it keeps
	// its position in the queue. Otherwise it is set aside until such a change.
	Waits bool `json:"waits,omitempty"`
}

// Start reserves capacity for an attempt: RUNNABLE to STARTING.
type Start struct {
	Job    string   `json:"job"`
	Stream string   `json:"stream"` // UUID of the log stream
	GPUs   []string `json:"gpus,omitempty"`
	// Environment is the compute environment that the attempt runs in; or the service environment; "" for none.
	Environment string `json:"environment,omitempty"`
	// Executor is the executor that runs the attempt; "" if it has no name.
	Executor string `json:"executor,omitempty"`
}

// Launch means that the attempt runs: STARTING to RUNNING.
type Launch struct {
	Job string `json:"job"`
	// Handle finds the attempt after a restart, through the executor.
	Handle string `json:"handle,omitempty"`
	// ImageDigest is that of the only container; "" if the executor uses no image.
	ImageDigest string `json:"imageDigest,omitempty"`
}

// end is the end of an attempt and the next state of the job.
type end struct {
	Job          string `json:"job"`
	Exit         *int32 `json:"exit,omitempty"`
	Reason       string `json:"reason,omitempty"`
	StatusReason string `json:"statusReason"`
	To           State  `json:"to"`
	// Containers are the containers of a task that has several, in the order of the definition.
	Containers []ContainerEnd `json:"containers,omitempty"`
	// Preempted means that the attempt ended for another service job.
	Preempted bool `json:"preempted,omitempty"`
}

// job returns the id of the task that an event is about; "" for events about resources.
func (e *Event) job() string {
	switch {
	case e.Stopped != nil:
		return e.Stopped.Job
	case e.Moved != nil:
		return e.Moved.Job
	case e.Explained != nil:
		return e.Explained.Job
	case e.Started != nil:
		return e.Started.Job
	case e.Launched != nil:
		return e.Launched.Job
	case e.Ended != nil:
		return e.Ended.Job
	case e.Prioritized != nil:
		return e.Prioritized.Job
	case e.Preempted != nil:
		return e.Preempted.Job
	case e.Tagged != nil:
		if kind, name := e.Tagged.Resource.Split(); kind == KindJob || kind == KindServiceJob {
			return name
		}
	}
	return ""
}
