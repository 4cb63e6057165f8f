package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// defaultLogGroup is where Batch sends logs, unless the job has another group.
const defaultLogGroup = "/aws/batch/job"

// maxEvents is how many events GetLogEvents returns at most (API reference).
const maxEvents = 10_000

// lateLogs is how long after the end of a job more of its log may arrive: the agent on the instance
// sends lines every five seconds.
const lateLogs = 6 * time.Second

// Line is an event of a job's log. Its text may contain line feeds, but not at its end.
type Line struct {
	Time time.Time
	Text string
	// Job is the id of the job that wrote it.
	Job string
	// Stream is the log stream: one for each attempt and container.
	Stream string
	// More means that the job's next line follows immediately, so that a printer need not flush
	// after each line.
	More bool
}

// LogOptions selects what to read of a log. The zero value selects all of the latest attempt that
// has a log.
type LogOptions struct {
	// Follow continues through later attempts until the job has ended and its log is complete; with
	// Attempt, until that attempt has ended.
	Follow bool
	// Attempt is the number of one attempt, from 1; 0 for the latest.
	Attempt int
	// Tail is how many lines at the end of each stream to read; 0 for all.
	Tail int
	// Since skips older lines; zero for none.
	Since time.Time
	// Window is how many of several logs are followed concurrently, in the order of the ids; 0 for
	// all. The next one starts when one has ended.
	Window int
}

// JobLogs reads the logs of jobs from CloudWatch Logs.
type JobLogs struct {
	// LogsAtOnce means that a job's log is complete when the job has ended, as in the local engine.
	// Elsewhere the client also reads what arrives in the seconds after that.
	LogsAtOnce bool

	service *rpc.Client
	jobs    *Jobs
	polling *Polling
}

// Logs yields a job's log. A missing stream is no error: the job may not have started. With Follow,
// neither is a job that was submitted a moment ago. An error ends the sequence; a failing service
// is retried as in Watch.
func (l *JobLogs) Logs(ctx context.Context, id string, o LogOptions) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		t := newTail(l, id, o)
		emit := func(l Line) bool { return yield(l, nil) }
		pace := Pace{Polling: l.polling}
		for {
			fresh, err := t.turn(ctx, emit)
			if o.Follow && t.maySettle(err) {
				err = nil
			}
			if errors.Is(err, errStopped) || err == nil && (!o.Follow || t.drained(fresh)) {
				return
			}
			if ctx.Err() != nil { // not a fault of the service
				yield(Line{Job: id}, context.Cause(ctx))
				return
			}
			pause, err := pace.Next(err)
			if fresh {
				pause = pace.reset()
			}
			if err == nil {
				err = rpc.Sleep(ctx, pause)
			}
			if err != nil {
				yield(Line{Job: id}, err)
				return
			}
		}
	}
}

// errStopped means that the caller has stopped the sequence.
var errStopped = errors.New("stopped")

// stream is the location of the log of one container of one attempt.
type stream struct{ job, group, name string }

// tail reads the streams of one job.
type tail struct {
	LogOptions
	logs *JobLogs
	id   string
	// first is the attempt to read from: earlier ones are complete or not wanted. It is -1 before
	// the first stream is known.
	first  int
	tokens map[stream]string // where to continue
	start  time.Time
	// over is when the job, or the selected attempt, was first seen ended; silent means that it has
	// no log, or that it ended long ago.
	over   time.Time
	silent bool
}

// newTail returns a tail that has read nothing yet.
func newTail(l *JobLogs, id string, o LogOptions) *tail {
	return &tail{LogOptions: o, logs: l, id: id, tokens: map[stream]string{}, first: o.Attempt - 1, start: time.Now()}
}

// maySettle reports whether a missing job may still appear.
func (t *tail) maySettle(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing && time.Since(t.start) < JustNow
}

// drained reports whether the log is complete; fresh means that the last read found new lines. Late
// lines are read for as long as each read finds some.
func (t *tail) drained(fresh bool) bool {
	switch {
	case t.over.IsZero():
		return false
	case t.logs.LogsAtOnce: // the job was described before its log was read
		return true
	}
	return !fresh && (t.silent || time.Since(t.over) >= lateLogs)
}

// turn describes the job and reads what is new in its streams. It describes the job first, so that
// a read after its end is complete.
func (t *tail) turn(ctx context.Context, emit func(Line) bool) (fresh bool, err error) {
	jobs, err := t.logs.jobs.Describe(ctx, t.id)
	if err != nil {
		return false, err
	}
	return t.Take(ctx, jobs[0], emit)
}

