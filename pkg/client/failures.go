package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/errorline"
	"github.com/batchctl/batchctl/pkg/usage"
)

// errorWindow is how many lines at the end of a log are searched for the error: one page.
const errorWindow = 1000

// Failure is a group of jobs that failed in the same way: with the same exit code and reasons, and
// the same error in their logs apart from numbers, ids and times.
type Failure struct {
	// Count is how many jobs failed in this way, Example the id of the first.
	Count   int
	Example string
	// ExitCode is nil for jobs without one: they never started, or were killed.
	ExitCode *int32
	// Reason is the example's statusReason, and the reason of its container.
	Reason string
	// Text is the line of the example's log that names the error, see errorline.Find, else its last line; "" if there is
	// no log.
	Text string
	// Unread means that these logs were not read, because enough others were.
	Unread bool
	// LogError is why the example's log could not be read.
	LogError error
}

// failed is a failed job as DescribeJobs shows it, with the error from its log once that is read.
type failed struct {
	id, reason string
	exit       *int32
	streams    []stream // of its last attempt
	text       string
	read       bool
	logError   error
}

// Failures groups failed jobs by the way they failed, the most frequent first. It ignores jobs that
// did not fail. It reads the end of at most limit logs (0: all), spread over the groups that
// DescribeJobs alone can distinguish.
func (l *JobLogs) Failures(ctx context.Context, ids []string, limit int) ([]Failure, error) {
	var all []*failed
	for chunk := range slices.Chunk(ids, describeLimit) {
		var jobs map[string]types.JobDetail
		err := l.polling.patiently(ctx, func() (err error) { jobs, err = l.jobs.ByID(ctx, chunk); return err })
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if job, ok := jobs[id]; ok && job.Status == types.JobStatusFailed {
				all = append(all, failedOf(job))
			}
		}
	}
	if err := l.readErrors(ctx, sample(all, limit)); err != nil {
		return nil, err
	}
	return cluster(all), nil
}

// failedOf returns what the description of a job shows, and the streams of its last attempt.
func failedOf(job types.JobDetail) *failed {
	f := &failed{id: aws.ToString(job.JobId), reason: aws.ToString(job.StatusReason)}
	if job.Container != nil {
		f.exit = job.Container.ExitCode
		f.reason = withReason(f.reason, aws.ToString(job.Container.Reason))
	}
	if n := len(job.Attempts); n > 0 {
		if end, ok := batch.TaskEnd(job.Attempts[n-1]); ok {
			f.exit, f.reason = end.ExitCode, withReason(f.reason, aws.ToString(end.Reason))
		}
	}
	if n := len(job.EksAttempts); n > 0 {
		end := batch.PodEnd(job.EksAttempts[n-1])
		f.exit, f.reason = end.ExitCode, withReason(f.reason, aws.ToString(end.Reason))
	}
	attempts, err := logStreams(job)
	if f.logError = err; len(attempts) > 0 {
		f.streams = attempts[len(attempts)-1]
	}
	return f
}

// withReason adds the reason of a container to that of the job.
func withReason(reason, container string) string {
	if container == "" || container == reason {
		return reason
	}
	return strings.TrimPrefix(reason+", "+container, ", ")
}

// kind returns a key for the part of the cause that DescribeJobs shows.
func (f *failed) kind() string {
	exit := "-"
	if f.exit != nil {
		exit = fmt.Sprint(*f.exit)
	}
	return exit + " " + signature(f.reason)
}

// sample takes from each kind of failure in turn, first jobs first.
func sample(all []*failed, limit int) []*failed {
	if limit == 0 || len(all) <= limit {
		return all
	}
	index := map[string]int{}
	var kinds [][]*failed
	for _, f := range all {
		i, ok := index[f.kind()]
		if !ok {
			i = len(kinds)
			index[f.kind()] = i
			kinds = append(kinds, nil)
		}
		kinds[i] = append(kinds[i], f)
	}
	var taken []*failed
	for turn := 0; len(taken) < limit; turn++ {
		for _, kind := range kinds {
			if turn < len(kind) && len(taken) < limit {
				taken = append(taken, kind[turn])
			}
		}
	}
	return taken
}

