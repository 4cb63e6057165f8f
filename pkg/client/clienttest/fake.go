// Package clienttest scripts an AWS Batch service behind the SDK's HTTP client, for tests of clients.
package clienttest

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

	"github.com/batchctl/batchctl/pkg/plan"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Fake is a scripted service behind the SDK's HTTP client. It keeps definitions and submissions,
// and returns jobs and logs as functions of the elapsed time.
type Fake struct {
	t     *testing.T
	Start time.Time
	mu    sync.Mutex

	Calls       []string // operations, as they arrive
	Definitions []types.JobDefinition
	Submitted   []*awsbatch.SubmitJobInput
	Stopped     map[string]string // id -> operation

	Faults map[string][]Fault // by operation, one for each call
	Jobs   map[string]func(elapsed time.Duration) *types.JobDetail
	Listed []types.JobSummary
	Queues []string
	Events map[string]func(elapsed time.Duration) []string // by stream
	Groups []string                                        // that were requested
	Asked  []string                                        // streams that were requested
	Hidden func(id string) bool                            // jobs that listings do not show yet
	Saw    func(*http.Request)
}

// Fault is the result of one call; serve does what the service does.
type Fault func(serve func() *http.Response) (*http.Response, error)

// New returns an empty fake.
func New(t *testing.T) *Fake {
	return &Fake{t: t, Start: time.Now(), Faults: map[string][]Fault{}, Stopped: map[string]string{},
		Jobs:   map[string]func(time.Duration) *types.JobDetail{},
		Events: map[string]func(time.Duration) []string{}}
}

// Config returns a configuration whose requests go to the fake.
func (f *Fake) Config() aws.Config {
	return aws.Config{Region: "us-east-1", HTTPClient: f, BaseEndpoint: aws.String("http://fake"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})}
}

func (f *Fake) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, ok := wire.LogsOperation(r.Header.Get("X-Amz-Target"))
	if !ok {
		name, _ = wire.Operation(r.Method, r.URL.Path)
	}
	f.Calls = append(f.Calls, name)
	if f.Saw != nil {
		f.Saw(r)
	}
	serve := func() *http.Response {
		w := httptest.NewRecorder()
		f.handler(name)(w, r)
		return w.Result()
	}
	if queue := f.Faults[name]; len(queue) > 0 {
		f.Faults[name] = queue[1:]
		return queue[0](serve)
	}
	return serve(), nil
}

func (f *Fake) Count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.Calls {
		if c == name {
			n++
		}
	}
	return n
}

