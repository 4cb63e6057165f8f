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
	// t fails if a test calls an operation that the fake does not have.
	t *testing.T
	// Start is the time from which elapsed times count.
	Start time.Time
	mu    sync.Mutex

	// Calls are the names of the operations in the order of their arrival.
	Calls []string
	// Definitions are the registered definitions. A test may add others.
	Definitions []types.JobDefinition
	// Submitted are the requests that the service accepted.
	Submitted []*awsbatch.SubmitJobInput
	// Stopped has the calls that stopped a job and their reasons, by id.
	Stopped map[string]string

	// Faults are the results of the next calls of an operation, instead of an answer.
	Faults map[string][]Fault
	// Jobs returns the description of a job, by id; nil if DescribeJobs does not have it then.
	Jobs map[string]func(elapsed time.Duration) *types.JobDetail
	// Listed are the jobs that ListJobs finds.
	Listed []types.JobSummary
	// Queues are the names of the job queues.
	Queues []string
	// Events returns the lines of a stream, by name.
	Events map[string]func(elapsed time.Duration) []string
	// Groups are the log groups of all requests.
	Groups []string
	// Asked are the streams of all requests.
	Asked []string
	// Hidden reports whether listings do not show a job yet; it may be nil.
	Hidden func(id string) bool
	// Saw is called for each request before its answer; it may be nil.
	Saw func(*http.Request)
}

// Fault returns the result of one call; serve lets the service execute the request.
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

// Do answers a request, with the next fault of its operation if there is one. It implements
// aws.HTTPClient.
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

// Count returns how often an operation was called.
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

// handler returns the handler of an operation. An unknown operation fails the test.
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
		return wire.Handle(func(_ context.Context,
			in *awsbatch.GetJobQueueSnapshotInput) (*awsbatch.GetJobQueueSnapshotOutput, error) {
			return &awsbatch.GetJobQueueSnapshotOutput{FrontOfQueue: &types.FrontOfQueueDetail{
				Jobs: []types.FrontOfQueueJobSummary{{JobArn: in.JobQueue}}}}, nil
		})
	case "CancelJob":
		return wire.Handle(func(_ context.Context, in *awsbatch.CancelJobInput) (*awsbatch.CancelJobOutput, error) {
			f.Stopped[*in.JobId] += "CancelJob " + *in.Reason + ";"
			return &awsbatch.CancelJobOutput{}, nil
		})
	case "TerminateJob":
		return wire.Handle(func(_ context.Context,
			in *awsbatch.TerminateJobInput) (*awsbatch.TerminateJobOutput, error) {
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

// Register adds a revision of a definition.
func (f *Fake) Register(_ context.Context,
	in *awsbatch.RegisterJobDefinitionInput) (*awsbatch.RegisterJobDefinitionOutput, error) {
	revision := int32(1)
	for _, d := range f.Definitions {
		if *d.JobDefinitionName == *in.JobDefinitionName {
			revision++
		}
	}
	arn := fmt.Sprintf("arn:aws:batch:us-east-1:123456789012:job-definition/%s:%d", *in.JobDefinitionName, revision)
	f.Definitions = append(f.Definitions, types.JobDefinition{JobDefinitionArn: &arn,
		JobDefinitionName: in.JobDefinitionName,
		Revision:          &revision, Status: aws.String("ACTIVE"), Tags: in.Tags,
		ContainerProperties: in.ContainerProperties})
	return &awsbatch.RegisterJobDefinitionOutput{JobDefinitionArn: &arn, JobDefinitionName: in.JobDefinitionName,
		Revision: &revision}, nil
}

// page returns one element of all, so that every test covers paging.
func page[T any](all []T, token *string) ([]T, *string) {
	i, _ := strconv.Atoi(aws.ToString(token))
	if i+1 < len(all) {
		return all[i : i+1], aws.String(strconv.Itoa(i + 1))
	}
	return all[min(i, len(all)):], nil
}

// describeDefinitions returns named definitions, or the revisions of one name in one status.
func (f *Fake) describeDefinitions(_ context.Context,
	in *awsbatch.DescribeJobDefinitionsInput) (*awsbatch.DescribeJobDefinitionsOutput, error) {
	var fit []types.JobDefinition
	for _, d := range f.Definitions {
		if in.JobDefinitions != nil {
			if slices.Contains(in.JobDefinitions, aws.ToString(d.JobDefinitionArn)) {
				fit = append(fit, d)
			}
			continue
		}
		if *d.JobDefinitionName == *in.JobDefinitionName && *d.Status == *in.Status {
			fit = append(fit, d)
		}
	}
	out := &awsbatch.DescribeJobDefinitionsOutput{}
	out.JobDefinitions, out.NextToken = page(fit, in.NextToken)
	return out, nil
}

// TestID returns the id of the n-th job, from 1.
func TestID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

// Submit accepts a job. The job is RUNNABLE until a call stops it.
func (f *Fake) Submit(_ context.Context, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
	f.Submitted = append(f.Submitted, in)
	id, created := TestID(len(f.Submitted)), aws.Int64(time.Now().UnixMilli())
	f.Listed = append(f.Listed, types.JobSummary{JobId: &id, JobName: in.JobName, JobArn: in.JobQueue,
		CreatedAt: created})
	f.Jobs[id] = func(time.Duration) *types.JobDetail {
		d := &types.JobDetail{JobName: in.JobName, JobDefinition: in.JobDefinition, Tags: in.Tags, CreatedAt: created,
			Status: types.JobStatusRunnable}
		if f.Stopped[id] != "" {
			d.Status = types.JobStatusFailed
		}
		return d
	}
	return &awsbatch.SubmitJobOutput{JobId: &id, JobName: in.JobName}, nil
}

// describeJobs returns jobs in another order than requested, and omits unknown ones.
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

// describeQueues returns one queue per page.
func (f *Fake) describeQueues(_ context.Context,
	in *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
	out := &awsbatch.DescribeJobQueuesOutput{}
	var names []string
	names, out.NextToken = page(f.Queues, in.NextToken)
	for _, n := range names {
		out.JobQueues = append(out.JobQueues, types.JobQueueDetail{JobQueueName: &n})
	}
	return out, nil
}

// EachPage is ListJobs. It reads the queue of a job from the end of its ARN.
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
func (f *Fake) getLogEvents(_ context.Context,
	in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	f.Groups = append(f.Groups, *in.LogGroupName)
	f.Asked = append(f.Asked, *in.LogStreamName)
	at := f.Events[*in.LogStreamName]
	if at == nil {
		return nil, &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}
	}
	lines := at(time.Since(f.Start))
	token := aws.ToString(in.NextToken)
	direction, position, _ := strings.Cut(token, "/")
	from, _ := strconv.Atoi(position)
	to := min(from+2, len(lines))
	switch {
	case direction == "b": // events before the position
		from, to = max(from-1, 0), from
	case !*in.StartFromHead && token == "":
		from, to = len(lines), len(lines)
	}
	out := &cloudwatchlogs.GetLogEventsOutput{NextForwardToken: aws.String("f/" + strconv.Itoa(to)),
		NextBackwardToken: aws.String("b/" + strconv.Itoa(from))}
	for i, text := range lines[from:to] {
		if stamp := int64(from + i); stamp >= aws.ToInt64(in.StartTime) {
			out.Events = append(out.Events, logtypes.OutputLogEvent{Message: &text, Timestamp: &stamp})
		}
	}
	return out, nil
}

// These are the faults. With the Lost faults the service executes the request.

// RefusedConnection fails before the request is sent.
func RefusedConnection(func() *http.Response) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// NoSuchHost fails before the request is sent: the host has no address.
func NoSuchHost(func() *http.Response) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "fake", IsNotFound: true}
}

