package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// defaultLogGroup is where Batch sends logs unless the job says otherwise.
const defaultLogGroup = "/aws/batch/job"

// Line is an event of a job's log. Its text may hold line feeds inside, but none
// at its end.
type Line struct {
	Time time.Time
	Text string
	// Stream is the log stream: one for each attempt and container.
	Stream string
}

// Logs yields the log of the job's latest attempt; with follow it goes on
// through later attempts until the job has ended and the log is drained. A
// stream that is not there yet is no error: the job may not have started, and
// with follow neither is a job that was submitted a moment ago. An
// error ends the sequence; with follow a failing service is asked again as in
// Watch.
func (c *Client) Logs(ctx context.Context, id string, follow bool) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		t := &tail{client: c, id: id, tokens: map[stream]string{}, first: -1, start: time.Now()}
		pace := pace{most: c.PollAtMost}
		for {
			ended, fresh, err := t.turn(ctx, yield)
			if follow && t.maySettle(err) {
				err = nil
			}
			if errors.Is(err, errStopped) || err == nil && (!follow || ended && !fresh) {
				return
			}
			var pause time.Duration
			if err == nil || follow {
				pause, err = pace.next(err)
			}
			if fresh {
				pause = pace.reset()
			}
			if err == nil {
				err = sleep(ctx, pause)
			}
			if err != nil {
				yield(Line{}, err)
				return
			}
		}
	}
}

// errStopped says that the reader of the sequence has had enough.
var errStopped = errors.New("stopped")

// stream is where the log of one container of one attempt lies.
type stream struct{ group, name string }

// tail reads the streams of one job.
type tail struct {
	client *Client
	id     string
	// first is the attempt to read from: what lies before it was read to its end
	// or not asked for. It is -1 before the first stream is known.
	first  int
	tokens map[stream]string // where to go on
	start  time.Time
}

// maySettle reports whether a job that is not there may still appear.
func (t *tail) maySettle(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing && time.Since(t.start) < settleTime
}

// turn looks at the job and reads what is new in its streams. The job is
// described first, so that what a turn reads after the end is complete.
func (t *tail) turn(ctx context.Context, yield func(Line, error) bool) (ended, fresh bool, err error) {
	jobs, err := t.client.Describe(ctx, t.id)
	if err != nil {
		return false, false, err
	}
	attempts, err := logStreams(jobs[0])
	if err != nil {
		return false, false, err
	}
	if t.first < 0 && len(attempts) > 0 {
		t.first = len(attempts) - 1
	}
	for i := max(t.first, 0); i < len(attempts); i++ {
		for _, s := range attempts[i] {
			lines, err := t.drain(ctx, s, yield)
			fresh = fresh || lines
			if err != nil {
				return false, fresh, err
			}
		}
		t.first = i
	}
	return Ended(jobs[0].Status), fresh, nil
}

// drain reads a stream up to its present end.
func (t *tail) drain(ctx context.Context, s stream, yield func(Line, error) bool) (fresh bool, err error) {
	for {
		in := &cloudwatchlogs.GetLogEventsInput{LogGroupName: &s.group, LogStreamName: &s.name, StartFromHead: aws.Bool(true)}
		if token := t.tokens[s]; token != "" {
			in.NextToken = &token
		}
		out, err := t.client.logs.GetLogEvents(ctx, in)
		if _, ok := errors.AsType[*logtypes.ResourceNotFoundException](err); ok {
			return fresh, nil
		}
		if err != nil {
			return fresh, failure("get log events "+s.name, err)
		}
		for _, e := range out.Events {
			fresh = true
			if !yield(s.line(e), nil) {
				return fresh, errStopped
			}
		}
		next := aws.ToString(out.NextForwardToken)
		if next == t.tokens[s] {
			return fresh, nil
		}
		t.tokens[s] = next
	}
}

func (s stream) line(e logtypes.OutputLogEvent) Line {
	text := strings.TrimSuffix(strings.TrimSuffix(aws.ToString(e.Message), "\n"), "\r")
	return Line{Time: time.UnixMilli(aws.ToInt64(e.Timestamp)), Text: text, Stream: s.name}
}

// logStreams returns the streams of each attempt that has any, oldest first. A
// running attempt is not among the job's attempts yet.
func logStreams(job types.JobDetail) ([][]stream, error) {
	if err := logsElsewhere(job); err != nil {
		return nil, err
	}
	var attempts [][]stream
	known := map[stream]bool{}
	add := func(streams ...stream) {
		var fresh []stream
		for _, s := range streams {
			if s.name != "" && !known[s] {
				known[s] = true
				fresh = append(fresh, s)
			}
		}
		if fresh != nil {
			attempts = append(attempts, fresh)
		}
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
		add(streams...)
	}
	if job.Container != nil {
		add(groups.stream("", job.Container.LogStreamName))
	}
	var running []stream
	for _, c := range taskContainers(job) {
		running = append(running, groups.stream(aws.ToString(c.Name), c.LogStreamName))
	}
	add(running...)
	return attempts, nil
}

// groupsByContainer holds log groups by the container's name, which is empty for
// a job of one container.
type groupsByContainer map[string]string

func (g groupsByContainer) stream(container string, name *string) stream {
	group := g[container]
	if group == "" {
		group = defaultLogGroup
	}
	return stream{group, aws.ToString(name)}
}

func logGroups(job types.JobDetail) groupsByContainer {
	g := groupsByContainer{}
	if job.Container != nil && job.Container.LogConfiguration != nil {
		g[""] = job.Container.LogConfiguration.Options["awslogs-group"]
	}
	for _, c := range taskContainers(job) {
		if c.LogConfiguration != nil {
			g[aws.ToString(c.Name)] = c.LogConfiguration.Options["awslogs-group"]
		}
	}
	return g
}

func taskContainers(job types.JobDetail) (all []types.TaskContainerDetails) {
	if job.EcsProperties == nil {
		return nil
	}
	for _, task := range job.EcsProperties.TaskProperties {
		all = append(all, task.Containers...)
	}
	return all
}

// logsElsewhere is an error for a job that has no log of its own in CloudWatch.
func logsElsewhere(job types.JobDetail) error {
	name, short := aws.ToString(job.JobName), ShortID(aws.ToString(job.JobId))
	switch {
	case isArrayParent(job):
		return fmt.Errorf("job %s is an array: each child has its own log, name one: %s:0", name, short)
	case job.NodeProperties != nil && job.NodeDetails == nil:
		return fmt.Errorf("job %s has several nodes: each has its own log, name one: %s#0", name, short)
	case job.EksProperties != nil:
		return fmt.Errorf("job %s runs on EKS: its log is in the cluster: kubectl logs", name)
	}
	if job.Container == nil || job.Container.LogConfiguration == nil {
		return nil
	}
	driver := job.Container.LogConfiguration.LogDriver
	if driver != "" && driver != types.LogDriverAwslogs {
		return fmt.Errorf("job %s logs with the driver %s: its log is not in CloudWatch Logs", name, driver)
	}
	return nil
}
