package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// fake is a scripted service behind the SDK's HTTP client: it keeps definitions
// and submissions, and shows jobs and logs as functions of the time passed.
type fake struct {
	t     *testing.T
	start time.Time
	mu    sync.Mutex

	calls       []string // operations, as they arrive
	definitions []types.JobDefinition
	submitted   []*awsbatch.SubmitJobInput
	stopped     map[string]string // id -> operation

	faults map[string][]fault // by operation, one for each call
	jobs   map[string]func(elapsed time.Duration) *types.JobDetail
	listed []types.JobSummary
	queues []string
	events map[string]func(elapsed time.Duration) []string // by stream
	groups []string                                        // asked for
	asked  []string                                        // streams asked for
	hidden func(id string) bool                            // jobs that listings do not show yet
	saw    func(*http.Request)
}

// fault is what happens to one call; serve does what the service does.
type fault func(serve func() *http.Response) (*http.Response, error)

func newFake(t *testing.T) (*fake, *Client) {
	f := &fake{t: t, start: time.Now(), faults: map[string][]fault{}, stopped: map[string]string{},
		jobs:   map[string]func(time.Duration) *types.JobDetail{},
		events: map[string]func(time.Duration) []string{}}
	c := New(aws.Config{Region: "us-east-1", HTTPClient: f, BaseEndpoint: aws.String("http://fake"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})})
	c.AtOnce = 1 // the faults come in the order of the plan
	return f, c
}

func (f *fake) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, ok := wire.LogsOperation(r.Header.Get("X-Amz-Target"))
	if !ok {
		name, _ = wire.Operation(r.Method, r.URL.Path)
	}
	f.calls = append(f.calls, name)
	if f.saw != nil {
		f.saw(r)
	}
	serve := func() *http.Response {
		w := httptest.NewRecorder()
		f.handler(name)(w, r)
		return w.Result()
	}
	if queue := f.faults[name]; len(queue) > 0 {
		f.faults[name] = queue[1:]
		return queue[0](serve)
	}
	return serve(), nil
}

func (f *fake) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == name {
			n++
		}
	}
	return n
}

func (f *fake) handler(name string) http.HandlerFunc {
	switch name {
	case "RegisterJobDefinition":
		return wire.Handle(f.register)
	case "DescribeJobDefinitions":
		return wire.Handle(f.describeDefinitions)
	case "SubmitJob":
		return wire.Handle(f.submit)
	case "DescribeJobs":
		return wire.Handle(f.describeJobs)
	case "DescribeJobQueues":
		return wire.Handle(f.describeQueues)
	case "ListJobs":
		return wire.Handle(f.listJobs)
	case "GetJobQueueSnapshot":
		return wire.Handle(func(_ context.Context, in *awsbatch.GetJobQueueSnapshotInput) (*awsbatch.GetJobQueueSnapshotOutput, error) {
			return &awsbatch.GetJobQueueSnapshotOutput{FrontOfQueue: &types.FrontOfQueueDetail{
				Jobs: []types.FrontOfQueueJobSummary{{JobArn: in.JobQueue}}}}, nil
		})
	case "CancelJob":
		return wire.Handle(func(_ context.Context, in *awsbatch.CancelJobInput) (*awsbatch.CancelJobOutput, error) {
			f.stopped[*in.JobId] += "CancelJob " + *in.Reason + ";"
			return &awsbatch.CancelJobOutput{}, nil
		})
	case "TerminateJob":
		return wire.Handle(func(_ context.Context, in *awsbatch.TerminateJobInput) (*awsbatch.TerminateJobOutput, error) {
			f.stopped[*in.JobId] += "TerminateJob " + *in.Reason + ";"
			return &awsbatch.TerminateJobOutput{}, nil
		})
	case "GetLogEvents":
		return wire.Handle(f.getLogEvents)
	}
	f.t.Errorf("unexpected operation %q", name)
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = wire.WriteFault(w, wire.ClientException("no such operation"))
	}
}

func (f *fake) register(_ context.Context, in *awsbatch.RegisterJobDefinitionInput) (*awsbatch.RegisterJobDefinitionOutput, error) {
	revision := int32(1)
	for _, d := range f.definitions {
		if *d.JobDefinitionName == *in.JobDefinitionName {
			revision++
		}
	}
	arn := fmt.Sprintf("arn:aws:batch:us-east-1:123456789012:job-definition/%s:%d", *in.JobDefinitionName, revision)
	f.definitions = append(f.definitions, types.JobDefinition{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName,
		Revision: &revision, Status: aws.String("ACTIVE"), Tags: in.Tags, ContainerProperties: in.ContainerProperties})
	return &awsbatch.RegisterJobDefinitionOutput{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName, Revision: &revision}, nil
}

// page cuts one element out of all, so that every test sees paging.
func page[T any](all []T, token *string) ([]T, *string) {
	i, _ := strconv.Atoi(aws.ToString(token))
	if i+1 < len(all) {
		return all[i : i+1], aws.String(strconv.Itoa(i + 1))
	}
	return all[min(i, len(all)):], nil
}

func (f *fake) describeDefinitions(_ context.Context, in *awsbatch.DescribeJobDefinitionsInput) (*awsbatch.DescribeJobDefinitionsOutput, error) {
	var fit []types.JobDefinition
	for _, d := range f.definitions {
		if *d.JobDefinitionName == *in.JobDefinitionName && *d.Status == *in.Status {
			fit = append(fit, d)
		}
	}
	out := &awsbatch.DescribeJobDefinitionsOutput{}
	out.JobDefinitions, out.NextToken = page(fit, in.NextToken)
	return out, nil
}

