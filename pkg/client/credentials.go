package client

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
)

// Expired reports whether the service rejected the credentials of a request as expired.
func Expired(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (strings.HasPrefix(api.ErrorCode(), "ExpiredToken") || api.ErrorCode() == "RequestExpired")
}

// Renewable returns credentials that are loaded again after Invalidate. Credentials from a file
// would otherwise stay unchanged, even after you logged in again.
func Renewable(first aws.CredentialsProvider,
	load func(context.Context) (aws.CredentialsProvider, error)) aws.CredentialsProvider {
	return &renewable{load: load, provider: aws.NewCredentialsCache(first)}
}

// renewable loads credentials again after Invalidate. It is safe for concurrent use.
type renewable struct {
	load     func(context.Context) (aws.CredentialsProvider, error)
	mu       sync.Mutex
	provider aws.CredentialsProvider // nil after Invalidate
}

// Retrieve returns credentials that are valid according to their expiry. It loads new ones if
// necessary.
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

// Invalidate makes the next Retrieve load the credentials again.
func (r *renewable) Invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.provider = nil
}
