package objects

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/batch"
)

var (
	// regionName keeps what an answer calls a Region from becoming another host.
	regionName = lazy(`^[a-z]{2,8}(-[a-z0-9]+){1,4}$`)
	// expecting matches S3's message for a signature of the wrong Region.
	expecting = lazy(`expecting '([a-z0-9-]+)'`)
)

// openClient returns the client for a bucket's Region, and that Region. Until an answer names another
// one, it is the configuration's.
func openClient(ctx context.Context, s *Store, bucket string) (*s3.Client, string, error) {
	cfg, err := s.configuration(ctx)
	if err != nil {
		return nil, "", err
	}
	c, region := clientOf(&s.clients, cfg, bucket)
	return c, region, nil
}

// configuration loads the AWS configuration once. A failed load is tried again at the next call.
func (s *Store) configuration(ctx context.Context) (aws.Config, error) {
	s.config.Lock()
	defer s.config.Unlock()
	if s.config.loaded {
		return s.config.cfg, nil
	}
	if s.Config == nil {
		return aws.Config{}, errors.New("there is no AWS configuration")
	}
	cfg, err := s.Config(ctx)
	if err != nil {
		return cfg, err
	}
	s.config.cfg, s.config.loaded = cfg, true
	s.config.cfg.HTTPClient = &watched{inner: httpClient(cfg.HTTPClient, s.atOnce()), stall: s.stall()}
	return s.config.cfg, nil
}

// call makes a request in the bucket's known Region, and repeats it if the answer names another.
// action is the IAM action, for the error.
func call[T any](ctx context.Context, s *Store, action string, at location,
	request func(c *s3.Client) (T, error)) (T, error) {
	var none T
	c, region, err := openClient(ctx, s, at.bucket)
	if err != nil {
		return none, err
	}
	answer, err := request(c)
	// A bucket in another Region: remember it for all later requests.
	if other := elsewhere(err); other != "" && other != region {
		s.clients.setRegion(at.bucket, other)
		if c, region, err = openClient(ctx, s, at.bucket); err != nil {
			return none, err
		}
		answer, err = request(c)
	}
	if err != nil {
		return none, describeError(ctx, err, action, at, region)
	}
	return answer, nil
}

// elsewhere returns the Region of the bucket from an answer; "" for any other answer.
func elsewhere(err error) string {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil || answer.Response.Response == nil {
		return ""
	}
	region := answer.Response.Header.Get("X-Amz-Bucket-Region")
	if r := answer.Response.Request; region == "" && r != nil && r.Response != nil {
		// The HTTP client followed a 307 with a signature for the first host.
		region = r.Response.Header.Get("X-Amz-Bucket-Region")
	}
	if failure, ok := errors.AsType[smithy.APIError](err); ok && region == "" &&
		failure.ErrorCode() == "AuthorizationHeaderMalformed" {
		if m := expecting().FindStringSubmatch(failure.ErrorMessage()); m != nil {
			region = m[1]
		}
	}
	if !regionName().MatchString(region) {
		return ""
	}
	return region
}

// Error is an error answer of S3.
type Error struct {
	// Action is that of IAM, as s3:GetObject.
	Action string
	// Code is the service's name of the error; Status that of HTTP.
	Code   string
	Status int
	text   string
	cause  error
}

// Error names the location, the cause and the next step.
func (e *Error) Error() string { return e.text }

// Unwrap returns the SDK's error.
func (e *Error) Unwrap() error { return e.cause }

// Missing reports whether err means that an object or a bucket does not exist.
func Missing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == "NoSuchKey" || e.Code == "NoSuchBucket" || e.Code == "NotFound" ||
		e.Status == http.StatusNotFound)
}

// Denied reports whether err means that the credentials do not allow the request.
func Denied(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusForbidden
}

// remedied is an error of credentials, as package target names it.
type remedied interface {
	error
	Remedy() string
}

