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
	job          *types.JobDetail
	attempts     int
	at           int64
	jobReason    string // the job's statusReason
	statusReason string // of the attempt
	reason       string // of the container
	exit         *int32
	image        string
	// process says that it ran as a process of the user's machine, so that its image had no
	// part in it.
	process bool
	// children and alike count the failed children that were looked at, and those
	// that ended like this one; 0 for a job that is no array.
	children, alike int
}

func str(s *string) string { return aws.ToString(s) }
func num(n *int64) int64   { return aws.ToInt64(n) }

// isArray tells an array from its children.
func isArray(job *types.JobDetail) bool {
	return job.ArrayProperties != nil && job.ArrayProperties.Index == nil && aws.ToInt32(job.ArrayProperties.Size) > 0
}

// ends returns how the job ended, or the failed children of its array; none for a
// job that has not failed.
func (b *Bundle) ends() []end { return b.Subject.ends() }

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

// end is the way in which the job ended; of an array, that of most of the children
// which were looked at.
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

// kind identifies ends with one cause: without the names of instances and the like, which
// follow the first words.
func (e *end) kind() string {
	head := func(s string) string { return strings.Join(strings.Fields(s)[:min(3, len(strings.Fields(s)))], " ") }
	return head(e.statusReason) + "|" + head(e.reason) + "|" + e.exitText()
}

func (e *end) exitText() string {
	if e.exit == nil {
		return ""
	}
	return fmt.Sprintf("exit code %d", *e.exit)
}

// exited reports whether the container ended with one of these codes.
func (e *end) exited(codes ...int32) bool { return e.exit != nil && slices.Contains(codes, *e.exit) }

// mentions reports whether a reason holds one of the texts, whatever their case.
func (e *end) mentions(texts ...string) bool {
	all := strings.ToLower(e.jobReason + "\n" + e.statusReason + "\n" + e.reason)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, strings.ToLower(text)) })
}

// endOf reads the end of a job's last attempt. The job's own members are of the
// last attempt too, and there when it has none.
func endOf(job *types.JobDetail) end {
	e := end{job: job, attempts: max(len(job.Attempts), len(job.EksAttempts)), at: num(job.StoppedAt), jobReason: str(job.StatusReason), statusReason: str(job.StatusReason)}
	if c := job.Container; c != nil {
		e.reason, e.exit, e.image = str(c.Reason), c.ExitCode, str(c.Image)
		e.process = ranAsProcess(c.ContainerInstanceArn)
	}
	if n := len(job.Attempts); n > 0 {
		a := job.Attempts[n-1]
		e.statusReason = cmp.Or(str(a.StatusReason), e.statusReason)
		if c := a.Container; c != nil {
			e.reason, e.exit = cmp.Or(str(c.Reason), e.reason), cmp.Or(c.ExitCode, e.exit)
			e.process = ranAsProcess(c.ContainerInstanceArn)
		}
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
	// An older engine does not say how it ran the attempt; its words do.
	e.process = e.process || e.mentions("executable file not found on this machine", "the process executor")
	return e
}

// ranAsProcess reports whether a local engine ran the attempt as a process: the name of the
// container instance is then local-process.
func ranAsProcess(instance *string) bool {
	return strings.HasPrefix(str(instance), "arn:aws:ecs:local:") && strings.HasSuffix(str(instance), "/local-process")
}

// take notes how one of several containers ended, if it is the first that failed.
func (e *end) take(exit *int32, reason *string) {
	failed := e.exit != nil && *e.exit != 0
	if exit != nil && !failed {
		e.exit = exit
	}
	e.reason = cmp.Or(e.reason, str(reason))
}

// evidence is the reasons of the end, in the words of the service.
func (e *end) evidence() []Evidence {
	var all []Evidence
	who := "job " + batch.ShortID(str(e.job.JobId))
	add := func(what, text string) {
		if text != "" {
			all = append(all, Evidence{"DescribeJobs, " + who + ", " + what, clock(e.at), text})
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

// logLines quotes the last lines of the log.
func (s *Subject) logLines(most int) (all []Evidence) {
	if s.Log == nil {
		return nil
	}
	for _, l := range s.Log.Lines[max(0, len(s.Log.Lines)-most):] {
		all = append(all, Evidence{"log " + s.Log.Stream, clock(l.At), l.Text})
	}
	return all
}

// logSays returns the last line of the log that holds one of the texts.
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