// readErrors finds each job's error in its log, a few concurrently.
func (l *JobLogs) readErrors(ctx context.Context, jobs []*failed) error {
	var readers sync.WaitGroup
	free := make(chan struct{}, readAhead)
	for _, f := range jobs {
		free <- struct{}{}
		readers.Go(func() {
			defer func() { <-free }()
			err := l.polling.patiently(ctx, func() error { return l.readError(ctx, f) })
			f.read, f.logError = true, cmp.Or(f.logError, err)
		})
		if ctx.Err() != nil {
			break
		}
	}
	readers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// readError searches the last lines of each container's log.
func (l *JobLogs) readError(ctx context.Context, f *failed) error {
	var lines []string
	for _, s := range f.streams {
		in := &cloudwatchlogs.GetLogEventsInput{LogGroupName: &s.group, LogStreamName: &s.name}
		events, _, err := l.lastEvents(ctx, in, errorWindow)
		if err != nil {
			return err
		}
		for _, e := range events {
			text, measured := usage.Cut(s.line(e).Text)
			if measured && text == "" {
				continue // it is batchctl's, and not the last line of the program
			}
			lines = append(lines, strings.Split(text, "\n")...)
		}
	}
	found, ok := errorline.Find(lines)
	if !ok {
		found, _ = errorline.Last(lines)
	}
	f.text = found.Text
	return nil
}

// cluster groups jobs that failed in the same way.
func cluster(all []*failed) []Failure {
	type key struct {
		kind, text string
		read       bool
	}
	index := map[key]int{}
	var failures []Failure
	for _, f := range all {
		k := key{f.kind(), signature(f.text), f.read}
		if f.logError != nil {
			k.text = signature(f.logError.Error())
		}
		i, ok := index[k]
		if !ok {
			i = len(failures)
			index[k] = i
			failures = append(failures, Failure{Example: f.id, ExitCode: f.exit, Reason: f.reason, Text: f.text,
				Unread: !f.read, LogError: f.logError})
		}
		failures[i].Count++
	}
	slices.SortStableFunc(failures, func(a, b Failure) int { return cmp.Compare(b.Count, a.Count) })
	return failures
}

// signatureLen limits how much of a line is compared.
const signatureLen = 300

// signature returns a line without the parts that differ between jobs: each number, and each mix
// of letters and digits as in ids, becomes #.
func signature(line string) string {
	var b strings.Builder
	for i := 0; i < len(line) && b.Len() < signatureLen; {
		if isUUID(line[i:]) {
			b.WriteByte('#')
			i += uuidLen
			continue
		}
		end := i
		for end < len(line) && isAlnum(line[end]) {
			end++
		}
		if end == i {
			b.WriteByte(line[i])
			i++
			continue
		}
		writeToken(&b, line[i:end])
		i = end
	}
	return b.String()
}

// idLen is the minimum length of a token with letters and digits that counts as an id.
const idLen = 8

// writeToken writes a run of letters and digits to a signature: # for an id, else the letters
// with # for each number.
func writeToken(b *strings.Builder, token string) {
	digits := 0
	for i := range len(token) {
		if isDigit(token[i]) {
			digits++
		}
	}
	if digits > 0 && len(token) >= idLen || strings.HasPrefix(token, "0x") {
		b.WriteByte('#')
		return
	}
	for i := range len(token) {
		switch {
		case !isDigit(token[i]):
			b.WriteByte(token[i])
		case i == 0 || !isDigit(token[i-1]):
			b.WriteByte('#')
		}
	}
}

// uuidLen is the length of a UUID in its usual form.
const uuidLen = 36

// isUUID reports whether a text begins with a UUID.
func isUUID(s string) bool {
	if len(s) < uuidLen {
		return false
	}
	for i := range uuidLen {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isAlnum(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// Unread counts the failed jobs whose logs were not read.
func Unread(failures []Failure) (n int) {
	for _, f := range failures {
		if f.Unread {
			n += f.Count
		}
	}
	return n
}
