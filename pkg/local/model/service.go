package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Service is what only a service job has. Everything else of it is that of a job with one container, so
// that states, attempts, retries and the scheduler are the same.
type Service struct {
	Request  *awsbatch.SubmitServiceJobInput
	Training *Training
	// ScheduledAt is when the job was SCHEDULED last, in epoch milliseconds; 0: never.
	ScheduledAt int64
	// Preempting is why its attempt is asked to end for another job; "": it is not.
	Preempting string
}

// submitService adds a service job. It waits for no other job, so it is RUNNABLE at once.
func (m *Model) submitService(at int64, s *ServiceSubmission) error {
	if s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit service job %q: the job exists, or has no id", s.ID)
	}
	in := s.Request.V
	training, err := ParseTraining(aws.ToString(in.ServiceRequestPayload))
	if err != nil || in.JobName == nil || in.JobQueue == nil {
		return fmt.Errorf("submit service job %s: no name or queue, or %w", s.ID, err)
	}
	j := &Job{ID: s.ID, Seq: int64(len(m.BySubmission)), CreatedAt: at, TallyAt: at, Service: &Service{Request: in, Training: training},
		Definition: &Definition{Request: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("")}},
		Request:    loweredService(in, training), Work: Work{Container: trainingContainer(training), Need: Amount{GPUs: training.gpus()}}}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	m.add(at, j, s.Invocation)
	if in.ClientToken != nil {
		m.tokens[*in.ClientToken] = j
	}
	return m.moveOne(at, &j.Task, Runnable, "")
}

// loweredService returns the members that a service job shares with other jobs, in their form. A quota
// share takes the place of a fair-share identifier.
func loweredService(in *awsbatch.SubmitServiceJobInput, training *Training) *awsbatch.SubmitJobInput {
	out := &awsbatch.SubmitJobInput{JobName: in.JobName, JobQueue: in.JobQueue, Tags: in.Tags,
		ShareIdentifier: cmp.Or(in.ShareIdentifier, in.QuotaShareName), SchedulingPriorityOverride: in.SchedulingPriority}
	limit := training.maxRuntime()
	if t := in.TimeoutConfig; t != nil && t.AttemptDurationSeconds != nil {
		limit = min(limit, *t.AttemptDurationSeconds)
	}
	out.Timeout = &types.JobTimeout{AttemptDurationSeconds: &limit}
	if r := in.RetryStrategy; r != nil {
		out.RetryStrategy = &types.RetryStrategy{Attempts: r.Attempts}
		for _, rule := range r.EvaluateOnExit {
			out.RetryStrategy.EvaluateOnExit = append(out.RetryStrategy.EvaluateOnExit,
				types.EvaluateOnExit{Action: types.RetryAction(rule.Action), OnStatusReason: rule.OnStatusReason})
		}
	}
	return out
}

// trainingContainer returns the container of a training job. SageMaker runs the image with the argument
// train, or with ContainerEntrypoint and ContainerArguments (developer guide, "How Amazon SageMaker AI
// runs your training image").
func trainingContainer(v *Training) *types.ContainerProperties {
	c := &types.ContainerProperties{Image: aws.String(v.Algorithm.Image), Command: v.Algorithm.Arguments}
	if len(v.Algorithm.Entrypoint) == 0 && len(c.Command) == 0 {
		c.Command = []string{"train"}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Environment)) {
		c.Environment = append(c.Environment, types.KeyValuePair{Name: aws.String(name), Value: aws.String(v.Environment[name])})
	}
	return c
}

// ServiceJob returns the service job with an id; nil if it does not exist.
func (m *Model) ServiceJob(id string) *Job {
	if j := m.Jobs[id]; j != nil && j.Service != nil {
		return j
	}
	return nil
}

// SubmittedWith returns the service job of an earlier request with a client token; nil if there is none,
// or the token is no longer valid.
func (m *Model) SubmittedWith(token string, now int64) *Job {
	if j := m.tokens[token]; j != nil && now-j.CreatedAt <= tokenLife {
		return j
	}
	return nil
}

// prioritize changes the scheduling priority of a service job and its position in the queue.
func (m *Model) prioritize(t *Task, p *Prioritization) error {
	j := t.Job
	if j.Service == nil {
		return fmt.Errorf("job %s is not a service job and keeps its priority", j.ID)
	}
	l := m.QueueJobs(*j.Request.JobQueue)
	if t.State == Runnable {
		l.leave(t)
	}
	j.Request.SchedulingPriorityOverride = &p.Priority
	j.class = classOf(j)
	if t.State == Runnable {
		l.enter(t)
	}
	return nil
}

