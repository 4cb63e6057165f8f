package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// end is how the last attempt of a failed job ended.
type end struct {
	job *types.JobDetail
	// attempts counts the attempts of the job.
	attempts int
	// at is when the job ended.
	at           int64
	jobReason    string // the job's statusReason
	statusReason string // of the attempt
	reason       string // of the container
	// exit is nil if the container left no exit code.
	exit *int32
	// reasonExit is the exit code of the container that gave the reason; nil if it has none.
	reasonExit *int32
	image      string
	// process means that it ran as a process on the user's machine, so its image was not used.
	process bool
	// children counts the examined failed children, and alike those that ended like this one; 0
	// for a job that is not an array.
	children, alike int
}

// str returns a text; "" for nil.
func str(s *string) string { return aws.ToString(s) }

// num returns a number; 0 for nil.
func num(n *int64) int64 { return aws.ToInt64(n) }

// isArray reports whether a job is an array, and not one of its children.
func isArray(job *types.JobDetail) bool {
	return job.ArrayProperties != nil && job.ArrayProperties.Index == nil && aws.ToInt32(job.ArrayProperties.Size) > 0
}

// ends returns how the job ended, or the failed children of its array; none for a job that has
// not failed.
func (b *Bundle) ends() []end { return b.Subject.ends() }

// ends does the same for a subject.
func (s *Subject) ends() []end {
	if len(s.Failed) == 0 {
		if s.Job == nil || s.Job.Status != types.JobStatusFailed {
			return nil
		}
		return []end{endOf(s.Job)}
	}
	var all []end
	for i := range s.Failed {
		all = append(all, endOf(&s.Failed[i]))
	}
	return all
}

// end returns how the job ended. For an array it returns the most frequent end of the examined
// children.
func (b *Bundle) end() *end {
	ends := b.ends()
	if len(ends) == 0 {
		return nil
	}
	if len(b.Subject.Failed) == 0 {
		return &ends[0]
	}
	alike := map[string]int{}
	for _, e := range ends {
		alike[e.kind()]++
	}
	best := slices.MaxFunc(ends, func(x, y end) int { return cmp.Compare(alike[x.kind()], alike[y.kind()]) })
	best.children, best.alike = len(ends), alike[best.kind()]
	return &best
}

// kind returns a key that is equal for ends with the same cause. It has only the first words of
// the reasons: names of instances and the like follow them.
func (e *end) kind() string {
	head := func(s string) string { return strings.Join(strings.Fields(s)[:min(3, len(strings.Fields(s)))], " ") }
	return head(e.statusReason) + "|" + head(e.reason) + "|" + e.exitText()
}

// exitText formats the exit code; "" if there is none.
func (e *end) exitText() string {
	if e.exit == nil {
		return ""
	}
	return fmt.Sprintf("exit code %d", *e.exit)
}

// exited reports whether the container ended with one of these codes.
func (e *end) exited(codes ...int32) bool { return e.exit != nil && slices.Contains(codes, *e.exit) }

// mentions reports whether a reason contains one of the texts, in any case.
func (e *end) mentions(texts ...string) bool {
	all := strings.ToLower(e.jobReason + "\n" + e.statusReason + "\n" + e.reason)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, strings.ToLower(text)) })
}

// stopping reports whether the agent failed to stop or remove a container, which had run.
func (e *end) stopping() bool {
	return e.mentions("CannotStopContainer", "transition to stopped", "CannotRemoveContainer", "cannot stop container", "failed to stop container", "cannot kill container")
}

// ran reports whether the program certainly ran. Errors of the agent then concern the end of its
// container, such as its log or its removal, and not its start.
func (e *end) ran() bool {
	switch {
	case e.stopping():
		return true
	case e.reasonExit == nil:
		return false
	case *e.reasonExit > 0 && *e.reasonExit < 125:
		return true
	case *e.reasonExit >= 125 && *e.reasonExit <= 128:
		return false // container engines use these codes for a command that did not start
	}
	return !e.mentions("CannotStart", "CannotCreate", "CannotPull", "StartError", "ContainerCannotRun")
}

// starting reports whether a reason about the start of the container contains one of the texts.
func (e *end) starting(texts ...string) bool { return !e.ran() && e.mentions(texts...) }