// describeError converts an error of the SDK to a message with the next step.
func describeError(ctx context.Context, err error, action string, at location, region string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if without := untrusted(err); without != "" {
		return fmt.Errorf("%s: %s", at, without)
	}
	e := &Error{Action: action, cause: err}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		e.Status = answer.HTTPStatusCode()
	}
	failure, ok := errors.AsType[smithy.APIError](err)
	if login, isLogin := errors.AsType[remedied](err); isLogin {
		e.text = fmt.Sprintf("%s: %s; %s", at, login, login.Remedy())
		return e
	}
	if !ok {
		e.text = fmt.Sprintf("%s: %s", at, reason(err))
		return e
	}
	e.Code = failure.ErrorCode()
	switch {
	case e.Status == http.StatusForbidden && (e.Code == "AccessDenied" || e.Code == "Forbidden" ||
		e.Code == "AllAccessDisabled"):
		e.text = fmt.Sprintf("%s: not allowed: %s on %s; in a job, the policy of its jobRoleArn must allow it%s", at,
			action, arn(at, action, region), otherCauses(action))
	case e.Code == "NoSuchBucket":
		e.text = fmt.Sprintf("%s: NoSuchBucket: no bucket %s", at, at.bucket)
	case e.Status == http.StatusNotFound:
		e.text = fmt.Sprintf("%s: no such object; for everything below a prefix, write s3://%s/%s/", at, at.bucket,
			strings.TrimSuffix(at.key, "/"))
	case e.Status == http.StatusPreconditionFailed:
		e.text = fmt.Sprintf("%s: the object changed during the download: download it again, or use a different name for each version", at)
	case e.Code == "InvalidObjectState":
		e.text = fmt.Sprintf("%s: the object is archived: restore it first with aws s3api restore-object", at)
	case e.Code == "BadDigest" || e.Code == "XAmzContentChecksumMismatch":
		e.text = fmt.Sprintf("%s: %s: the upload does not match the file: the file changed during the upload, or the connection corrupted data", at, e.Code)
	default:
		e.text = fmt.Sprintf("%s: s3 %s: %s: %s", at, strings.TrimPrefix(action, "s3:"), e.Code, failure.ErrorMessage())
		if e.Code == "" || failure.ErrorMessage() == "" {
			e.text = fmt.Sprintf("%s: s3 %s: HTTP %d %s", at, strings.TrimPrefix(action, "s3:"), e.Status,
				http.StatusText(e.Status))
		}
	}
	return e
}

// otherCauses returns further possible causes of a rejection.
func otherCauses(action string) string {
	switch action {
	case "s3:GetObject":
		return " (and kms:Decrypt on its KMS key, if it has one; without s3:ListBucket, a missing object gives the same error)"
	case "s3:PutObject":
		return " (and kms:GenerateDataKey on the bucket's KMS key, if it has one)"
	}
	return ""
}

// arn returns the resource to name in a policy.
func arn(at location, action, region string) string {
	partition := batch.PartitionOf(region).Name
	if action == "s3:ListBucket" {
		return fmt.Sprintf("arn:%s:s3:::%s", partition, at.bucket)
	}
	return fmt.Sprintf("arn:%s:s3:::%s/%s", partition, at.bucket, at.key)
}

// reason returns the informative part of the SDK's error for a request without an answer from S3.
func reason(err error) string {
	if strings.Contains(err.Error(), errStalled.Error()) {
		return fmt.Sprintf("no answer from %s in %d attempts; check the endpoint and the network", server(err),
			attempts)
	}
	// The innermost error has the cause without the SDK's wrapping.
	at := server(err)
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("the connection to %s ended without an answer, %d times", at, attempts)
	}
	if at != "S3" {
		return fmt.Sprintf("cannot reach %s: %v; check the endpoint and the network", at, err)
	}
	return err.Error()
}

// server returns the address that a failed request went to; S3 if the error does not contain it.
func server(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if u, err := url.Parse(failed.URL); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	}
	return "S3"
}

// untrusted returns the remedy for a server certificate that cannot be verified; "" for any other
// error.
func untrusted(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, none := errors.AsType[x509.SystemRootsError](err)
	if !unknown && !none {
		return ""
	}
	if pool, err := x509.SystemCertPool(); none || err != nil || pool.Equal(x509.NewCertPool()) {
		return "there are no CA certificates in this image: install ca-certificates in it, or set SSL_CERT_FILE"
	}
	return "this image does not trust the authority of the server's certificate: add it to the image's CA certificates, or set SSL_CERT_FILE"
}
