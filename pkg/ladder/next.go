package ladder

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
)

// Need is the part of a job's request that a step can change.
type Need struct {
	Queue string `json:"queue,omitempty"`
	// Target is the name of the target that a step changed to; "" for that of the submission.
	Target    string  `json:"target,omitempty"`
	MemoryMiB int     `json:"memory,omitempty"`
	VCPUs     float64 `json:"vcpus,omitempty"`
	// Fargate means that memory and vCPUs must be a size that Fargate offers.
	Fargate bool `json:"-"`
}

// Step is one more job for a failed one: why, and what it requests.
type Step struct {
	Cause Cause `json:"cause"`
	Need
	// Saw is why the failed job had waited, for NoCapacity; "" if that was unknown.
	Saw string `json:"saw,omitempty"`
}

// CancelReason begins the reason with which a job without capacity is cancelled. AWS Batch keeps
// the reason, so the job's end has its cause even if the client is gone.
const CancelReason = "batchctl: no capacity for "

// maxReason is how long a reason of CancelJob may be (API reference, "up to 256 characters" of the user guide).
const maxReason = 250

// Cancellation returns the reason with which a job is cancelled that has waited for this time; saw is
// why it waited, "" if that is unknown.
func Cancellation(after time.Duration, saw string) string {
	reason := CancelReason + after.String()
	if saw != "" {
		reason += sawMark + saw
	}
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return reason
}

// sawMark separates the parts of a Cancellation.
const sawMark = ": "

// LacksCapacity reports whether a cause of `batchctl explain` is a lack of capacity, which another
// queue or target may have. Other causes, such as an invalid compute environment, a request that fits
// no instance type, or the fair share of the user, stay for a person to change.
func LacksCapacity(cause string) bool {
	return slices.Contains([]string{"no-capacity", "ec2-quota", "at-maxvcpus", "behind-others", "machine-full"}, cause)
}

// CausesOf returns the causes that a rung may be about, for a FAILED job or child. It is empty if
// no rung can apply: a user stopped the job, it reached its timeout, or a dependency failed. A job
// that lost its instance has two causes, since AWS Batch reports a Spot reclaim on EC2 like any
// other loss. An out-of-memory kill counts whatever the exit code is.
func CausesOf(job *types.JobDetail) []Cause {
	e := batch.EndingOf(job)
	killed, _ := e.OutOfMemory()
	lost, spot := e.LostInstance()
	switch {
	case strings.HasPrefix(e.JobReason, CancelReason) && job.StartedAt == nil:
		return []Cause{NoCapacity}
	case e.Stopped || e.Mentions("Job attempt duration exceeded timeout", "Dependent Job failed",
		"JobStateTimeLimit action"):
		return nil
	case killed:
		return []Cause{OutOfMemory}
	case spot:
		return []Cause{SpotReclaim}
	case lost:
		return []Cause{SpotReclaim, HostError}
	case e.HostFailed():
		return []Cause{HostError}
	case e.Exit != nil && *e.Exit != 0:
		return []Cause{ExitCodes}
	}
	return nil
}

// Next returns the step after a failed job or child, or why there is none. taken are the steps that
// led to the job, oldest first, and need is what the job requested.
func (l Ladder) Next(taken []Step, need Need, job *types.JobDetail) (step Step, why string) {
	causes := CausesOf(job)
	if len(causes) == 0 {
		return Step{}, "no step of onFailure applies to: " + orElse(aws.ToString(job.StatusReason), "its reason")
	}
	if len(taken) >= MaxSteps {
		return Step{}, fmt.Sprintf("all %d steps are used", MaxSteps)
	}
	for _, cause := range causes {
		rung, ok := l.Rung(cause)
		if !ok || cause == ExitCodes && !slices.Contains(rung.Codes, exitOf(job)) {
			continue
		}
		step, spent := rung.next(taken, need)
		if spent == "" {
			if cause == NoCapacity {
				_, step.Saw, _ = strings.Cut(strings.TrimPrefix(aws.ToString(job.StatusReason), CancelReason), sawMark)
			}
			return step, ""
		}
		why = spent
	}
	switch {
	case why != "":
		return Step{}, why
	case causes[0] == ExitCodes:
		return Step{}, fmt.Sprintf("no rung lists its exit code %d", exitOf(job))
	}
	return Step{}, fmt.Sprintf("no rung is about %s", causes[0])
}

// orElse returns a text, or another one if it is empty.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// exitOf returns the exit code of the job's last attempt.
func exitOf(job *types.JobDetail) int32 {
	e := batch.EndingOf(job)
	return aws.ToInt32(e.Exit)
}