func testID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

func (f *fake) submit(_ context.Context, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
	f.submitted = append(f.submitted, in)
	id, created := testID(len(f.submitted)), aws.Int64(time.Now().UnixMilli())
	f.listed = append(f.listed, types.JobSummary{JobId: &id, JobName: in.JobName, JobArn: in.JobQueue, CreatedAt: created})
	f.jobs[id] = func(time.Duration) *types.JobDetail {
		d := &types.JobDetail{JobName: in.JobName, JobDefinition: in.JobDefinition, Tags: in.Tags, CreatedAt: created, Status: types.JobStatusRunnable}
		if f.stopped[id] != "" {
			d.Status = types.JobStatusFailed
		}
		return d
	}
	return &awsbatch.SubmitJobOutput{JobId: &id, JobName: in.JobName}, nil
}

func (f *fake) describeJobs(_ context.Context, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	if len(in.Jobs) > 100 {
		return nil, wire.ClientException("too many jobs: %d", len(in.Jobs))
	}
	out := &awsbatch.DescribeJobsOutput{}
	for _, id := range slices.Backward(in.Jobs) { // the service promises no order
		if at := f.jobs[id]; at != nil {
			if job := at(time.Since(f.start)); job != nil {
				job.JobId = &id
				out.Jobs = append(out.Jobs, *job)
			}
		}
	}
	return out, nil
}

func (f *fake) describeQueues(_ context.Context, in *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
	out := &awsbatch.DescribeJobQueuesOutput{}
	var names []string
	names, out.NextToken = page(f.queues, in.NextToken)
	for _, n := range names {
		out.JobQueues = append(out.JobQueues, types.JobQueueDetail{JobQueueName: &n})
	}
	return out, nil
}

// listJobs knows the queue of a job by the queue's name in its ARN.
func (f *fake) listJobs(_ context.Context, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	var fit []types.JobSummary
	for _, job := range f.listed {
		switch {
		case f.hidden != nil && f.hidden(*job.JobId):
			continue
		case in.ArrayJobId != nil:
			if !strings.HasPrefix(*job.JobId, *in.ArrayJobId+":") || job.Status != in.JobStatus {
				continue
			}
		case !strings.HasSuffix(aws.ToString(job.JobArn), *in.JobQueue):
			continue
		case len(in.Filters) > 0:
			prefix, open := strings.CutSuffix(strings.ToLower(in.Filters[0].Values[0]), "*")
			name := strings.ToLower(*job.JobName)
			if !strings.HasPrefix(name, prefix) || !open && name != prefix {
				continue
			}
		case job.Status != in.JobStatus:
			continue
		}
		fit = append(fit, job)
	}
	out := &awsbatch.ListJobsOutput{}
	out.JobSummaryList, out.NextToken = page(fit, in.NextToken)
	return out, nil
}

// getLogEvents gives two events a page, or one from the end backward after a page
// that is empty, and repeats the token at either end.
func (f *fake) getLogEvents(_ context.Context, in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	f.groups = append(f.groups, *in.LogGroupName)
	f.asked = append(f.asked, *in.LogStreamName)
	at := f.events[*in.LogStreamName]
	if at == nil {
		return nil, &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}
	}
	lines := at(time.Since(f.start))
	token := aws.ToString(in.NextToken)
	direction, place, _ := strings.Cut(token, "/")
	from, _ := strconv.Atoi(place)
	to := min(from+2, len(lines))
	switch {
	case direction == "b": // what is before place
		from, to = max(from-1, 0), from
	case !*in.StartFromHead && token == "":
		from, to = len(lines), len(lines)
	}
	out := &cloudwatchlogs.GetLogEventsOutput{NextForwardToken: aws.String("f/" + strconv.Itoa(to)), NextBackwardToken: aws.String("b/" + strconv.Itoa(from))}
	for i, text := range lines[from:to] {
		if stamp := int64(from + i); stamp >= aws.ToInt64(in.StartTime) {
			out.Events = append(out.Events, logtypes.OutputLogEvent{Message: &text, Timestamp: &stamp})
		}
	}
	return out, nil
}

// The faults. Those whose name begins with lost have the service do its part.

func refusedConnection(func() *http.Response) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func noSuchHost(func() *http.Response) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "fake", IsNotFound: true}
}

func plainHTTP(func() *http.Response) (*http.Response, error) { return nil, http.ErrSchemeMismatch }

func lostEOF(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, io.ErrUnexpectedEOF
}

func lostReset(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

func lostTruncated(serve func() *http.Response) (*http.Response, error) {
	r := serve()
	r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 20), brokenReader{}))
	return r, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func lostEmpty(serve func() *http.Response) (*http.Response, error) {
	serve()
	return answer(200, "", "{}"), nil
}

func lostStatus(status int, kind, body string) fault {
	return func(serve func() *http.Response) (*http.Response, error) {
		serve()
		return answer(status, kind, body), nil
	}
}

func says(status int, kind, body string) fault {
	return func(func() *http.Response) (*http.Response, error) { return answer(status, kind, body), nil }
}

func answer(status int, kind, body string) *http.Response {
	w := httptest.NewRecorder()
	if kind != "" {
		w.Header().Set("X-Amzn-ErrorType", kind)
	}
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

func throttle() fault {
	return says(429, "TooManyRequestsException", `{"message":"Too Many Requests"}`)
}

func times(n int, f fault) []fault { return slices.Repeat([]fault{f}, n) }