// Take reads what is new in the streams of the job as described.
func (t *tail) Take(ctx context.Context, job types.JobDetail, emit func(Line) bool) (fresh bool, err error) {
	attempts, err := logStreams(job)
	if err != nil {
		return false, err
	}
	if attempts, err = t.wanted(job, attempts); err != nil {
		return false, err
	}
	for i := max(t.first, 0); i < len(attempts); i++ {
		for k, s := range attempts[i] {
			lines, err := t.drain(ctx, s, attempts[i][:k], emit)
			fresh = fresh || lines
			if err != nil {
				return fresh, err
			}
		}
		t.first = i
	}
	if t.over.IsZero() && (batch.HasEnded(job.Status) || t.Attempt > 0 && batch.Attempts(job) >= t.Attempt) {
		t.over = time.Now()
		stopped := time.UnixMilli(aws.ToInt64(job.StoppedAt))
		t.silent = len(slices.Concat(attempts[min(max(t.first, 0), len(attempts)):]...)) == 0 || job.StoppedAt != nil &&
			time.Since(stopped) > longAgo
	}
	return fresh, nil
}

// longAgo is the age of a job's end after which its log is certainly complete, however far the
// clocks differ.
const longAgo = 10 * time.Minute

// wanted returns the selected attempts, and sets first when the first stream is known.
func (t *tail) wanted(job types.JobDetail, attempts [][]stream) ([][]stream, error) {
	if t.Attempt == 0 {
		for i := len(attempts) - 1; t.first < 0 && i >= 0; i-- {
			if len(attempts[i]) > 0 {
				t.first = i
			}
		}
		return attempts, nil
	}
	if len(attempts) >= t.Attempt {
		return attempts[:t.Attempt], nil
	}
	if t.Follow && !batch.HasEnded(job.Status) {
		return nil, nil
	}
	return nil, fmt.Errorf("job %s has no attempt %d: it has had %d", aws.ToString(job.JobName), t.Attempt,
		len(attempts))
}

// drain reads a stream up to its current end. Containers of a pod or a task can start one after another, so the first
// lines of a stream come after what the earlier streams have by then.
func (t *tail) drain(ctx context.Context, s stream, earlier []stream, emit func(Line) bool) (fresh bool, err error) {
	if t.Tail > 0 && t.tokens[s] == "" {
		if fresh, err = t.ending(ctx, s, emit); err != nil || t.tokens[s] == "" {
			return fresh, err
		}
	}
	for {
		in := t.request(s)
		in.StartFromHead = aws.Bool(true)
		if token := t.tokens[s]; token != "" {
			in.NextToken = &token
		}
		out, err := t.logs.events(ctx, in)
		if out == nil || err != nil {
			return fresh, err
		}
		if t.tokens[s] == "" && len(out.Events) > 0 {
			for k, e := range earlier {
				if _, err := t.drain(ctx, e, earlier[:k], emit); err != nil {
					return fresh, err
				}
			}
		}
		for i, e := range out.Events {
			fresh = true
			line := s.line(e)
			line.More = i+1 < len(out.Events)
			if !emit(line) {
				return fresh, errStopped
			}
		}
		next := aws.ToString(out.NextForwardToken)
		if next == "" || next == t.tokens[s] { // without a token it would start from the beginning
			return fresh, nil
		}
		t.tokens[s] = next
	}
}

// ending reads the last lines of a stream and records where to continue.
func (t *tail) ending(ctx context.Context, s stream, emit func(Line) bool) (fresh bool, err error) {
	events, token, err := t.logs.lastEvents(ctx, t.request(s), t.Tail)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		fresh = true
		if !emit(s.line(e)) {
			return fresh, errStopped
		}
	}
	t.tokens[s] = token
	return fresh, nil
}

// request returns the part that all requests for a stream have in common.
func (t *tail) request(s stream) *cloudwatchlogs.GetLogEventsInput {
	in := &cloudwatchlogs.GetLogEventsInput{LogGroupName: &s.group, LogStreamName: &s.name}
	if !t.Since.IsZero() {
		in.StartTime = aws.Int64(t.Since.UnixMilli())
	}
	return in
}

// events calls GetLogEvents once; nil means that the stream does not exist (yet).
func (l *JobLogs) events(ctx context.Context,
	in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	out, err := l.service.GetLogEvents(ctx, in)
	if rpc.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, Failed("get log events "+aws.ToString(in.LogStreamName), err)
	}
	return out, nil
}

// lastEvents returns the last n events of a stream, oldest first, and the token to continue from;
// "" for a missing stream. Pages may be empty in between. Only an unchanged token marks the
// beginning.
func (l *JobLogs) lastEvents(ctx context.Context, in *cloudwatchlogs.GetLogEventsInput,
	n int) (events []logtypes.OutputLogEvent, token string, err error) {
	in.StartFromHead, in.Limit = aws.Bool(false), aws.Int32(int32(min(n, maxEvents)))
	for len(events) < n {
		out, err := l.events(ctx, in)
		if out == nil || err != nil {
			return events, token, err
		}
		if token == "" {
			token = aws.ToString(out.NextForwardToken)
		}
		events = append(slices.Clone(out.Events), events...)
		back := aws.ToString(out.NextBackwardToken)
		if back == "" || back == aws.ToString(in.NextToken) {
			break
		}
		in.NextToken = &back
	}
	return events[max(0, len(events)-n):], token, nil
}

