package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"
)

// served lets an SDK client call a handler without a socket.
func served(h http.Handler) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/v1/submitjob", "SubmitJob"},
		{"GET", "/v1/submitjob", ""},
		{"POST", "/v1/SubmitJob", ""},
		{"POST", "/v1/submitjob/", ""},
		{"POST", "/", ""},
		{"GET", "/v1/tags/arn:aws:batch:us-east-1:123456789012:job/a", "ListTagsForResource"},
		{"DELETE", "/v1/tags/x", "UntagResource"},
		{"PUT", "/v1/tags/x", ""},
		{"GET", "/v1/tags/", ""},
	} {
		if got, ok := Operation(c.method, c.path); got != c.want || ok != (c.want != "") {
			t.Errorf("Operation(%s, %s) = %q, %v, want %q", c.method, c.path, got, ok, c.want)
		}
	}
	if method, path := Path("RunJob"); method != "" || path != "" {
		t.Errorf("Path(RunJob) = %s %s", method, path)
	}
	if name, ok := LogsOperation("DynamoDB_20120810.GetItem"); ok {
		t.Errorf("LogsOperation accepts %s of another service", name)
	}
	if name, ok := ClusterOperation("AmazonEC2ContainerServiceV20141113.ListClusters"); !ok || name != "ListClusters" {
		t.Errorf("ClusterOperation: %q, %v", name, ok)
	}
}

func TestHandle(t *testing.T) {
	describe := Handle(func(_ context.Context, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
		switch in.Jobs[0] {
		case "refused":
			return nil, fmt.Errorf("find jobs: %w", ClientException("jobs: %d is too many", 101))
		case "broken":
			return nil, errors.New("disk full")
		}
		return &awsbatch.DescribeJobsOutput{Jobs: []types.JobDetail{{JobId: &in.Jobs[0]}}}, nil
	})
	client := awsbatch.New(awsbatch.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{},
		Retryer: aws.NopRetryer{}, HTTPClient: served(describe)})
	ask := func(id string) (*awsbatch.DescribeJobsOutput, error) {
		return client.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	}
	if out, err := ask("x"); err != nil || *out.Jobs[0].JobId != "x" {
		t.Errorf("got %v, %v", out, err)
	}
	_, err := ask("refused")
	if e, ok := errors.AsType[*types.ClientException](err); !ok || e.ErrorMessage() != "jobs: 101 is too many" {
		t.Errorf("got %v", err)
	}
	_, err = ask("broken")
	if e, ok := errors.AsType[*types.ServerException](err); !ok || e.ErrorMessage() != "disk full" {
		t.Errorf("got %v", err)
	}
}

func TestHandleBadRequest(t *testing.T) {
	h := Handle(func(context.Context, *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
		t.Error("called with a bad request")
		return nil, nil
	})
	w := httptest.NewRecorder()
	h(w, httptest.NewRequest("POST", "/v1/submitjob", strings.NewReader(`{"JOBNAME":"a"}`)))
	want := `{"__type":"ClientException","message":"JOBNAME: unknown member, did you mean \"jobName\"?"}`
	if w.Code != 400 || w.Header().Get("X-Amzn-ErrorType") != "ClientException" || w.Body.String() != want {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestHandleLogs(t *testing.T) {
	events := Handle(func(_ context.Context, in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
		return nil, &Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}
	})
	client := cloudwatchlogs.New(cloudwatchlogs.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{},
		Retryer: aws.NopRetryer{}, HTTPClient: served(events)})
	_, err := client.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogStreamName: aws.String("s"), LogGroupName: aws.String("g")})
	if e, ok := errors.AsType[*logtypes.ResourceNotFoundException](err); !ok || e.ErrorMessage() != "The specified log stream does not exist." {
		t.Errorf("got %v", err)
	}
}

func TestUndeclaredFault(t *testing.T) {
	client := awsbatch.New(awsbatch.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
		HTTPClient: served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = WriteFault(w, &Fault{Type: "TooManyRequestsException", Status: 429, Message: "slow down"})
		}))})
	_, err := client.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{"x"}})
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "TooManyRequestsException" || e.ErrorMessage() != "slow down" {
		t.Errorf("got %v", err)
	}
}
