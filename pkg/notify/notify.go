// Package notify sends messages about submissions that have ended: to a webhook, or to a topic of
// Amazon SNS.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Type and Version identify the form of Event. Later versions of batchctl only add members to it.
const (
	Type    = "batchctl.submission.ended"
	Version = 1
	// JobType is the Type of the state machine's messages, each of which is about one job (templates,
	// ladder.json).
	JobType = "batchctl.job.ended"
)

// Group is the message group in FIFO topics. A group keeps the order of its messages.
const Group = "batchctl"

// Event is the message: that all jobs of a submission with the same receiver have ended, or that one
// job has (JobType). It has no environment, command or secret of a job.
type Event struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	// ID is the same in every delivery of the message. A receiver that gets it twice ignores the
	// second one.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Target is where the jobs ran: `local`, or `aws 123456789012 us-east-1`.
	Target string `json:"target"`
	// Submission is the run in the ledger, and Name that of the workflow or of the only job. A message
	// of JobType has the name of the job, and its submission only for a job of a workflow.
	Submission string `json:"submission"`
	Name       string `json:"name"`
	// Status is SUCCEEDED or FAILED. A job that failed does not count if the jobs that ran it again
	// succeeded.
	Status string `json:"status"`
	Jobs   []Job  `json:"jobs"`
}

// Job is a job of the message.
type Job struct {
	Name  string `json:"name"`
	ID    string `json:"id"`
	Queue string `json:"queue,omitempty"`
	// Status is that of AWS Batch.
	Status string `json:"status"`
	// Reason is the status reason, and ExitCode that of the last attempt.
	Reason   string `json:"reason,omitempty"`
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Target is the job's target if a rung moved it to another one than that of the message.
	Target    string `json:"target,omitempty"`
	ArraySize int    `json:"arraySize,omitempty"`
	// StartedAt and StoppedAt are in epoch milliseconds, as in AWS Batch.
	StartedAt int64 `json:"startedAt,omitempty"`
	StoppedAt int64 `json:"stoppedAt,omitempty"`
	// Again is the id of the failed job that this one runs again, and Cause why that one failed.
	Again string `json:"again,omitempty"`
	Cause string `json:"cause,omitempty"`
	// Ladder is ladder.ByStateMachine for a FAILED job that the state machine may run again: batchctl
	// does not know the jobs that follow.
	Ladder string `json:"ladder,omitempty"`
	// Error is why the state machine could not run the job again: the error of its execution.
	Error string `json:"error,omitempty"`
}

const (
	// tries and firstPause bound how long a receiver that does not answer is tried: four times within
	// about a minute.
	tries      = 4
	firstPause = 2 * time.Second
	tryTimeout = 10 * time.Second
	// maxAnswer is how much of an answer is read.
	maxAnswer = 64 << 10
	// maxSubject is how long a subject of SNS may be: "less than 100 characters" (API reference, Publish).
	maxSubject = 99
)

// Sender sends events.
type Sender struct {
	// Config returns the configuration for SNS in a Region. It is called only for topics.
	Config func(ctx context.Context) (aws.Config, error)
	// Transport is nil for one that respects the proxies of the environment.
	Transport http.RoundTripper
	// Version is in the User-Agent.
	Version string
}

// refusedError is an answer that a repetition does not change.
type refusedError struct{ why string }

// Error is the reason.
func (e *refusedError) Error() string { return e.why }

// Send sends an event to a URL or a topic. It repeats the request after errors of the network and
// of the receiver, a few times. An error names the receiver without its path, which can be secret.
func (s *Sender) Send(ctx context.Context, receiver string, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	send := s.post
	if strings.HasPrefix(receiver, "arn:") {
		send = s.publish
	}
	for try := 1; ; try++ {
		err := send(ctx, receiver, e, body)
		var refused *refusedError
		if err == nil || errors.As(err, &refused) || try == tries || ctx.Err() != nil {
			if err != nil {
				return fmt.Errorf("send a message to %s: %w", Name(receiver), err)
			}
			return nil
		}
		pause := firstPause << (try - 1)
		if err := rpc.Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return fmt.Errorf("send a message to %s: %w", Name(receiver), err)
		}
	}
}

// Name names a receiver without the parts of a URL that can be secret.
func Name(receiver string) string {
	if strings.HasPrefix(receiver, "arn:") {
		return receiver
	}
	if u, err := url.Parse(receiver); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return "the receiver"
}

// post sends an event to a webhook.
func (s *Sender) post(ctx context.Context, receiver string, e Event, body []byte) error {
	u, err := url.Parse(receiver)
	if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return &refusedError{"only https:// is allowed, or http:// to this machine"}
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, receiver, bytes.NewReader(body))
	if err != nil {
		return &refusedError{"the URL is not valid"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "batchctl/"+s.Version)
	r.Header.Set("Idempotency-Key", e.ID)
	client := http.Client{Transport: s.Transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	out, err := client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer out.Body.Close()
	_, _ = io.CopyN(io.Discard, out.Body, maxAnswer) // so that the connection ends in order
	switch code := out.StatusCode; {
	case code < 300:
		return nil
	case code < 400:
		return &refusedError{fmt.Sprintf("it answered %s, and batchctl follows no redirects: write the final URL",
			out.Status)}
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return fmt.Errorf("it answered %s", out.Status)
	}
	return &refusedError{"it answered " + out.Status}
}

// withoutURL returns the cause of an error of net/http, which otherwise has the URL.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// publish sends an event to a topic of SNS.
func (s *Sender) publish(ctx context.Context, topic string, e Event, body []byte) error {
	parts := strings.Split(topic, ":")
	if len(parts) != 6 || parts[2] != "sns" {
		return &refusedError{"it is not the ARN of an SNS topic"}
	}
	cfg, err := s.Config(ctx)
	if err != nil {
		return err
	}
	subject := []rune(fmt.Sprintf("batchctl: %s %s", e.Name, e.Status))
	in := url.Values{"TopicArn": {topic}, "Message": {string(body)},
		"Subject": {string(subject[:min(len(subject), maxSubject)])}}
	if strings.HasSuffix(topic, ".fifo") {
		// A FIFO topic drops a message with the same id within five minutes (API reference, Publish).
		in["MessageGroupId"], in["MessageDeduplicationId"] = []string{Group}, []string{e.ID}
	}
	var out struct {
		XMLName xml.Name
	}
	err = rpc.New(cfg).In(parts[3]).Query(ctx, rpc.SNS, "Publish", in, &out)
	if rpc.Denied(err) || rpc.Missing(err) || rpc.Expired(err) {
		return &refusedError{err.Error()}
	}
	return err
}
