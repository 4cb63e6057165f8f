package rpc

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// uploadRate is the slowest upload that is waited for, in bytes a second; it comes
// on top of callTimeout.
const uploadRate = 64 << 10

var s3 = Service{name: "s3", id: "S3", host: "s3", signing: "s3"}

var (
	// bucketName is what may stand in a path for a bucket: the names of today, and the
	// older ones of us-east-1 (Amazon S3 User Guide, "Bucket naming rules").
	bucketName = lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{2,254}$`)
	// hostLabel is a bucket's name that may be the first label of a host's name under
	// the certificate of S3, which covers one label: no dots, no capitals.
	hostLabel = lazy(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)
	// regionName keeps what an answer calls a Region from becoming another host.
	regionName = lazy(`^[a-z]{2,8}(-[a-z0-9]+){1,4}$`)
)

// lazy compiles an expression when it is needed first: most runs of the program need
// none of them, and the counted repetitions take a millisecond.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// ParseS3URL reads s3://bucket/key. The key is taken as it stands: nothing in it is
// unescaped, and "?" and "#" belong to it.
func ParseS3URL(text string) (bucket, key string, err error) {
	rest, ok := strings.CutPrefix(text, "s3://")
	bucket, key, _ = strings.Cut(rest, "/")
	if !ok || !bucketName().MatchString(bucket) || key == "" {
		return "", "", fmt.Errorf("%q is no object of S3: write s3://bucket/key", text)
	}
	return bucket, key, nil
}

// GetObject returns the content of an object as it arrives; the caller closes it. The
// bucket may be in another Region than the client. A missing bucket or key is an
// error for which Missing is true. What reading returns is an error, too, if the
// connection ends early. ctx holds until the content is closed.
func (c *Client) GetObject(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	return c.object(ctx, object{http.MethodGet, "GetObject", bucket, key, nil})
}

// PutObject writes an object, in place of one that is there. The bucket may be in
// another Region than the client. Text gets the media type text/plain, anything else
// application/octet-stream.
func (c *Client) PutObject(ctx context.Context, bucket, key string, body []byte) error {
	answer, err := c.object(ctx, object{http.MethodPut, "PutObject", bucket, key, body})
	if err != nil {
		return err
	}
	return answer.Close()
}

// ObjectURL is where an object is, for a service that reads it.
func (c *Client) ObjectURL(ctx context.Context, bucket, key string) (string, error) {
	u, _, err := c.address(ctx, bucket, key)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// object is what one request does with an object.
type object struct {
	method, operation, bucket, key string
	body                           []byte
}

// object asks in the client's Region, and once more in the bucket's.
func (c *Client) object(ctx context.Context, o object) (io.ReadCloser, error) {
	if !bucketName().MatchString(o.bucket) || o.key == "" {
		return nil, fmt.Errorf("s3 %s: bucket %q, key %q: no object can be called so", o.operation, o.bucket, o.key)
	}
	send := func() (io.ReadCloser, error) { return c.transfer(ctx, o) }
	answer, err := again(ctx, send)
	if e, ok := errors.AsType[*elsewhere](err); ok && e.region != c.region {
		c = c.In(e.region)
		answer, err = again(ctx, send)
	}
	if err != nil {
		return nil, fmt.Errorf("s3://%s/%s: %w", o.bucket, o.key, err)
	}
	return answer, nil
}

// elsewhere is what an answer says that also names the Region of the bucket.
type elsewhere struct {
	said   *Error
	region string
}

func (e *elsewhere) Error() string { return e.said.Error() }
func (e *elsewhere) Unwrap() error { return e.said }

// transfer makes one attempt. How long it may take until the answer begins is
// bounded; its content may take as long as ctx allows.
func (c *Client) transfer(ctx context.Context, o object) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(callTimeout+time.Duration(len(o.body))*time.Second/uploadRate, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	answer, err := c.exchange(ctx, o)
	if err != nil {
		cause := context.Cause(ctx)
		cancel(nil)
		if cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("s3 %s: %w", o.operation, err)
	}
	content := &content{answer.Body, cancel}
	if answer.StatusCode/100 == 2 {
		return content, nil
	}
	defer content.Close()
	return nil, readS3Error(o.operation, answer)
}

// content is the body of an answer, whose request ends when it is closed.
type content struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (c *content) Close() error {
	err := c.ReadCloser.Close()
	c.cancel(nil)
	return err
}

// exchange sends the signed request.
func (c *Client) exchange(ctx context.Context, o object) (*http.Response, error) {
	address, region, err := c.address(ctx, o.bucket, o.key)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, o.method, address.String(), bytes.NewReader(o.body))
	if err != nil {
		return nil, err
	}
	hash := payloadHash(o.body)
	r.Header.Set("X-Amz-Content-Sha256", hash) // S3 wants it beside the signature
	if o.method == http.MethodPut {
		r.Header.Set("Content-Type", mediaType(o.body))
	}
	signer := v4.NewSigner(func(options *v4.SignerOptions) { options.DisableURIPathEscaping = true }) // S3 signs the path as it is sent
	if err := c.sign(ctx, signer, r, hash, s3, region); err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity") // or the transport would unpack an object that is stored packed
	answer, err := c.cfg.HTTPClient.Do(r)
	if err != nil {
		return nil, withoutURL(err)
	}
	return answer, nil
}

func mediaType(body []byte) string {
	if utf8.Valid(body) && !bytes.ContainsRune(body, 0) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// address is where an object is: in the host's name of its bucket, or with the bucket
// in the path, for endpoints that the user configured and for buckets whose names
// the certificate of S3 does not cover.
func (c *Client) address(ctx context.Context, bucket, key string) (u *url.URL, region string, err error) {
	endpoint, region, err := c.endpoint(ctx, s3)
	if err != nil {
		return nil, "", err
	}
	if u, err = url.Parse(endpoint); err != nil {
		return nil, "", err
	}
	path := "/" + key
	if hostLabel().MatchString(bucket) && c.configured(ctx, s3.id) == "" {
		u.Host = bucket + "." + u.Host
	} else {
		path = "/" + bucket + path
	}
	u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + escapeKey(path)
	u.Path, err = url.PathUnescape(u.RawPath)
	return u, region, err
}

// escapeKey escapes once, by byte, what is not unreserved, and keeps "/": the form in
// which S3 computes signatures (Amazon S3 API Reference, "Signature Calculations for
// the Authorization Header", UriEncode).
func escapeKey(key string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// readS3Error reads the answer that is no success. It is an *elsewhere if the answer
// says in which Region the bucket is.
func readS3Error(operation string, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what cannot be read has no code
	var said struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
		Region  string
	}
	_ = xml.Unmarshal(text, &said)
	e := &Error{Service: s3.name, Operation: operation, Code: said.Code, Message: said.Message, Status: answer.StatusCode}
	region := answer.Header.Get("X-Amz-Bucket-Region")
	if region == "" && answer.Request != nil && answer.Request.Response != nil {
		// The HTTP client followed a 307 by itself, with a signature for the first host.
		region = answer.Request.Response.Header.Get("X-Amz-Bucket-Region")
	}
	if region == "" && said.Code == "AuthorizationHeaderMalformed" {
		region = said.Region
	}
	if regionName().MatchString(region) {
		return &elsewhere{e, region}
	}
	return e
}
