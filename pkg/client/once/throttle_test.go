package once

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// quota is a service that accepts 50 calls a second, as AWS does, with a bucket of 50.
type quota struct {
	latency time.Duration
	// others is how many calls per second other clients make.
	others func() float64

	mu              sync.Mutex
	tokens          float64
	at              time.Time
	accepted, calls int
	throttled       int
}

func (q *quota) Take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	rate := 50.0
	if q.others != nil {
		rate -= q.others()
	}
	if q.at.IsZero() {
		q.tokens = 50
	}
	q.tokens = min(q.tokens+max(now.Sub(q.at).Seconds(), 0)*rate, 50)
	q.at = now
	q.calls++
	if q.tokens < 1 {
		q.throttled++
		return false
	}
	q.tokens--
	q.accepted++
	return true
}

func (q *quota) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	q.ServeHTTP(w, r)
	return w.Result(), nil
}

func (q *quota) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(q.latency)
	if !q.Take() {
		_ = wire.WriteFault(w, &wire.Fault{Type: "TooManyRequestsException", Status: 429, Message: "Too Many Requests"})
		return
	}
	wire.Handle(func(_ context.Context, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
		return &awsbatch.SubmitJobOutput{JobId: aws.String(in.Tags[client.SubmissionTag]), JobName: in.JobName}, nil
	})(w, r)
}

// client returns a client that treats the quota's service as AWS.
func (q *quota) client() *Client {
	return New(aws.Config{Region: "us-east-1", HTTPClient: q, Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})})
}

// TestThrottled submits 10,000 jobs to a service that accepts 50 calls a second.
func TestThrottled(t *testing.T) {
	for _, c := range []struct {
		name   string
		others func() float64
		least  float64 // submits a second
		// most is the share of calls that the service may find too many
		most float64
	}{
		{"alone", nil, 45, 0.02},
		{"others take half", func() float64 { return 25 }, 15, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quota{latency: 150 * time.Millisecond, others: c.others}
				start, n := time.Now(), 10000
				jobs, err := q.client().Submit(t.Context(), clienttest.Works(n))
				if err != nil || len(jobs) != n || q.accepted != n {
					t.Fatalf("%d jobs, %d accepted, %v", len(jobs), q.accepted, err)
				}
				rate := float64(n) / time.Since(start).Seconds()
				if rate < c.least || rate > 50 {
					t.Errorf("%.1f submits a second, want at least %v", rate, c.least)
				}
				if share := float64(q.throttled) / float64(q.calls); share > c.most {
					t.Errorf("%.1f %% of %d calls were throttled", share*100, q.calls)
				}
				t.Logf("%.1f submits a second, %d of %d calls throttled", rate, q.throttled, q.calls)
			})
		})
	}
}

// TestEndpoints checks that AWS has a quota, and that other servers have none until they
// throttle.
func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"":                                      true,
		"https://batch.us-east-1.amazonaws.com": true,
		"https://vpce-1.batch.us-east-1.vpce.amazonaws.com": true,
		"https://batch.cn-north-1.amazonaws.com.cn":         true,
		"http://127.0.0.1:5005":                             false,
		"http://amazonaws.com.example":                      false,
	} {
		if got := client.IsAWS(endpoint); got != want {
			t.Errorf("%q: %v", endpoint, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		free := client.NewRateLimit("http://127.0.0.1:5005")
		for range 1000 {
			if d := free.Take(time.Now()); d != 0 {
				t.Fatalf("waits %v", d)
			}
		}
		free.Throttled()
		free.Throttled() // answers at the same time count once
		if free.Rate != client.QuotaRate/2 {
			t.Errorf("rate %v", free.Rate)
		}
		time.Sleep(time.Hour)
		if free.Take(time.Now()); free.Rate != client.QuotaRate {
			t.Errorf("rate %v after an hour", free.Rate)
		}
	})
}

// TestRateLimitEndsWithContext checks that a caller that waits for a token returns at once when
// its context ends, without sending anything.
func TestRateLimitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quota{}
		c := q.client()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		jobs, err := c.Submit(ctx, clienttest.Works(1000))
		if err == nil || len(jobs) < 450 || len(jobs) > 500 || time.Since(start) > 11*time.Second {
			t.Errorf("%d jobs in %v, %v", len(jobs), time.Since(start), err)
		}
	})
}

// BenchmarkThrottled does the same in real time, over a socket: 1,000 submits to a service that
// accepts 50 a second.
func BenchmarkThrottled(b *testing.B) {
	for b.Loop() {
		q := &quota{latency: 100 * time.Millisecond}
		server := httptest.NewServer(q)
		c := New(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
			})})
		c.Rate = client.NewRateLimit("")
		start := time.Now()
		jobs, err := c.Submit(b.Context(), clienttest.Works(1000))
		if err != nil || len(jobs) != 1000 {
			b.Fatal(fmt.Errorf("%d jobs: %w", len(jobs), err))
		}
		b.ReportMetric(1000/time.Since(start).Seconds(), "submits/s")
		b.ReportMetric(float64(q.throttled), "throttled")
		server.Close()
	}
}
