package objects

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// attempts is how often the SDK makes a request. S3 answers 503 while it spreads a prefix, for
// longer than the SDK's default of three attempts.
const attempts = 8

// clients are the clients of a Store, one for each Region.
type clients struct {
	sync.Mutex
	// of has a *s3.Client for each Region. The compiler reads the fields and methods of a type in every package that
	// uses the type. If one of them named the client, the 26 packages that use a Store would read all types of S3's API.
	of      map[string]any
	regions map[string]string // of buckets elsewhere
}

// clientOf returns the client for a bucket's Region, and that Region.
func clientOf(c *clients, cfg aws.Config, bucket string) (*s3.Client, string) {
	c.Lock()
	defer c.Unlock()
	region := c.regions[bucket]
	if region == "" {
		region = cfg.Region
	}
	if region == "" {
		region = "us-east-1" // has the location of every bucket of its partition
	}
	if c.of == nil {
		c.of, c.regions = map[string]any{}, map[string]string{}
	}
	if c.of[region] == nil {
		c.of[region] = newClient(cfg, region)
	}
	return c.of[region].(*s3.Client), region
}

// setRegion records the Region of a bucket that has a client already.
func (c *clients) setRegion(bucket, region string) {
	c.Lock()
	defer c.Unlock()
	c.regions[bucket] = region
}

// httpClient returns a client that keeps that many idle connections open, since the Store uses them. A client of another type stays
// unchanged.
func httpClient(client aws.HTTPClient, connections int) aws.HTTPClient {
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	b, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return client
	}
	return b.WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = connections
		t.MaxIdleConns = max(t.MaxIdleConns, 2*connections)
		t.ReadBufferSize, t.WriteBufferSize = 64<<10, 64<<10
	})
}

// newClient makes the client for a Region, with this package's checksums, retries and addresses.
func newClient(cfg aws.Config, region string) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Region = region
		plain := false
		if o.BaseEndpoint != nil { // a custom endpoint has no DNS names for buckets
			o.UsePathStyle = true
			plain = strings.HasPrefix(*o.BaseEndpoint, "http://")
		}
		// This package handles checksums; the SDK would compute them a second time.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			// The SDK's defaults are 3 attempts and a backoff of up to 20 s.
			r.MaxAttempts = attempts
			r.MaxBackoff = 10 * time.Second
			r.RateLimiter = ratelimit.None // one budget for all connections runs out with the first cloud
		})
		if !plain {
			// TLS and the checksum protect the bytes, so the signature need not contain their hash.
			o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
		}
	})
}
