package client

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// QuotaRate is the maximum number of calls per second. All Batch calls of an account in a
	// Region share 50 (AWS re:Post, knowledge center); the rest is for other programs.
	QuotaRate = 48
	// slowestRate is the lowest rate after halving.
	slowestRate = 1
	// recovery is how much the rate grows per second without throttling, in calls per second.
	recovery = 2
	// burst is how many unused calls carry over after a pause.
	burst = 2
	// halvingPause is the time in which throttled answers count once: concurrent calls are
	// throttled together.
	halvingPause = time.Second
)

// RateLimit is a token bucket for the calls of this process. When the service throttles because of
// other callers, it halves the rate and then recovers.
type RateLimit struct {
	mu sync.Mutex
	// free means that there is no limit until the service throttles once.
	free    bool
	Rate    float64   // calls a second
	next    time.Time // when the next token is due
	learned time.Time // when rate was last right
	halved  time.Time
}

// NewRateLimit returns the limit for an endpoint; "" is AWS's own. The quota is AWS's: another
// server, such as a test's or an engine's, has none until it throttles.
func NewRateLimit(endpoint string) *RateLimit {
	return &RateLimit{Rate: QuotaRate, free: !IsAWS(endpoint)}
}

// IsAWS reports whether an endpoint is one of AWS's, such as an interface endpoint of a VPC. ""
// means AWS's default.
func IsAWS(endpoint string) bool {
	if endpoint == "" {
		return true
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return true
	}
	for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".on.aws"} {
		if strings.HasSuffix(u.Hostname(), domain) {
			return true
		}
	}
	return false
}

// Wait returns when one call may start, or with the cause when ctx ends.
func (r *RateLimit) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if pause := r.Take(time.Now()); pause > 0 {
		return rpc.Sleep(ctx, pause)
	}
	return nil
}

// Take takes the next token and returns how long to wait for it.
func (r *RateLimit) Take(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free {
		return 0
	}
	r.recover(now)
	interval := time.Duration(float64(time.Second) / r.Rate)
	if earliest := now.Add(-burst * interval); r.next.Before(earliest) {
		r.next = earliest
	}
	r.next = r.next.Add(interval)
	return r.next.Sub(now)
}

// recover raises the rate for the time since it was last right.
func (r *RateLimit) recover(now time.Time) {
	if !r.learned.IsZero() {
		r.Rate = min(r.Rate+now.Sub(r.learned).Seconds()*recovery, QuotaRate)
	}
	r.learned = now
}

// Throttled records that the service throttled a call.
func (r *RateLimit) Throttled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.free = false
	if !r.halved.IsZero() && now.Sub(r.halved) < halvingPause {
		return
	}
	r.recover(now)
	r.Rate, r.halved = max(r.Rate/2, slowestRate), now
}

// rateLimitID is the middleware's name in the SDK's stack.
const rateLimitID = "BatchctlRateLimit"

// middleware makes each attempt of a call, including the SDK's retries, take a token.
func (r *RateLimit) middleware(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc(rateLimitID,
		func(ctx context.Context, in middleware.FinalizeInput,
			next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if err := r.Wait(ctx); err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
			out, metadata, err := next.HandleFinalize(ctx, in)
			if Throttled(err) {
				r.Throttled()
			}
			return out, metadata, err
		}), "Retry", middleware.After)
}

// WithoutRateLimit is for a call that has already taken its token.
func WithoutRateLimit(stack *middleware.Stack) error {
	_, err := stack.Finalize.Remove(rateLimitID)
	return err
}