// PlainHTTP fails because the server does not speak TLS.
func PlainHTTP(func() *http.Response) (*http.Response, error) { return nil, http.ErrSchemeMismatch }

// LostEOF executes the request and closes the connection without an answer.
func LostEOF(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, io.ErrUnexpectedEOF
}

// LostReset executes the request and resets the connection.
func LostReset(serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

// LostTruncated executes the request and cuts the answer after 20 bytes.
func LostTruncated(serve func() *http.Response) (*http.Response, error) {
	r := serve()
	r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 20), BrokenReader{}))
	return r, nil
}

// BrokenReader is a body whose connection is lost.
type BrokenReader struct{}

// Read always fails.
func (BrokenReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

// LostEmpty executes the request and answers 200 with an empty object.
func LostEmpty(serve func() *http.Response) (*http.Response, error) {
	serve()
	return Answer(200, "", "{}"), nil
}

// LostStatus executes the request and returns another answer.
func LostStatus(status int, kind, body string) Fault {
	return func(serve func() *http.Response) (*http.Response, error) {
		serve()
		return Answer(status, kind, body), nil
	}
}

// Reply returns an answer without executing the request.
func Reply(status int, kind, body string) Fault {
	return func(func() *http.Response) (*http.Response, error) { return Answer(status, kind, body), nil }
}

// Answer returns an HTTP response with a status, an error type and a body.
func Answer(status int, kind, body string) *http.Response {
	w := httptest.NewRecorder()
	if kind != "" {
		w.Header().Set("X-Amzn-ErrorType", kind)
	}
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

// Throttle is the service's answer to too many requests.
func Throttle() Fault {
	return Reply(429, "TooManyRequestsException", `{"message":"Too Many Requests"}`)
}

// Times returns n equal faults.
func Times(n int, f Fault) []Fault { return slices.Repeat([]Fault{f}, n) }

// Works returns a plan of n jobs of the definition work.
func Works(n int) *plan.Plan {
	p := &plan.Plan{Name: "many"}
	for i := range n {
		p.Jobs = append(p.Jobs, &plan.Job{Name: fmt.Sprintf("job-%d", i),
			Submit: &awsbatch.SubmitJobInput{JobName: aws.String(fmt.Sprintf("job-%d", i)),
				JobQueue: aws.String("default"), JobDefinition: aws.String("work")}})
	}
	return p
}

// Stage is a state of a job from some time on.
type Stage struct {
	From   time.Duration
	Status types.JobStatus
	Reason string
}

// Life returns the description of a job that goes through stages. Before the first stage the job
// does not exist.
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

// At returns a stage that begins when the fake has existed for that long.
func At(from time.Duration, status types.JobStatus, reason string) Stage {
	return Stage{From: from, Status: status, Reason: reason}
}

// Stoppable returns a job that ends 20 s after the call that stops it.
func Stoppable(f *Fake, status types.JobStatus, array bool) func(time.Duration) *types.JobDetail {
	var asked time.Duration
	return func(d time.Duration) *types.JobDetail {
		job := &types.JobDetail{JobName: aws.String("a"), Status: status}
		if array {
			job.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(2)}
		}
		works := f.Stopped["1"] != ""
		if works && asked == 0 {
			asked = d
		}
		if works && d-asked > 20*time.Second {
			job.Status = types.JobStatusFailed
		}
		return job
	}
}