func (f *Fake) handler(name string) http.HandlerFunc {
	switch name {
	case "RegisterJobDefinition":
		return wire.Handle(f.Register)
	case "DescribeJobDefinitions":
		return wire.Handle(f.describeDefinitions)
	case "SubmitJob":
		return wire.Handle(f.Submit)
	case "DescribeJobs":
		return wire.Handle(f.describeJobs)
	case "DescribeJobQueues":
		return wire.Handle(f.describeQueues)
	case "ListJobs":
		return wire.Handle(f.EachPage)
	case "GetJobQueueSnapshot":
		return wire.Handle(func(_ context.Context, in *awsbatch.GetJobQueueSnapshotInput) (*awsbatch.GetJobQueueSnapshotOutput, error) {
			return &awsbatch.GetJobQueueSnapshotOutput{FrontOfQueue: &types.FrontOfQueueDetail{
				Jobs: []types.FrontOfQueueJobSummary{{JobArn: in.JobQueue}}}}, nil
		})
	case "CancelJob":
		return wire.Handle(func(_ context.Context, in *awsbatch.CancelJobInput) (*awsbatch.CancelJobOutput, error) {
			f.Stopped[*in.JobId] += "CancelJob " + *in.Reason + ";"
			return &awsbatch.CancelJobOutput{}, nil
		})
	case "TerminateJob":
		return wire.Handle(func(_ context.Context, in *awsbatch.TerminateJobInput) (*awsbatch.TerminateJobOutput, error) {
			f.Stopped[*in.JobId] += "TerminateJob " + *in.Reason + ";"
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

func (f *Fake) Register(_ context.Context, in *awsbatch.RegisterJobDefinitionInput) (*awsbatch.RegisterJobDefinitionOutput, error) {
	revision := int32(1)
	for _, d := range f.Definitions {
		if *d.JobDefinitionName == *in.JobDefinitionName {
			revision++
		}
	}
	arn := fmt.Sprintf("arn:aws:batch:us-east-1:123456789012:job-definition/%s:%d", *in.JobDefinitionName, revision)
	f.Definitions = append(f.Definitions, types.JobDefinition{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName,
		Revision: &revision, Status: aws.String("ACTIVE"), Tags: in.Tags, ContainerProperties: in.ContainerProperties})
	return &awsbatch.RegisterJobDefinitionOutput{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName, Revision: &revision}, nil
}

// page returns one element of all, so that every test covers paging.
func page[T any](all []T, token *string) ([]T, *string) {
	i, _ := strconv.Atoi(aws.ToString(token))
	if i+1 < len(all) {
		return all[i : i+1], aws.String(strconv.Itoa(i + 1))
	}
	return all[min(i, len(all)):], nil
}

func (f *Fake) describeDefinitions(_ context.Context, in *awsbatch.DescribeJobDefinitionsInput) (*awsbatch.DescribeJobDefinitionsOutput, error) {
	var fit []types.JobDefinition
	for _, d := range f.Definitions {
		if *d.JobDefinitionName == *in.JobDefinitionName && *d.Status == *in.Status {
			fit = append(fit, d)
		}
	}
	out := &awsbatch.DescribeJobDefinitionsOutput{}
	out.JobDefinitions, out.NextToken = page(fit, in.NextToken)
	return out, nil
}

func TestID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

func (f *Fake) Submit(_ context.Context, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
	f.Submitted = append(f.Submitted, in)
	id, created := TestID(len(f.Submitted)), aws.Int64(time.Now().UnixMilli())
	f.Listed = append(f.Listed, types.JobSummary{JobId: &id, JobName: in.JobName, JobArn: in.JobQueue, CreatedAt: created})
	f.Jobs[id] = func(time.Duration) *types.JobDetail {
		d := &types.JobDetail{JobName: in.JobName, JobDefinition: in.JobDefinition, Tags: in.Tags, CreatedAt: created, Status: types.JobStatusRunnable}
		if f.Stopped[id] != "" {
			d.Status = types.JobStatusFailed
		}
		return d
	}
	return &awsbatch.SubmitJobOutput{JobId: &id, JobName: in.JobName}, nil
}

func (f *Fake) describeJobs(_ context.Context, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	if len(in.Jobs) > 100 {
		return nil, wire.ClientException("too many jobs: %d", len(in.Jobs))
	}
	out := &awsbatch.DescribeJobsOutput{}
	for _, id := range slices.Backward(in.Jobs) { // the service guarantees no order
		if at := f.Jobs[id]; at != nil {
			if job := at(time.Since(f.Start)); job != nil {
				job.JobId = &id
				out.Jobs = append(out.Jobs, *job)
			}
		}
	}
	return out, nil
}

func (f *Fake) describeQueues(_ context.Context, in *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
	out := &awsbatch.DescribeJobQueuesOutput{}
	var names []string
	names, out.NextToken = page(f.Queues, in.NextToken)
	for _, n := range names {
		out.JobQueues = append(out.JobQueues, types.JobQueueDetail{JobQueueName: &n})
	}
	return out, nil
}

// EachPage reads the queue of a job from the queue's name in its ARN.
func (f *Fake) EachPage(_ context.Context, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	var fit []types.JobSummary
	for _, job := range f.Listed {
		switch {
		case f.Hidden != nil && f.Hidden(*job.JobId):
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

// getLogEvents returns two events per page, or one from the end backward after an empty page, and
// repeats the token at either end.
func (f *Fake) getLogEvents(_ context.Context, in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	f.Groups = append(f.Groups, *in.LogGroupName)
	f.Asked = append(f.Asked, *in.LogStreamName)
	at := f.Events[*in.LogStreamName]
	if at == nil {
		return nil, &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}
	}
	lines := at(time.Since(f.Start))
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

// The faults. Those whose name begins with lost let the service do its part.

func RefusedConnection(func() *http.Response) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func NoSuchHost(func() *http.Response) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "fake", IsNotFound: true}
}

func PlainHTTP(func() *http.Response) (*http.Response, error) { return nil, http.ErrSchemeMismatch }

func LostEOF(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, io.ErrUnexpectedEOF
}

func LostReset(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

func LostTruncated(serve func() *http.Response) (*http.Response, error) {
	r := serve()
	r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 20), BrokenReader{}))
	return r, nil
}

type BrokenReader struct{}

func (BrokenReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func LostEmpty(serve func() *http.Response) (*http.Response, error) {
	serve()
	return Answer(200, "", "{}"), nil
}

func LostStatus(status int, kind, body string) Fault {
	return func(serve func() *http.Response) (*http.Response, error) {
		serve()
		return Answer(status, kind, body), nil
	}
}

func Reply(status int, kind, body string) Fault {
	return func(func() *http.Response) (*http.Response, error) { return Answer(status, kind, body), nil }
}

func Answer(status int, kind, body string) *http.Response {
	w := httptest.NewRecorder()
	if kind != "" {
		w.Header().Set("X-Amzn-ErrorType", kind)
	}
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

func Throttle() Fault {
	return Reply(429, "TooManyRequestsException", `{"message":"Too Many Requests"}`)
}

func Times(n int, f Fault) []Fault { return slices.Repeat([]Fault{f}, n) }

func Works(n int) *plan.Plan {
	p := &plan.Plan{Name: "many"}
	for i := range n {
		p.Jobs = append(p.Jobs, &plan.Job{Name: fmt.Sprintf("job-%d", i),
			Submit: &awsbatch.SubmitJobInput{JobName: aws.String(fmt.Sprintf("job-%d", i)), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}})
	}
	return p
}

// Stage is a state of a job from some moment on.
type Stage struct {
	From   time.Duration
	Status types.JobStatus
	Reason string
}

// Life returns the stages in time; before the first the job does not exist.
func Life(name string, stages ...Stage) func(time.Duration) *types.JobDetail {
	return func(elapsed time.Duration) (job *types.JobDetail) {
		for _, s := range stages {
			if elapsed >= s.From {
				job = &types.JobDetail{JobName: &name, Status: s.Status}
				if s.Reason != "" {
					job.StatusReason = aws.String(s.Reason)
				}
			}
		}
		return job
	}
}

// At is a stage that begins when the fake has existed for that long.
func At(from time.Duration, status types.JobStatus, reason string) Stage {
	return Stage{From: from, Status: status, Reason: reason}
}

// Stoppable is a job that ends 20 s after the call that its status requires.
func Stoppable(f *Fake, status types.JobStatus, array bool) func(time.Duration) *types.JobDetail {
	var asked time.Duration
	return func(d time.Duration) *types.JobDetail {
		job := &types.JobDetail{JobName: aws.String("a"), Status: status}
		if array {
			job.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(2)}
		}
		waits := status == "SUBMITTED" || status == "PENDING" || status == "RUNNABLE"
		works := strings.Contains(f.Stopped["1"], "TerminateJob") || waits && strings.Contains(f.Stopped["1"], "CancelJob")
		if works && asked == 0 {
			asked = d
		}
		if works && d-asked > 20*time.Second {
			job.Status = types.JobStatusFailed
		}
		return job
	}
}
