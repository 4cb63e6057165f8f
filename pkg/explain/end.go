package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/errorline"
)

// end is how the last attempt of a failed job ended.
type end struct {
	batch.Ending
	job *types.JobDetail
	// at is when the job ended.
	at int64
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
func (s *Subject) end() *end {
	ends := s.ends()
	if len(ends) == 0 {
		return nil
	}
	if len(s.Failed) == 0 {
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
	return head(e.StatusReason) + "|" + head(e.Reason) + "|" + e.exitText()
}

// exitText formats the exit code; "" if there is none.
func (e *end) exitText() string {
	if e.Exit == nil {
		return ""
	}
	return fmt.Sprintf("exit code %d", *e.Exit)
}

// endOf reads the end of a job's last attempt.
func endOf(job *types.JobDetail) end {
	return end{Ending: batch.EndingOf(job), job: job, at: num(job.StoppedAt)}
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
	add("container reason", e.Reason)
	add("exit code", e.exitText())
	add("status reason", e.StatusReason)
	if e.JobReason != e.StatusReason {
		add("status reason of the job", e.JobReason)
	}
	if e.Attempts > 1 {
		add("attempts", fmt.Sprintf("%d attempts; this is the last", e.Attempts))
	}
	if e.children > 1 {
		add("array", fmt.Sprintf("%d of the %d failed children that batchctl checked ended like this one", e.alike,
			e.children))
	}
	return all
}

// logLines quotes up to n lines from the end of the log, as a terminal shows them.
func (s *Subject) logLines(most int) (all []Evidence) {
	if s.Log == nil {
		return nil
	}
	for _, l := range s.Log.Lines[max(0, len(s.Log.Lines)-most):] {
		all = append(all, Evidence{"log " + shortStream(s.Log.Stream), clock(l.At), errorline.Plain(l.Text)})
	}
	return all
}

// logSays quotes the last line of the log that contains one of the texts, in any case.
func (s *Subject) logSays(texts ...string) []Evidence {
	return s.lastLine(func(line string) bool {
		line = strings.ToLower(line)
		return slices.ContainsFunc(texts,
			func(text string) bool { return strings.Contains(line, strings.ToLower(text)) })
	})
}

// logMatches quotes the last line of the log that an expression matches.
func (s *Subject) logMatches(e *regexp.Regexp) []Evidence {
	return s.lastLine(func(line string) bool { return e.MatchString(errorline.Plain(line)) })
}

// lastLine quotes the last line of the log for which a condition is true; nil if there is none.
func (s *Subject) lastLine(is func(line string) bool) []Evidence {
	if s.Log == nil {
		return nil
	}
	for _, l := range slices.Backward(s.Log.Lines) {
		if is(l.Text) {
			return []Evidence{{"log " + shortStream(s.Log.Stream), clock(l.At), errorline.Plain(l.Text)}}
		}
	}
	return nil
}

// longID is the id of a job or task in the name of a log stream, whose first part is its short id.
var longID = regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// shortStream returns the name of a log stream with short ids.
func shortStream(stream string) string { return longID.ReplaceAllString(stream, "$1") }
