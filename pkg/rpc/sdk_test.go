package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// answers answers each request with the next of its bodies, with the status before the first
// blank. The last one is repeated.
type answers struct {
	bodies []string
	asked  int
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	_, body, _ := strings.Cut(a.bodies[min(a.asked, len(a.bodies)-1)], " ")
	status := map[string]int{"200": 200, "400": 400, "429": 429, "502": 502}[a.bodies[min(a.asked, len(a.bodies)-1)][:3]]
	a.asked++
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestSDKErrors checks that errors of SDK clients have the types of this package, and that only
// throttled calls are repeated, once.
func TestSDKErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}
	for name, c := range map[string]struct {
		http aws.HTTPClient
		want string
		is   func(error) bool
	}{
		"answered":          {&answers{bodies: []string{`200 {"tasks":[]}`}}, "", nil},
		"throttled once":    {&answers{bodies: []string{`400 {"__type":"ThrottlingException","message":"m"}`, `200 {"tasks":[]}`}}, "", nil},
		"throttled twice":   {&answers{bodies: []string{`429 {"__type":"ThrottlingException","message":"m"}`}}, "ecs DescribeTasks: ThrottlingException: m", Throttled},
		"refused":           {&answers{bodies: []string{`400 {"__type":"x#ClusterNotFoundException","message":"m"}`}}, "ecs DescribeTasks: ClusterNotFoundException: m", Missing},
		"denied":            {&answers{bodies: []string{`400 {"__type":"AccessDeniedException","message":"m"}`}}, "not allowed: ecs:DescribeTasks", Denied},
		"another server":    {&answers{bodies: []string{`502 <html>`}}, "ecs DescribeTasks: HTTP 502 Bad Gateway", nil},
		"silent":            {mute{}, "ecs DescribeTasks: no answer from http://127.0.0.1:5000 within 10s; check the target and the network", nil},
		"silent after that": {mute{header: true}, "ecs DescribeTasks: no answer from http://127.0.0.1:5000 within 10s; check the target and the network", nil},
		"no connection":     {fails{refused}, "ecs DescribeTasks: cannot reach http://127.0.0.1:5000: connect: connection refused; check the target and the network", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := aws.Config{Region: "us-east-1", HTTPClient: c.http, BaseEndpoint: aws.String("http://127.0.0.1:5000"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
				client := awsecs.NewFromConfig(SDK(cfg))
				_, err := Again(t.Context(), client.DescribeTasks, &awsecs.DescribeTasksInput{Tasks: []string{"t"}})
				if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) || c.is != nil && !c.is(err) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}

// cluster answers DescribeTasks for a cluster, whose tasks each have an image of their own.
type cluster struct{ asked []int }

func (c *cluster) Do(r *http.Request) (*http.Response, error) {
	var in struct {
		Cluster string
		Tasks   []string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	c.asked = append(c.asked, len(in.Tasks))
	var all []string
	for _, arn := range in.Tasks {
		_, id, _ := strings.Cut(arn, in.Cluster+"/")
		all = append(all, fmt.Sprintf(`{"taskArn":%q,"containers":[{"name":"default","imageDigest":"sha256:%s"},{"name":"unpulled"}]}`, arn, id))
	}
	body, status := `{"tasks":[`+strings.Join(all, ",")+`]}`, http.StatusOK
	if in.Cluster == "gone" {
		body, status = `{"__type":"ClusterNotFoundException"}`, http.StatusBadRequest
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestImageDigests checks that 100 tasks need one request, and that a deleted cluster hides nothing of another.
func TestImageDigests(t *testing.T) {
	const prefix = "arn:aws:ecs:us-east-1:123456789012:task/"
	var arns []string
	for i := range 150 {
		arns = append(arns, fmt.Sprint(prefix, "c/", i))
	}
	http := &cluster{}
	c := New(aws.Config{Region: "us-east-1", HTTPClient: http, BaseEndpoint: aws.String("http://127.0.0.1:5000"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	digests, err := c.ImageDigests(t.Context(), append(arns, prefix+"gone/1", prefix+"without-cluster"))
	if err != nil || len(digests) != 150 || len(digests[prefix+"c/7"]) != 1 || digests[prefix+"c/149"]["default"] != "sha256:149" {
		t.Errorf("%v, %d digests, %v", err, len(digests), digests[prefix+"c/149"])
	}
	if slices.Sort(http.asked); !slices.Equal(http.asked, []int{1, 50, 100}) {
		t.Errorf("asked for %v tasks", http.asked)
	}
}

// TestSDKCallerEnds checks that the end of the caller's own context does not count as a fault of
// the address.
func TestSDKCallerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cfg := aws.Config{Region: "us-east-1", HTTPClient: mute{}, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
		_, err := Attempt(ctx, awsecs.NewFromConfig(SDK(cfg)).DescribeTasks, &awsecs.DescribeTasksInput{Tasks: []string{"t"}})
		if _, isNetwork := errors.AsType[*NetworkError](err); err == nil || isNetwork || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
