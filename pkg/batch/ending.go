package batch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// The texts below are those that AWS Batch, ECS and the container engines write; sources: the AWS
// Batch and ECS user guides (stopped task errors, troubleshooting), and messages that users
// published.

// Ending is how the last attempt of a job ended.
type Ending struct {
	// Attempts counts the attempts of the job.
	Attempts int
	// JobReason is the job's statusReason, StatusReason that of the attempt, and Reason that of the
	// container.
	JobReason, StatusReason, Reason string
	// Exit is nil if the container left no exit code.
	Exit *int32
	// ReasonExit is the exit code of the container that gave Reason; nil if it has none.
	ReasonExit *int32
	Image      string
	// Process means that the attempt ran as a process on the user's machine, so its image was not
	// used.
	Process bool
	// Stopped means that a user, or batchctl, cancelled or terminated the job.
	Stopped bool
}

// EndingOf reads the end of a job's last attempt. The job's own members also describe the last
// attempt, and exist if it has no attempts.
func EndingOf(job *types.JobDetail) Ending {
	str := aws.ToString
	e := Ending{Attempts: max(len(job.Attempts), len(job.EksAttempts)), JobReason: str(job.StatusReason),
		StatusReason: str(job.StatusReason),
		Stopped:      aws.ToBool(job.IsCancelled) || aws.ToBool(job.IsTerminated)}
	if c := job.Container; c != nil {
		e.Reason, e.Exit, e.Image = str(c.Reason), c.ExitCode, str(c.Image)
		e.Process = ranAsProcess(c.ContainerInstanceArn)
	}
	e.ReasonExit = e.Exit
	if n := len(job.Attempts); n > 0 {
		e.takeAttempt(job.Attempts[n-1])
	}
	if n := len(job.EksAttempts); n > 0 {
		a := job.EksAttempts[n-1]
		e.StatusReason = cmp.Or(str(a.StatusReason), e.StatusReason)
		e.Process = IsLocal(str(job.JobArn)) && str(a.NodeName) == "local-process"
		for _, c := range slices.Concat(a.InitContainers, a.Containers) {
			e.take(c.ExitCode, c.Reason)
		}
	}
	if job.EcsProperties != nil && e.Image == "" {
		for _, task := range job.EcsProperties.TaskProperties {
			for _, c := range task.Containers {
				e.Image = cmp.Or(e.Image, str(c.Image))
			}
		}
	}
	if pod := job.EksProperties; pod != nil && pod.PodProperties != nil {
		for _, c := range pod.PodProperties.Containers {
			e.Image = cmp.Or(e.Image, str(c.Image))
		}
	}
	return e
}

// takeAttempt records the last attempt of a job on ECS.
func (e *Ending) takeAttempt(a types.AttemptDetail) {
	e.StatusReason = cmp.Or(aws.ToString(a.StatusReason), e.StatusReason)
	if c := a.Container; c != nil {
		e.Reason, e.Exit = cmp.Or(aws.ToString(c.Reason), e.Reason), cmp.Or(c.ExitCode, e.Exit)
		e.Process = ranAsProcess(c.ContainerInstanceArn)
	}
	e.ReasonExit = e.Exit
	for _, task := range a.TaskProperties {
		e.Process = e.Process || ranAsProcess(task.ContainerInstanceArn)
		for _, c := range task.Containers {
			e.take(c.ExitCode, c.Reason)
		}
	}
}

// ranAsProcess reports whether a local engine ran the attempt as a process: the name of the
// container instance is then local-process.
func ranAsProcess(instance *string) bool {
	return strings.HasPrefix(aws.ToString(instance), "arn:aws:ecs:local:") &&
		strings.HasSuffix(aws.ToString(instance), "/local-process")
}

// take records the end of one of several containers, if it is the first that failed.
func (e *Ending) take(exit *int32, reason *string) {
	failed := e.Exit != nil && *e.Exit != 0
	if exit != nil && !failed {
		e.Exit = exit
	}
	if e.Reason == "" && aws.ToString(reason) != "" {
		e.Reason, e.ReasonExit = *reason, exit
	}
}

// Exited reports whether the container ended with one of these codes.
func (e *Ending) Exited(codes ...int32) bool { return e.Exit != nil && slices.Contains(codes, *e.Exit) }

// Mentions reports whether a reason contains one of the texts, in any case.
func (e *Ending) Mentions(texts ...string) bool {
	all := strings.ToLower(e.JobReason + "\n" + e.StatusReason + "\n" + e.Reason)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, strings.ToLower(text)) })
}

// Stopping reports whether the agent failed to stop or remove a container, which had run.
func (e *Ending) Stopping() bool {
	return e.Mentions("CannotStopContainer", "transition to stopped", "CannotRemoveContainer", "cannot stop container",
		"failed to stop container", "cannot kill container")
}

// Ran reports whether the program certainly ran. Errors of the agent then concern the end of its
// container, such as its log or its removal, and not its start.
func (e *Ending) Ran() bool {
	switch {
	case e.Stopping():
		return true
	case e.ReasonExit == nil:
		return false
	case *e.ReasonExit > 0 && *e.ReasonExit < 125:
		return true
	case *e.ReasonExit >= 125 && *e.ReasonExit <= 128:
		return false // container engines use these codes for a command that did not start
	}
	return !e.Mentions("CannotStart", "CannotCreate", "CannotPull", "StartError", "ContainerCannotRun")
}

// Starting reports whether a reason about the start of the container contains one of the texts.
func (e *Ending) Starting(texts ...string) bool { return !e.Ran() && e.Mentions(texts...) }

// OutOfMemory reports whether a reason says that the container was killed for its memory, whatever
// its exit code. atStart means that the memory did not suffice for the container's own start. Exit
// code 137 alone does not count: anything can send SIGKILL.
func (e *Ending) OutOfMemory() (killed, atStart bool) {
	// runc names a container whose memory does not suffice for its own start.
	atStart = e.Starting("init was OOM-killed", "memory limit too low")
	return atStart || e.Mentions("OutOfMemoryError", "OOMKilled", "OutOfMemory: Container killed"), atStart
}

// LostInstance reports whether the job lost its instance while it ran. spot means that the reason
// names Spot. AWS Batch describes the loss of a Spot instance on EC2 like that of any other.
func (e *Ending) LostInstance() (lost, spot bool) {
	spot = e.Mentions("Your Spot Task was interrupted", "SpotInterruption")
	return spot || e.Mentions("Host EC2 (instance"), spot
}

// HostFailed reports whether the container engine of the instance did not answer in time.
func (e *Ending) HostFailed() bool {
	return e.Mentions("DockerTimeoutError", "RuntimeTimeoutError")
}