// next returns the rung's next step, or why the rung has none left.
func (r Rung) next(taken []Step, need Need) (step Step, spent string) {
	step = Step{Cause: r.Cause, Need: need}
	used := 0
	for _, t := range taken {
		if t.Cause == r.Cause {
			used++
		}
	}
	switch {
	case r.Cause == OutOfMemory:
		return r.grow(need)
	case used < r.Attempts:
		return step, ""
	case used == r.Attempts && r.Target != "" && r.Target != need.Target:
		step.Target, step.Queue = r.Target, orElse(r.Queue, need.Queue)
		return step, ""
	case used == r.Attempts && r.Target == "" && r.Queue != "" && r.Queue != need.Queue:
		step.Queue = r.Queue
		return step, ""
	}
	return Step{}, fmt.Sprintf("%s: all %d steps are used", r.Cause, used)
}

// grow returns the step with more memory. On Fargate the memory is the next size that Fargate
// offers, with more vCPUs where it needs them.
func (r Rung) grow(need Need) (Step, string) {
	step := Step{Cause: OutOfMemory, Need: need}
	step.MemoryMiB = min(int(math.Ceil(float64(need.MemoryMiB)*r.Factor)), r.UpToMiB)
	if need.Fargate {
		step.VCPUs, step.MemoryMiB = fargateSize(need, step.MemoryMiB, r.UpToMiB)
	}
	if need.MemoryMiB <= 0 || step.MemoryMiB <= need.MemoryMiB {
		return Step{}, fmt.Sprintf("%s: the limit of %d MiB is reached", r.Cause, r.UpToMiB)
	}
	return step, ""
}

// fargateSize returns the smallest size of Fargate with the wanted memory, or else the largest one
// up to the limit.
func fargateSize(need Need, wanted, limit int) (vcpus float64, memory int) {
	if vcpus, memory, ok := catalog.FargateFit(need.VCPUs, wanted); ok && memory <= limit {
		return vcpus, memory
	}
	for _, v := range catalog.FargateVCPUs() {
		for _, m := range catalog.FargateMemory(v) {
			if v >= need.VCPUs && m <= limit && m > memory {
				vcpus, memory = v, m
			}
		}
	}
	return vcpus, memory
}

// Most returns the largest memory and vCPUs that the rungs may lead to, and the most jobs that run
// in all: for the most that a job can cost.
func (l Ladder) Most(need Need) (most Need, jobs int) {
	most, jobs = need, 1
	for _, r := range l {
		if r.Cause != OutOfMemory {
			jobs += r.Attempts
			if r.Queue != "" || r.Target != "" {
				jobs++
			}
			continue
		}
		for next, spent := r.grow(most); spent == "" && jobs <= MaxSteps; next, spent = r.grow(most) {
			most, jobs = next.Need, jobs+1
		}
	}
	return most, min(jobs, MaxSteps+1)
}

// Patience returns how long a job may wait in RUNNABLE before it changes to another queue or target,
// and the step that does. ok is false if it never does.
func (l Ladder) Patience(taken []Step, need Need) (after time.Duration, step Step, ok bool) {
	r, ok := l.Rung(NoCapacity)
	if !ok || len(taken) >= MaxSteps {
		return 0, Step{}, false
	}
	step, spent := r.next(taken, need)
	return r.After, step, spent == ""
}

// RunnableSince returns since when a RUNNABLE job has waited for capacity. AWS Batch does not report
// that. A job without dependencies waits since it was created. Any other waits since seen, when the
// client first saw it RUNNABLE. It is zero for a job that does not wait, or that has started before.
func RunnableSince(job *types.JobDetail, seen time.Time) time.Time {
	switch {
	case job.Status != types.JobStatusRunnable || job.StartedAt != nil || len(job.Attempts) > 0:
		return time.Time{}
	case len(job.DependsOn) == 0 && aws.ToInt64(job.CreatedAt) > 0:
		return time.UnixMilli(*job.CreatedAt)
	}
	return seen
}

// NeedOf returns what a job of one container requests.
func NeedOf(job *types.JobDetail) Need {
	n := Need{Queue: batch.Name(aws.ToString(job.JobQueue)), Fargate: slices.Contains(job.PlatformCapabilities,
		types.PlatformCapabilityFargate)}
	if job.Container == nil {
		return n
	}
	for _, r := range job.Container.ResourceRequirements {
		switch value, err := strconv.ParseFloat(aws.ToString(r.Value), 64); {
		case err != nil:
		case r.Type == types.ResourceTypeMemory:
			n.MemoryMiB = int(value)
		case r.Type == types.ResourceTypeVcpu:
			n.VCPUs = value
		}
	}
	if n.MemoryMiB == 0 { // older jobs are described with it
		n.MemoryMiB = int(aws.ToInt32(job.Container.Memory))
	}
	return n
}
