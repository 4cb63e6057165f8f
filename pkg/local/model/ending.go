package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

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

// Ended returns the event for the end of an attempt that leads to a state.
func Ended(t *Task, o Outcome, to State) Event { return ended(t, t.Job.reported(o), to) }

// Ending returns the event for the end of a failed attempt. The retry strategy decides whether
// the job becomes RUNNABLE or FAILED.
func Ending(t *Task, o Outcome) Event {
	o = t.Job.reported(o)
	if !o.Unrunnable && retries(t.Job.Retry(), t.counted(), o) {
		return ended(t, o, Runnable)
	}
	return ended(t, o, Failed)
}

// Preempted returns the event for the end of an attempt that was preempted. The job waits again, until
// the retries of its preemptionConfiguration are used up.
func Preempted(t *Task, o Outcome) Event {
	n, limit := 1, t.Job.Service.Request.PreemptionConfiguration
	for i := range t.Attempts {
		if t.Attempts[i].Preempted {
			n++
		}
	}
	to := Runnable
	if limit != nil && limit.PreemptionRetriesBeforeTermination != nil &&
		n > int(*limit.PreemptionRetriesBeforeTermination) {
		to = Failed
	}
	o.StatusReason = t.Job.Service.Preempting
	e := ended(t, o, to)
	e.Ended.Preempted = true
	return e
}

// Preparing returns the event for an attempt of a service job that SageMaker would begin to prepare:
// SCHEDULED to STARTING.
func Preparing(t *Task) Event { return Event{Moved: &move{Job: t.ID(), To: Starting}} }

// ended returns the event with an outcome whose status reason is final.
func ended(t *Task, o Outcome, to State) Event {
	return Event{Ended: &end{Job: t.ID(), Exit: o.Exit, Reason: o.Reason, StatusReason: o.StatusReason, To: to,
		Containers: o.Containers}}
}

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
		o.StatusReason = fromSageMaker + "AlgorithmError: " +
			strings.Join(slices.DeleteFunc([]string{o.Failure, o.Reason,
				fmt.Sprintf("exit code: %d", exit)}, func(part string) bool { return part == "" }), ", ")
	}
	return o
}
