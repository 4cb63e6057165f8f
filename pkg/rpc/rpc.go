// Package rpc calls AWS services with one time limit and one kind of error: through the
// SDK's own clients (SDK, Attempt, Again), and for services whose client is not built in with
// signed requests in AWS JSON 1.1 and in Query with XML answers. Small functions on top ask
// what explaining and verifying a job needs. Two calls write: the deletion of repositories and
// of log streams, which has the same result however often it is sent. Logs of jobs are more
// than evidence, and are read with the SDK's own retries. pkg/objects has S3.
package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// callTimeout limits one attempt of a call. Its answer is evidence that may be missing, so
	// you should not wait long for it.
	callTimeout = 10 * time.Second
	// patience limits one attempt of a call whose answer is required. An answer that has not come
	// by then will not come.
	patience = time.Minute
	// retryAfter is the mean pause before the one retry of a throttled call.
	retryAfter = 500 * time.Millisecond
	// maxAnswer limits the bytes that are read of an answer.
	maxAnswer = 8 << 20
)

// Caller sends signed requests in the protocols of AWS.
type Caller struct{ endpoints }

// Renew drops credentials that a service rejected as expired, so that the next call loads new
// ones. It returns false if there is no way to get others.
func (c *Caller) Renew() bool {
	provider, ok := c.cfg.Credentials.(interface{ Invalidate() })
	if ok {
		provider.Invalidate()
	}
	return ok
}

// JSON calls an operation of a service with the protocol AWS JSON 1.1. in is encoded by
// encoding/json, and the answer decoded into out. An error answer is an *Error.
func (c *Caller) JSON(ctx context.Context, s Service, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {s.target + "." + operation}}
	return c.decoded(ctx, s, operation, header, body, out)
}

// REST calls an operation of AWS Batch, whose protocol is REST-JSON. Except for tags, each operation is a POST to a
// path with its name. An error answer is an *Error.
func (c *Caller) REST(ctx context.Context, s Service, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	s.path = "/v1/" + strings.ToLower(operation)
	return c.decoded(ctx, s, operation, http.Header{"Content-Type": {"application/json"}}, body, out)
}

// decoded sends a request and decodes its answer in JSON.
func (c *Caller) decoded(ctx context.Context, s Service, operation string, header http.Header, body []byte,
	out any) error {
	answer, err := c.call(ctx, s, operation, header, body)
	if err != nil {
		return err
	}
	if len(answer) == 0 { // of operations without an output
		return nil
	}
	if err := json.Unmarshal(wire.PlainIntegers(answer, false), out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", s.name, operation, err)
	}
	return nil
}

// Query calls an operation of a service that takes a form and answers in XML.
func (c *Caller) Query(ctx context.Context, s Service, operation string, in url.Values, out any) error {
	form := url.Values{"Action": {operation}, "Version": {s.version}}
	for name, values := range in {
		form[name] = values
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	answer, err := c.call(ctx, s, operation, header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	if err := xml.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", s.name, operation, err)
	}
	return nil
}

// ErrEndless reports a page that names itself as the next one. Following it would never finish,
// and stopping there would silently lose the rest.
var ErrEndless = errors.New("the list does not end: the answer repeats the token of its own page")

// Pages calls page with no token, and then with the token that each page returns until one
// returns none. It returns the error of a page, and ErrEndless if a page returns its own token.
func Pages(page func(token *string) (next *string, err error)) error {
	var token *string
	for {
		next, err := page(token)
		switch {
		case err != nil:
			return err
		case aws.ToString(next) == "":
			return nil
		case aws.ToString(token) == *next:
			return ErrEndless
		}
		token = next
	}
}

// inRegion returns a configuration for the SDK's own clients, with the client's Region.
func (c *Caller) inRegion() aws.Config {
	cfg := SDK(c.cfg)
	cfg.Region = c.region
	return cfg
}

// call sends a request, and repeats it once if the service throttles it.
func (c *Caller) call(ctx context.Context, s Service, operation string, header http.Header,
	body []byte) ([]byte, error) {
	return again(ctx, func() ([]byte, error) { return c.attempt(ctx, s, operation, header, body) })
}

// again makes an attempt, and repeats it once after a pause if the service throttles it.
func again[T any](ctx context.Context, attempt func() (T, error)) (T, error) {
	answer, err := attempt()
	if e, ok := errors.AsType[*Error](err); !ok || !e.throttled() {
		return answer, err
	}
	if err := Sleep(ctx, retryAfter/2+rand.N(retryAfter)); err != nil {
		return answer, err
	}
	return attempt()
}

// Sleep waits for d, or less when ctx ends; then it returns the reason.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// attempt sends one request within callTimeout and reads its answer.
func (c *Caller) attempt(whole context.Context, s Service, operation string, header http.Header,
	body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(whole, callTimeout)
	defer cancel()
	r, err := c.signed(ctx, s, header, body)
	if login := Login(err); login != nil {
		return nil, login // the same for every operation
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.name, operation, err)
	}
	answer, err := c.cfg.HTTPClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.name, operation, unanswered(whole, r.URL.String(), callTimeout, err))
	}
	text, err := readBody(answer)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s %s: %w", s.name, operation, unanswered(whole, r.URL.String(), callTimeout, err))
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", s.name, operation, err)
	case answer.StatusCode/100 != 2:
		return nil, AsLogin(readError(s, operation, answer, text))
	}
	return text, nil
}

// readBody reads an answer until it finishes, and closes it.
func readBody(answer *http.Response) ([]byte, error) {
	defer answer.Body.Close()
	var body bytes.Buffer
	if n := answer.ContentLength; 0 < n && n <= maxAnswer {
		body.Grow(int(n) + bytes.MinRead) // otherwise it would grow, and be copied, many times
	}
	_, err := body.ReadFrom(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	text := body.Bytes()
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return text, nil
}

// signed returns a request with its signature (Signature Version 4).
func (c *Caller) signed(ctx context.Context, s Service, header http.Header, body []byte) (*http.Request, error) {
	endpoint, region, err := c.endpoint(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header.Clone()
	return r, c.sign(ctx, r, payloadHash(body), s, region)
}

// sign adds a signature to the header of a request.
func (c *Caller) sign(ctx context.Context, r *http.Request, hash string, s Service, region string) error {
	if c.cfg.Credentials == nil {
		return errors.New("there are no credentials")
	}
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("get credentials: %w", err)
	}
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hash, s.name, region, time.Now())
}

// payloadHash returns the hash of a body for its signature.
func payloadHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
