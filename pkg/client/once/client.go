package once

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/notify"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// Client submits each job once and keeps a ledger. The embedded client reads and stops jobs.
type Client struct {
	*client.Client
	// Ledger records every accepted job and resolves ids and names first. It may be nil.
	Ledger *Ledger
	// Settle is how long the client searches for a job that may have been accepted. 0 means
	// DefaultSettle.
	Settle time.Duration
	// TakesOnce means that the service recognises a repeated SubmitJob by its
	// Amz-Sdk-Invocation-Id, as the local engine does, and creates no second job. Jobs then keep
	// the names that users gave them.
	TakesOnce bool
	// Replayable means that something between this process and the service can deliver a request
	// twice (see CanReplay). The client then checks jobs for duplicates even after clear answers.
	Replayable bool
	// LeaveCheck makes Submit and SubmitNow return without waiting for the last check for
	// duplicates. The caller does that check with CheckDuplicates if OpenRun.Unchecked is not 0.
	LeaveCheck bool
	// Attached means that the jobs end with this process, so that nothing is left to resume.
	Attached bool
	// SubmitAgain makes Resume resubmit jobs that the service may have forgotten.
	SubmitAgain bool
	// AtOnce is how many jobs may be submitted concurrently. 0 means 32.
	AtOnce int
	// StopOnFailure applies if a job of a submission is rejected: the client stops the accepted
	// jobs and gives up the rest, instead of leaving the submission open for Resume.
	StopOnFailure bool
	// Stage writes a text to an s3:// URL or the absolute path of a file, before the first job
	// that needs it is submitted (plan.Job.Staged). It may be called again for the same text, and
	// concurrently for others. Without it, plans that need staging are refused.
	Stage func(ctx context.Context, url, text string) error
	// Notify sends a message about the end of jobs to a receiver (plan.Job.Notify). An error is a
	// warning. Without it, no message is sent.
	Notify func(ctx context.Context, receiver string, e notify.Event) error
	// Elsewhere returns the client of another target of the platform file, with a ledger in the same
	// directory, for rungs that change the target. Without it, such rungs do nothing.
	Elsewhere func(ctx context.Context, target string) (*Client, error)
	// WhyWaiting returns why a RUNNABLE job waits, as `batchctl explain` knows it: the cause by its name,
	// and a sentence. Both are "" for an unknown cause. Without it, rungs go by time alone.
	WhyWaiting func(ctx context.Context, id string) (cause, summary string)
	// Machines returns the instances behind container instances, for the record of attempts. Without it, they are
	// unknown.
	Machines func(ctx context.Context, containerInstances []string) (map[string]rpc.Machine, error)
	// Measured returns the text of an object at an s3:// URL: the measurement of an attempt whose log has none. Without
	// it, only logs have measurements.
	Measured func(ctx context.Context, url string) (text string, err error)
	// ImageDigests returns the digests of the images of ECS tasks, by the task and the container's name, for the record
	// of attempts. Without it, they are unknown.
	ImageDigests func(ctx context.Context, tasks []string) (map[string]map[string]string, error)
	// Accepted is called for each job that gets an id or is skipped, while Submit or Resume runs.
	// It may be nil, and may be called concurrently.
	Accepted func(Submitted)
	// Progress receives progress messages for the user, one clause each. It may be nil, and may be
	// called concurrently.
	Progress func(text string)
}

// New returns a client for the account, Region or engine that cfg leads to.
func New(cfg aws.Config) *Client {
	c := &Client{Client: client.New(cfg)}
	c.Memory = ledgerMemory(func() *Ledger { return c.Ledger })
	return c
}

// progress passes a formatted message to Progress, if that is set.
func (c *Client) progress(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// report calls Accepted for a job.
func (c *Client) report(s Submitted) {
	if c.Accepted != nil {
		c.Accepted(s)
	}
}

// atOnce is how many independent jobs are submitted concurrently: 48 calls a second at up to
// 2/3 s each.
const atOnce = 32

// atOnce returns the number of jobs that are submitted concurrently.
func (c *Client) atOnce() int { return cmp.Or(c.AtOnce, atOnce) }

// CanReplay reports whether something between this process and AWS Batch can deliver a request
// twice. That can be another server at an endpoint URL, a proxy, or a middlebox that reads TLS with
// a certificate authority of yours. Over TLS to a host name of AWS, with the system's authorities,
// nothing can repeat a request.
func CanReplay(ctx context.Context, cfg aws.Config) bool {
	endpoint := rpc.Endpoint(ctx, cfg, awsbatch.ServiceID)
	if endpoint == "" {
		endpoint = "https://batch." + cfg.Region + ".amazonaws.com"
	}
	if !client.IsAWS(endpoint) || !strings.HasPrefix(endpoint, "https://") || os.Getenv("SSL_CERT_FILE") != "" ||
		os.Getenv("SSL_CERT_DIR") != "" {
		return true
	}
	client, known := cfg.HTTPClient.(*awshttp.BuildableClient)
	if cfg.HTTPClient == nil {
		client, known = awshttp.NewBuildableClient(), true
	}
	if !known {
		return true
	}
	transport := client.GetTransport()
	if transport.TLSClientConfig != nil && transport.TLSClientConfig.RootCAs != nil {
		return true
	}
	if transport.Proxy == nil {
		return false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, nil)
	if err != nil {
		return true
	}
	proxy, err := transport.Proxy(request)
	return proxy != nil || err != nil
}