// endOf reads the end of a job's last attempt. The job's own members also describe the last
// attempt, and exist if it has no attempts.
func endOf(job *types.JobDetail) end {
	e := end{job: job, attempts: max(len(job.Attempts), len(job.EksAttempts)), at: num(job.StoppedAt), jobReason: str(job.StatusReason), statusReason: str(job.StatusReason)}
	if c := job.Container; c != nil {
		e.reason, e.exit, e.image = str(c.Reason), c.ExitCode, str(c.Image)
		e.process = ranAsProcess(c.ContainerInstanceArn)
	}
	e.reasonExit = e.exit
	if n := len(job.Attempts); n > 0 {
		a := job.Attempts[n-1]
		e.statusReason = cmp.Or(str(a.StatusReason), e.statusReason)
		if c := a.Container; c != nil {
			e.reason, e.exit = cmp.Or(str(c.Reason), e.reason), cmp.Or(c.ExitCode, e.exit)
			e.process = ranAsProcess(c.ContainerInstanceArn)
		}
		e.reasonExit = e.exit
		for _, task := range a.TaskProperties {
			e.process = e.process || ranAsProcess(task.ContainerInstanceArn)
			for _, c := range task.Containers {
				e.take(c.ExitCode, c.Reason)
			}
		}
	}
	if n := len(job.EksAttempts); n > 0 {
		a := job.EksAttempts[n-1]
		e.statusReason = cmp.Or(str(a.StatusReason), e.statusReason)
		e.process = batch.IsLocal(str(job.JobArn)) && str(a.NodeName) == "local-process"
		for _, c := range slices.Concat(a.InitContainers, a.Containers) {
			e.take(c.ExitCode, c.Reason)
		}
	}
	if job.EcsProperties != nil && e.image == "" {
		for _, task := range job.EcsProperties.TaskProperties {
			for _, c := range task.Containers {
				e.image = cmp.Or(e.image, str(c.Image))
			}
		}
	}
	if pod := job.EksProperties; pod != nil && pod.PodProperties != nil {
		for _, c := range pod.PodProperties.Containers {
			e.image = cmp.Or(e.image, str(c.Image))
		}
	}
	// An older engine does not record how it ran the attempt, but its messages show it.
	e.process = e.process || e.mentions("executable file not found on this machine", "the process executor")
	return e
}

// ranAsProcess reports whether a local engine ran the attempt as a process: the name of the
// container instance is then local-process.
func ranAsProcess(instance *string) bool {
	return strings.HasPrefix(str(instance), "arn:aws:ecs:local:") && strings.HasSuffix(str(instance), "/local-process")
}

// take records the end of one of several containers, if it is the first that failed.
func (e *end) take(exit *int32, reason *string) {
	failed := e.exit != nil && *e.exit != 0
	if exit != nil && !failed {
		e.exit = exit
	}
	if e.reason == "" && str(reason) != "" {
		e.reason, e.reasonExit = str(reason), exit
	}
}

// evidence quotes the reasons of the end.
func (e *end) evidence() []Evidence {
	var all []Evidence
	source := "job " + batch.ShortID(str(e.job.JobId))
	add := func(what, text string) {
		if text != "" {
			all = append(all, Evidence{"DescribeJobs, " + source + ", " + what, clock(e.at), text})
		}
	}
	add("container reason", e.reason)
	add("exit code", e.exitText())
	add("status reason", e.statusReason)
	if e.jobReason != e.statusReason {
		add("status reason of the job", e.jobReason)
	}
	if e.attempts > 1 {
		add("attempts", fmt.Sprintf("%d attempts; this is the last", e.attempts))
	}
	if e.children > 1 {
		add("array", fmt.Sprintf("%d of the %d failed children that batchctl checked ended like this one", e.alike, e.children))
	}
	return all
}

// logLines quotes up to n lines from the end of the log.
func (s *Subject) logLines(most int) (all []Evidence) {
	if s.Log == nil {
		return nil
	}
	for _, l := range s.Log.Lines[max(0, len(s.Log.Lines)-most):] {
		all = append(all, Evidence{"log " + s.Log.Stream, clock(l.At), l.Text})
	}
	return all
}

// logSays quotes the last line of the log that contains one of the texts, in any case.
func (s *Subject) logSays(texts ...string) []Evidence {
	if s.Log == nil {
		return nil
	}
	for _, l := range slices.Backward(s.Log.Lines) {
		line := strings.ToLower(l.Text)
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, strings.ToLower(text)) }) {
			return []Evidence{{"log " + s.Log.Stream, clock(l.At), l.Text}}
		}
	}
	return nil
}