// line returns an event without its line end.
func (s stream) line(e logtypes.OutputLogEvent) Line {
	text := strings.TrimSuffix(strings.TrimSuffix(aws.ToString(e.Message), "\n"), "\r")
	return Line{Time: time.UnixMilli(aws.ToInt64(e.Timestamp)), Text: text, Job: s.job, Stream: s.name}
}

// logStreams returns the streams of each attempt, oldest first; an attempt that never started has
// none. A running attempt is not in the job's attempts yet.
func logStreams(job types.JobDetail) ([][]stream, error) {
	if err := logsElsewhere(job); err != nil {
		return nil, err
	}
	var attempts [][]stream
	known := map[stream]bool{}
	fresh := func(streams []stream) (fresh []stream) {
		for _, s := range streams {
			if s.name != "" && !known[s] {
				known[s] = true
				fresh = append(fresh, s)
			}
		}
		return fresh
	}
	groups := logGroups(job)
	for _, a := range job.Attempts {
		var streams []stream
		if a.Container != nil {
			streams = append(streams, groups.stream("", a.Container.LogStreamName))
		}
		for _, task := range a.TaskProperties {
			for _, c := range task.Containers {
				streams = append(streams, groups.stream(aws.ToString(c.Name), c.LogStreamName))
			}
		}
		attempts = append(attempts, fresh(streams))
	}
	var running []stream
	if job.Container != nil {
		running = append(running, groups.stream("", job.Container.LogStreamName))
	}
	for _, c := range taskContainers(job) {
		running = append(running, groups.stream(aws.ToString(c.Name), c.LogStreamName))
	}
	podStreams := func(pod *string, containers int, name func(i int) *string) (streams []stream) {
		for i := range containers {
			streams = append(streams, groups.stream("", aws.String(batch.PodStream(job, pod, name(i)))))
		}
		return fresh(streams)
	}
	for _, a := range job.EksAttempts {
		all := slices.Concat(a.InitContainers, a.Containers)
		attempts = append(attempts, podStreams(a.PodName, len(all), func(i int) *string { return all[i].Name }))
	}
	if job.EksProperties != nil && job.EksProperties.PodProperties != nil {
		pod := job.EksProperties.PodProperties
		all := slices.Concat(pod.InitContainers, pod.Containers)
		running = podStreams(pod.PodName, len(all), func(i int) *string { return all[i].Name })
	} else {
		running = fresh(running)
	}
	if running != nil {
		attempts = append(attempts, running)
	}
	return attempts, nil
}

// logGroup maps container names to log groups. The name is empty for a job of one container.
type logGroup struct {
	job    string
	groups map[string]string
}

// stream returns the stream of a container in its log group.
func (g logGroup) stream(container string, name *string) stream {
	return stream{g.job, cmp.Or(g.groups[container], defaultLogGroup), aws.ToString(name)}
}

// logGroups returns the groups in the log configuration of a job's containers.
func logGroups(job types.JobDetail) logGroup {
	g := logGroup{aws.ToString(job.JobId), map[string]string{}}
	if job.Container != nil && job.Container.LogConfiguration != nil {
		g.groups[""] = job.Container.LogConfiguration.Options["awslogs-group"]
	}
	for _, c := range taskContainers(job) {
		if c.LogConfiguration != nil {
			g.groups[aws.ToString(c.Name)] = c.LogConfiguration.Options["awslogs-group"]
		}
	}
	return g
}

// taskContainers returns the containers of a job with ecsProperties.
func taskContainers(job types.JobDetail) (all []types.TaskContainerDetails) {
	if job.EcsProperties == nil {
		return nil
	}
	for _, task := range job.EcsProperties.TaskProperties {
		all = append(all, task.Containers...)
	}
	return all
}

// elsewhere returns an *elsewhereError with a formatted text.
func elsewhere(format string, args ...any) error {
	return &elsewhereError{fmt.Sprintf(format, args...)}
}

// logsElsewhere returns an error for a job that has no log of its own in CloudWatch.
func logsElsewhere(job types.JobDetail) error {
	name, short := aws.ToString(job.JobName), batch.ShortID(aws.ToString(job.JobId))
	switch {
	case batch.IsArray(job):
		return elsewhere("job %s is an array, and each child has its own log; choose one, such as %s:0", name, short)
	case job.NodeProperties != nil && job.NodeDetails == nil:
		return elsewhere("job %s has several nodes, and each has its own log; choose one, such as %s#0", name, short)
	case job.EksProperties != nil && !batch.IsLocal(aws.ToString(job.JobArn)):
		return elsewhere("job %s runs on EKS, and its log is in the cluster; use kubectl logs", name)
	}
	if job.Container == nil || job.Container.LogConfiguration == nil {
		return nil
	}
	driver := job.Container.LogConfiguration.LogDriver
	if driver != "" && driver != types.LogDriverAwslogs {
		return elsewhere("job %s uses the log driver %s, so its log is not in CloudWatch Logs", name, driver)
	}
	return nil
}