// Preparing returns the event for an attempt of a service job that SageMaker would begin to prepare:
// SCHEDULED to STARTING.
func Preparing(t *Task) Event { return Event{Moved: &move{Job: t.ID(), To: Starting}} }

// Resource returns the resource of a job.
func (j *Job) Resource() Resource {
	if j.Service != nil {
		return ResourceOf(KindServiceJob, j.ID)
	}
	return ResourceOf(KindJob, j.ID)
}

// ARN returns the ARN of the task.
func (t *Task) ARN() string {
	if t.Job.Service != nil {
		return t.Job.Resource().ARN()
	}
	return ARN(KindJob, t.ID())
}

// load returns what the job takes of an environment and of its share: thousandths of a vCPU, or of an
// instance.
func (j *Job) load() int64 {
	if j.Service != nil {
		return j.Service.Training.instances() * 1000
	}
	return j.Need.MilliCPU
}

// longestTraining is SageMaker's limit on the length of TrainingJobName (API reference).
const longestTraining = 63

// TrainingName returns the name of the training job of an attempt. Batch puts it together from its own
// prefix, the name in the payload and an id (user guide, "Getting started with AWS Batch on SageMaker
// AI"). How it shortens a long name is not documented; here the id stays.
func (j *Job) TrainingName(a *Attempt) string {
	const prefix = "AWSBatch"
	id := strings.ReplaceAll(a.Stream, "-", "")
	name := j.Service.Training.Name
	return prefix + name[:min(len(name), max(longestTraining-len(prefix)-len(id), 0))] + id
}

// TrainingARN returns the ARN of the training job of an attempt.
func (j *Job) TrainingARN(a *Attempt) string {
	return "arn:aws:sagemaker:" + Region + ":" + Account + ":training-job/" + j.TrainingName(a)
}

// TrainingLogGroup is the log group of training jobs.
const TrainingLogGroup = "/aws/sagemaker/TrainingJobs"

// trainingStream returns the name of the log stream of an attempt: that of its training job and of its
// only host.
func (j *Job) trainingStream(a *Attempt) string { return j.TrainingName(a) + "/algo-1-" + a.Stream }

// Status reasons of service jobs. Users write evaluateOnExit rules for them (user guide, "Service job
// retry strategies"; SageMaker's Python SDK has the text of the internal error).
const (
	fromSageMaker   = "Received status from SageMaker: "
	reasonCompleted = fromSageMaker + "Training job completed"
	reasonInternal  = fromSageMaker + "InternalServerError: We encountered an internal error. Please try again."
	reasonRuntime   = fromSageMaker + "Training job runtime exceeded MaxRuntimeInSeconds provided"
	// ReasonCrossShare is Batch's reason of an attempt that had borrowed capacity (user guide, "Service job preemption
	// events"); that of the other kind is not documented.
	ReasonCrossShare = "Cross-share preemption triggered to reclaim borrowed capacity"
	reasonInShare    = "In-share preemption triggered by a job with a higher priority"
	// preempting begins the status reason while an attempt is asked to end (same page).
	preempting = "PREEMPTION_IN_PROGRESS: "
)

// reported returns an outcome with the status reason that Batch gives to service jobs.
func (j *Job) reported(o Outcome) Outcome {
	if j.Service == nil {
		return o
	}
	exit := aws.ToInt32(o.Exit)
	switch {
	case o.Unrunnable:
		o.StatusReason = "The local engine cannot run this training job: " + o.Reason
	case o.StatusReason == ReasonHost:
		o.StatusReason = reasonInternal
	case o.StatusReason == ReasonNotStarted:
		o.StatusReason = fromSageMaker + "ClientError: " + o.Reason
	case o.StatusReason == ReasonTimeout && j.Timeout() == j.Service.Training.maxRuntime():
		o.StatusReason = reasonRuntime
	case o.StatusReason != ReasonExited:
	case o.Exit != nil && exit == 0 && o.Reason == "":
		o.StatusReason = reasonCompleted
	default:
		// SageMaker puts the file /opt/ml/output/failure before the exit code.
		o.StatusReason = fromSageMaker + "AlgorithmError: " + strings.Join(slices.DeleteFunc([]string{o.Failure, o.Reason,
			fmt.Sprintf("exit code: %d", exit)}, func(part string) bool { return part == "" }), ", ")
	}
	return o
}
