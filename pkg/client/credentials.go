package client

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
)

// Expired reports whether the service found that the credentials of a request
// are no longer good.
func Expired(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (strings.HasPrefix(api.ErrorCode(), "ExpiredToken") || api.ErrorCode() == "RequestExpired")
}

// Renewable returns credentials that are loaded anew after Invalidate: those that
// a configuration read from a file stay as they were, although somebody has
// logged in again meanwhile.
func Renewable(first aws.CredentialsProvider, load func(context.Context) (aws.CredentialsProvider, error)) aws.CredentialsProvider {
	return &renewable{load: load, provider: aws.NewCredentialsCache(first)}
}

type renewable struct {
	load     func(context.Context) (aws.CredentialsProvider, error)
	mu       sync.Mutex
	provider aws.CredentialsProvider // nil after Invalidate
}

// Retrieve returns the credentials that are good now, as far as they say so.
func (r *renewable) Retrieve(ctx context.Context) (aws.Credentials, error) {
	r.mu.Lock()
	provider := r.provider
	r.mu.Unlock()
	if provider != nil {
		return provider.Retrieve(ctx)
	}
	fresh, err := r.load(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	provider = aws.NewCredentialsCache(fresh)
	r.mu.Lock()
	r.provider = provider
	r.mu.Unlock()
	return provider.Retrieve(ctx)
}

// Invalidate has the next Retrieve load them anew.
func (r *renewable) Invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.provider = nil
}

// renew drops the credentials that the service found expired, so that the next
// request gets new ones; false when there is no way to get any.
func (c *Client) renew() bool {
	provider, ok := c.API.Options().Credentials.(interface{ Invalidate() })
	if ok {
		provider.Invalidate()
	}
	return ok
}
